"""Writes evidence as a bundle: deterministic bytes, a manifest over them, complete or absent."""

import gzip
import io
import shutil
from pathlib import Path

import pandas as pd

from rules.bundle_format.events import event_lines
from rules.bundle_format.records import (
    BATCH_COLUMNS,
    EVENTS_FILE,
    LOG_FILE,
    REQUEST_COLUMNS,
    REQUESTS_FILE,
    SAMPLE_COLUMNS,
    TEXT_COLUMNS,
    Evidence,
)
from rules.bundle_format.seal import json_bytes, seal, write_durable


def write(evidence: Evidence, directory: Path) -> None:
    """Write the bundle to `directory`, which must not exist. It appears there complete, by a
    rename, or not at all.

    Raises FileExistsError where the directory is taken and OSError where it cannot be written.
    """
    if directory.exists():
        raise FileExistsError(
            f"{directory}: there is something already; a bundle is never overwritten"
        )
    draft = directory.with_name(f".{directory.name}.writing")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    contents = {
        "result.json": json_bytes(evidence.result),
        "system.json": json_bytes(evidence.system),
        "environment.json": json_bytes(evidence.environment),
        "samples.csv.gz": _table(evidence.samples, SAMPLE_COLUMNS),
        "batches.csv.gz": _table(evidence.batches, BATCH_COLUMNS),
        LOG_FILE: gzip.compress(evidence.log.encode(), mtime=0),
    }
    if evidence.requests is not None:
        contents[REQUESTS_FILE] = _table(evidence.requests, REQUEST_COLUMNS)
    if evidence.events is not None:
        contents[EVENTS_FILE] = gzip.compress(event_lines(evidence.events), mtime=0)
    for name, content in contents.items():
        write_durable(draft / name, content)
    seal(draft)
    draft.rename(directory)


def _table(table: pd.DataFrame, columns: tuple[str, ...]) -> bytes:
    text = io.StringIO()
    written = table[list(columns)].copy()
    for column in columns:
        if column not in TEXT_COLUMNS:
            written[column] = written[column].astype("Int64")
    written.to_csv(text, index=False, lineterminator="\n")
    return gzip.compress(text.getvalue().encode(), mtime=0)
