"""Writes the JSON files of a bundle and its manifest: the same bytes for the same content."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from rules.bundle_format.records import (
    MANIFEST_FILE,
    MANIFEST_FORMAT,
    SIGNATURE_DIR,
    Json,
    find_kind,
)


def seal(directory: Path) -> None:
    """Write MANIFEST.json over the evidence files in `directory`. Earlier signatures no longer hold
    and are removed."""
    names = [path.name for path in directory.iterdir()]
    contents = {n: (directory / n).read_bytes() for n in find_kind(names).select_files(names)}
    write_durable(directory / MANIFEST_FILE, encode_manifest(contents))
    shutil.rmtree(directory / SIGNATURE_DIR, ignore_errors=True)


def encode_manifest(contents: Mapping[str, bytes]) -> bytes:
    """Return the manifest of the evidence files in `contents`, which maps file names to bytes.
    `bench-submit sign` adds the place that it is signed for."""
    return encode_json({"format": MANIFEST_FORMAT, "files": list_files(contents)})


def list_files(contents: Mapping[str, bytes]) -> list[Json]:
    """Return the entries of a manifest for the evidence files in `contents`, which maps file names
    to bytes. Other files are left out."""
    evidence_files = find_kind(contents).evidence_files
    # Sorted, so that the same evidence gives the same bytes.
    return [
        {
            "path": name,
            "size": len(contents[name]),
            "sha256": hashlib.sha256(contents[name]).hexdigest(),
        }
        for name in sorted(contents)
        if name in evidence_files
    ]


def encode_json(value: Json) -> bytes:
    """`value` as bundles store JSON: keys sorted, one space of indentation, UTF-8.

    Raises ValueError for NaN and infinity.
    """
    return (
        json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    ).encode()


def write_durable(path: Path, content: bytes) -> None:
    """Write `content` to a file and return when it is on disk. An existing link is replaced, not
    followed. Raises OSError."""
    write_all_durable({path: content})


def write_all_durable(contents: Mapping[Path, bytes]) -> None:
    """Write several files as `write_durable` does. If one of them does not fit on the disk, all
    stay unchanged.

    Raises OSError, which names the file.
    """
    drafts = {path: path.with_name(f".{path.name}.writing") for path in contents}
    path = Path()
    try:
        for path, draft in drafts.items():
            draft.unlink(missing_ok=True)
            # "x" creates the file and fails if something is there, so that a link with the name of
            # the draft is not followed.
            with draft.open("xb") as file:
                file.write(contents[path])
                file.flush()
                os.fsync(file.fileno())
        for path, draft in drafts.items():
            # Only when all drafts are on disk. Renaming needs no more space.
            draft.replace(path)
    except OSError as error:
        # Name the file of the caller and not its draft.
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        for draft in drafts.values():
            with contextlib.suppress(OSError):
                draft.unlink()


def sync_directory(directory: Path) -> None:
    """Return when the entries of a directory (files renamed into it or removed) are on disk. Raises
    OSError."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a directory.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
