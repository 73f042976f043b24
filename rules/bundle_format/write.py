"""Writes evidence as a bundle: reproducible bytes, with a manifest, complete or not at all."""

import csv
import gzip
import io
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rules.bundle_format.events import encode_events
from rules.bundle_format.evidence import Evidence
from rules.bundle_format.records import (
    BATCH_COLUMNS,
    EVENTS_FILE,
    LOG_FILE,
    NODE_LOG_FILE,
    NODE_SAMPLE_COLUMNS,
    NODE_SAMPLES_FILE,
    OPTIONAL_SAMPLE_COLUMNS,
    REQUEST_COLUMNS,
    REQUESTS_FILE,
    REQUIRED_COLUMNS,
    SAMPLE_COLUMNS,
    STAMP_COLUMNS,
    TEXT_COLUMNS,
)
from rules.bundle_format.seal import encode_json, seal, sync_directory, write_durable
from rules.bundle_format.table import Table


def write(evidence: Evidence, directory: Path) -> None:
    """Write the bundle to `directory`, which must not exist. Raises as `write_files` does."""
    write_files(encode_evidence(evidence), directory)


def encode_evidence(evidence: Evidence) -> dict[str, bytes]:
    """The evidence files of a bundle by name, the same bytes for the same evidence."""
    contents = {
        "result.json": encode_json(evidence.result),
        "system.json": encode_json(evidence.system),
        "environment.json": encode_json(evidence.environment),
        "samples.csv.gz": pack_samples(evidence.samples),
        "batches.csv.gz": pack_table(evidence.batches, BATCH_COLUMNS),
        # `mtime=0`: gzip would store the time, and the same evidence would have other bytes.
        LOG_FILE: gzip.compress(evidence.log.encode(), mtime=0),
    }
    if evidence.requests is not None:
        contents[REQUESTS_FILE] = pack_table(evidence.requests, REQUEST_COLUMNS)
    if evidence.events is not None:
        contents[EVENTS_FILE] = gzip.compress(encode_events(evidence.events), mtime=0)
    if evidence.node_samples is not None:
        contents[NODE_SAMPLES_FILE] = pack_table(evidence.node_samples, NODE_SAMPLE_COLUMNS)
    if evidence.node_log is not None:
        contents[NODE_LOG_FILE] = gzip.compress(evidence.node_log.encode(), mtime=0)
    return contents


def write_files(contents: Mapping[str, bytes], directory: Path) -> None:
    """Write evidence files, by name, and their manifest to `directory`, which must not exist.

    The bundle is renamed into place when it is complete, so there is never a partial one. It is on
    disk when this function returns. Raises FileExistsError if the directory exists, and OSError if
    it cannot be written.
    """
    if directory.exists():
        raise FileExistsError(
            f"{directory}: this path exists already; a bundle is never overwritten"
        )
    # In the same directory, because a rename between file systems is not atomic.
    draft = directory.with_name(f".{directory.name}.writing")
    # A killed process may have left a draft.
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    for name, content in contents.items():
        write_durable(draft / name, content)
    # Last, because the manifest holds the hashes of all other files.
    seal(draft)
    # The files are on disk, but a directory entry is so only when its directory is synced. The
    # caller removes the files of the run next, so a power cut could otherwise lose the run.
    sync_directory(draft)
    draft.rename(directory)
    sync_directory(directory.parent)


def pack_samples(samples: Table) -> bytes:
    """Return samples as gzipped CSV, with the optional columns if one of them has a value."""
    has_values = any(
        any(cell != "" for cell in _cells(samples, name))
        for name in OPTIONAL_SAMPLE_COLUMNS
        if name in samples.columns
    )
    return pack_table(samples, SAMPLE_COLUMNS + (OPTIONAL_SAMPLE_COLUMNS if has_values else ()))


def pack_table(table: Table, columns: tuple[str, ...]) -> bytes:
    """Return a table as gzipped CSV, the same bytes for the same rows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_cells(table, name) for name in columns), strict=True))
    return gzip.compress(text.getvalue().encode(), mtime=0)


def _cells(table: Table, column: str) -> list[Any]:
    """Return the cells of a column: texts, whole numbers, or an empty text for an empty cell."""
    if column in TEXT_COLUMNS:
        return table.text(column).to_list()
    if column in REQUIRED_COLUMNS:
        numbers: list[Any] = table.ints(column).tolist()
        return numbers
    if column in STAMP_COLUMNS:
        return ["" if stamp < 0 else stamp for stamp in table.ints(column).tolist()]
    return ["" if math.isnan(x) else int(x) for x in table.floats(column).tolist()]
