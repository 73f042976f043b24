"""Writes the evidence of a study as a bundle."""

import gzip
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from rules.bundle_format.evidence import StudyEvidence
from rules.bundle_format.records import (
    BATCHES_FILE,
    ENVIRONMENT_FILE,
    LOG_FILE,
    SAMPLES_FILE,
    SYSTEM_FILE,
    TEXT_COLUMNS,
)
from rules.bundle_format.seal import encode_json
from rules.bundle_format.study_records import (
    POINT_COLUMNS,
    POINTS_FILE,
    STUDY_BATCH_COLUMNS,
    STUDY_FILE,
    Point,
    PointPart,
)
from rules.bundle_format.table import Table, Text
from rules.bundle_format.write import pack_samples, pack_table, write_files


def write_study(evidence: StudyEvidence, directory: Path) -> None:
    """Write the bundle to `directory`, which must not exist. Raises as
    `rules.bundle_format.write.write_files` does."""
    write_files(encode_study(evidence), directory)


def encode_study(evidence: StudyEvidence) -> dict[str, bytes]:
    """The evidence files of a study by name, the same bytes for the same evidence."""
    return {
        STUDY_FILE: encode_json(evidence.study),
        SYSTEM_FILE: encode_json(evidence.system),
        ENVIRONMENT_FILE: encode_json(evidence.environment),
        SAMPLES_FILE: pack_samples(evidence.samples),
        POINTS_FILE: pack_table(evidence.points, POINT_COLUMNS),
        BATCHES_FILE: pack_table(evidence.batches, STUDY_BATCH_COLUMNS),
        # `mtime=0`: gzip would store the time, and the same evidence would have other bytes.
        LOG_FILE: gzip.compress(evidence.log.encode(), mtime=0),
    }


def build_point_table(points: Sequence[Point]) -> Table:
    """Return the table of points.csv.gz, a row for each of `points`."""
    return _build_table(Point, points)


def build_part_table(parts: Sequence[PointPart]) -> Table:
    """Return the table of batches.csv.gz, a row for each of `parts`."""
    return _build_table(PointPart, parts)


def _build_table(record: type, rows: Sequence[Any]) -> Table:
    return Table.of({f.name: _build_column(f.name, rows) for f in fields(record)})


def _build_column(name: str, rows: Sequence[Any]) -> Any:
    cells = [getattr(row, name) for row in rows]
    if name not in TEXT_COLUMNS:
        return np.array(cells, dtype=np.int64)
    codes = {text: code for code, text in enumerate(dict.fromkeys(cells))}
    return Text(np.array([codes[text] for text in cells], dtype=np.int32), tuple(codes))
