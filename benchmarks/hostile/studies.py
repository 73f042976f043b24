"""Cases of benchmarks/hostile_bundles.py: the largest studies that the limits of sizes allow."""

import gzip
import io
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from hostile.cases import add_case

from rules.bundle_format.counts import MAX_POINT_PARTS, MAX_POINTS, MAX_SESSIONS, MAX_WORK
from rules.bundle_format.records import STUDY
from rules.bundle_format.seal import encode_json, seal
from rules.testing.frames import StudyFrames
from rules.testing.studies import make_study_frames

_TICK_NS = 100_000_000


def _write(study: StudyFrames, directory: Path) -> None:
    """Replace the bundle in `directory` by a study, with quick compression."""
    shutil.rmtree(directory)
    directory.mkdir()
    for name, document in zip(
        STUDY.documents, (study.study, study.system, study.environment), strict=True
    ):
        (directory / name).write_bytes(encode_json(document))
    for name, table in zip(STUDY.tables, (study.samples, study.points, study.batches), strict=True):
        text = io.StringIO()
        table.convert_dtypes().to_csv(text, index=False, lineterminator="\n")
        (directory / name).write_bytes(gzip.compress(text.getvalue().encode(), 1, mtime=0))
    (directory / "log.txt.gz").write_bytes(gzip.compress(b"", mtime=0))
    seal(directory)


def _repeat(table: pd.DataFrame, count: int) -> pd.DataFrame:
    """The rows of a table over and over, `count` in all."""
    return table.iloc[np.arange(count) % len(table)].reset_index(drop=True)


@add_case(f"study: {STUDY.max_rows} samples")
def most_samples(directory: Path) -> None:
    study = make_study_frames()
    study.samples = _repeat(study.samples, STUDY.max_rows)
    first_ns = int(study.samples["scheduled_ns"].iloc[0])
    study.samples["scheduled_ns"] = first_ns + _TICK_NS * np.arange(STUDY.max_rows)
    study.samples["read_ns"] = study.samples["scheduled_ns"] + 50_000
    _write(study, directory)


@add_case(f"study: {MAX_POINTS} points")
def most_points(directory: Path) -> None:
    study = make_study_frames()
    rounds = MAX_POINTS // len(study.points)
    parts_per_round = len(study.batches)
    study.batches = _repeat(study.batches, rounds * parts_per_round)
    study.batches["point"] += len(study.points) * (np.arange(len(study.batches)) // parts_per_round)
    number = np.arange(rounds * len(study.points)) // len(study.points)
    study.points = _repeat(study.points, len(number))
    study.points["size"] += 32 * number
    _write(study, directory)


@add_case(f"study: {MAX_POINT_PARTS} parts of one point")
def most_parts(directory: Path) -> None:
    study = make_study_frames()
    study.batches = pd.concat(
        [study.batches, _repeat(study.batches[-1:], MAX_POINT_PARTS - len(study.batches))]
    )
    _write(study, directory)


@add_case(f"study: {MAX_WORK} entries, {MAX_SESSIONS} sessions and {MAX_POINTS} points")
def most_work(directory: Path) -> None:
    study = make_study_frames()
    (session,), (node,) = study.study["sessions"], study.system["nodes"]
    names = [f"session{number}" for number in range(MAX_SESSIONS)]
    study.study["sessions"] = [
        {**session, "session": number, "node": name} for number, name in enumerate(names)
    ]
    study.system["nodes"] = [{**node, "name": name} for name in names]
    work = study.study["work"]
    study.study["work"] = [{**work[n % len(work)], "size": 32 + n} for n in range(MAX_WORK)]
    study.points = _repeat(study.points, MAX_POINTS)
    study.points["session"] = np.arange(len(study.points)) % MAX_SESSIONS
    study.batches = _repeat(study.batches, MAX_POINT_PARTS)
    study.batches["point"] = np.flatnonzero(study.points["outcome"] == "ok")[
        np.arange(len(study.batches)) % (study.points["outcome"] == "ok").sum()
    ]
    study.samples = _repeat(study.samples, STUDY.max_rows)
    study.samples["node"] = np.array(names)[np.arange(STUDY.max_rows) % MAX_SESSIONS]
    _write(study, directory)
