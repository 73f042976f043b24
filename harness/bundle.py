"""Writes evidence as a bundle: deterministic bytes, a manifest over them, complete or absent."""

import gzip
import hashlib
import io
import json
import os
import shutil
from pathlib import Path

import pandas as pd

from rules.records import (
    BATCH_COLUMNS,
    EVIDENCE_FILES,
    LOG_FILE,
    MANIFEST_FILE,
    MANIFEST_FORMAT,
    OPTIONAL_FILES,
    REQUEST_COLUMNS,
    REQUESTS_FILE,
    SAMPLE_COLUMNS,
    SIGNATURE_DIR,
    TEXT_COLUMNS,
    Evidence,
    Json,
)


def write(evidence: Evidence, directory: Path) -> None:
    """Write the bundle to `directory`, which must not exist. It appears there complete, by a rename, or not at all.

    Raises FileExistsError where the directory is taken and OSError where it cannot be written.
    """
    if directory.exists():
        raise FileExistsError(f"{directory}: there is something already; a bundle is never overwritten")
    draft = directory.with_name(f".{directory.name}.writing")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    contents = {
        "result.json": _json(evidence.result),
        "system.json": _json(evidence.system),
        "environment.json": _json(evidence.environment),
        "samples.csv.gz": _table(evidence.samples, SAMPLE_COLUMNS),
        "batches.csv.gz": _table(evidence.batches, BATCH_COLUMNS),
        LOG_FILE: gzip.compress(evidence.log.encode(), mtime=0),
    }
    if evidence.requests is not None:
        contents[REQUESTS_FILE] = _table(evidence.requests, REQUEST_COLUMNS)
    for name, content in contents.items():
        _durable(draft / name, content)
    seal(draft)
    draft.rename(directory)


def seal(directory: Path) -> None:
    """Write MANIFEST.json over the evidence files that lie in `directory`; signatures made before no longer hold."""
    files = []
    for name in sorted(n for n in EVIDENCE_FILES if n not in OPTIONAL_FILES or (directory / n).exists()):
        content = (directory / name).read_bytes()
        files.append({"path": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()})
    _durable(directory / MANIFEST_FILE, _json({"format": MANIFEST_FORMAT, "files": files}))
    shutil.rmtree(directory / SIGNATURE_DIR, ignore_errors=True)


def _json(value: Json) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _table(table: pd.DataFrame, columns: tuple[str, ...]) -> bytes:
    text = io.StringIO()
    written = table[list(columns)].copy()
    for column in columns:
        if column not in TEXT_COLUMNS:
            written[column] = written[column].astype("Int64")
    written.to_csv(text, index=False, lineterminator="\n")
    return gzip.compress(text.getvalue().encode(), mtime=0)


def _durable(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
