"""Compare the manifest of a bundle with its files."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from rules import RELEASED
from rules.bundle_format.documents import read_json
from rules.bundle_format.files import Files, Refused, build_refusal, shorten
from rules.bundle_format.manifest import SignedPlace, read_manifest, read_place
from rules.bundle_format.records import (
    MANIFEST_FILE,
    MANIFEST_FORMAT_WITHOUT_PLACE,
    Json,
    find_kind,
)
from rules.finding import Problem
from rules.rule_ids import (
    FILE_ALTERED,
    FILE_MISSING,
    MANIFEST_INCOMPLETE,
    MANIFEST_OF_ANOTHER_PLACE,
    MANIFEST_PATH_UNSAFE,
)

_BOOKS_WITHOUT_PLACE = RELEASED[: RELEASED.index("1.5.0")]
"""The rule books whose bundles may have a manifest of version 1, which names no place."""


def find_manifest_problems(files: Files) -> list[Problem]:
    """The problems between the manifest and the files of a bundle. None without a manifest: S101
    reports that."""
    if MANIFEST_FILE not in files.contents:
        return []
    try:
        manifest = read_manifest(files.contents[MANIFEST_FILE])
    except Refused as refusal:
        return list(refusal.problems)
    entries = manifest["files"]
    refusals = (*_check_paths(entries, files), *_check_files(entries, files))
    return [problem for refusal in refusals for problem in refusal.problems]


def _check_paths(entries: list[Json], files: Files) -> Iterator[Refused]:
    """Check the paths that a manifest lists."""
    paths = [entry["path"] for entry in entries]
    unsafe = [path for path in paths if not _is_safe(path)]
    for path in unsafe:
        message = (
            "A manifest lists files of its own bundle by name. Any other path would make "
            "verification read other files."
        )
        place = f"/files/{paths.index(path)}/path"
        yield build_refusal(
            MANIFEST_PATH_UNSAFE,
            MANIFEST_FILE,
            place,
            shorten(path),
            "a path inside the bundle",
            message,
        )
    message = (
        "A signature covers what the manifest lists. Write the manifest again with "
        "bench-submit sign."
    )
    listed = [path for path in paths if path not in unsafe]
    required = set(files.kind.select_files(files.contents.keys()))
    for fault, names in {
        "does not list": sorted(required - set(listed)),
        "lists, though it is no file of a bundle,": sorted(
            set(listed) - set(files.kind.evidence_files)
        ),
        "lists twice": sorted({path for path in listed if listed.count(path) > 1}),
    }.items():
        if names:
            found = f"{fault} {shorten(names)}"
            yield build_refusal(
                MANIFEST_INCOMPLETE,
                MANIFEST_FILE,
                "/files",
                found,
                "every file of evidence, once",
                message,
            )


def _is_safe(path: str) -> bool:
    """Whether a path is relative, in its shortest form, and stays inside the bundle."""
    return (
        path == str(PurePosixPath(path))
        and not path.startswith("/")
        and ".." not in path.split("/")
        # On Windows a backslash separates directories.
        and "\\" not in path
    )


def _check_files(entries: list[Json], files: Files) -> Iterator[Refused]:
    """Check size and SHA-256 of each file. A required file that is missing is reported where the
    files are read (S101)."""
    contents = files.contents
    for entry in entries:
        name = entry["path"]
        if name in files.kind.optional_files and name not in contents:
            yield build_refusal(
                FILE_MISSING,
                name,
                "",
                "no such file",
                "every file that the manifest lists",
                "Restore it from where the run was made.",
            )
        # Other names and missing files have findings already.
        if name not in files.kind.evidence_files or name not in contents:
            continue
        size, sha256 = len(contents[name]), hashlib.sha256(contents[name]).hexdigest()
        if (size, sha256) != (entry["size"], entry["sha256"]):
            yield build_refusal(
                FILE_ALTERED,
                name,
                "",
                f"{size} bytes, sha256 {sha256}",
                f"{entry['size']} bytes, sha256 {entry['sha256']}",
                "The file was changed after the run. Restore it, or run again.",
            )


@dataclass(frozen=True)
class MainDocument:
    """What the trust in a bundle needs of the JSON file that states what was measured."""

    file: str
    content: Json
    """Empty if the file is no JSON: the rules on form refuse that, and no acceptance lifts it."""


def read_main_document(contents: Mapping[str, bytes]) -> MainDocument:
    """Read result.json of a run, or study.json of a study."""
    file = find_kind(contents).main_file
    try:
        content = read_json(file, contents.get(file, b""))
    except Refused:
        content = {}
    return MainDocument(file, content if isinstance(content, dict) else {})


def may_lack_place(manifest: Json, document: MainDocument) -> bool:
    """Whether the manifest of the bundle with this `document` needs no place: it is of version 1,
    and the run of a rule book before 1.5.0. Such a manifest is never changed, because the LOG and
    reviews hold its hash."""
    is_first_version = manifest["format"] == MANIFEST_FORMAT_WITHOUT_PLACE
    return is_first_version and document.content.get("rules_version") in _BOOKS_WITHOUT_PLACE


def check_place(contents: dict[str, bytes], document: MainDocument, place: SignedPlace) -> None:
    """Check that the signed manifest of a bundle names `place`, where the bundle lies. Raises
    Refused."""
    try:
        manifest = read_manifest(contents[MANIFEST_FILE])
    except Refused:
        return  # `find_manifest_problems` reports that.
    signed_place = read_place(manifest)
    if signed_place == place or may_lack_place(manifest, document):
        return
    if signed_place is None:
        observed = f"{manifest['format']} without center and system"
        message = "Sign the bundle again with bench-submit sign, which writes both."
    else:
        observed = shorten(str(signed_place))
        message = (
            "The bundle was moved after it was signed. Move it back, or let its own center sign it "
            "again in this place with bench-submit sign."
        )
    raise build_refusal(
        MANIFEST_OF_ANOTHER_PLACE,
        MANIFEST_FILE,
        "",
        observed,
        f"signed for {shorten(str(place))}, where the bundle lies",
        message,
    )
