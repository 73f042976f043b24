"""The summary of a study that the rules across studies see."""

from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

import numpy as np

from rules.bundle_format.records import TEXT_COLUMNS
from rules.bundle_format.study_records import POINT_COLUMNS
from rules.bundle_format.table import Rows, Table
from rules.fingerprints import Hashes, sample_sequences
from rules.metrics.readings import read_counter_j, to_whole_milliwatts
from rules.studies.bundle import StudyBundle
from rules.studies.metrics.ladder_energy import read_each_power_w
from rules.summaries.bundle_summary import BundleSummary, find_center, parse_date

SEQUENCES_KEPT = 8
"""One of so many sequences of readings is kept. A model has 200 readings in its long windows, so a
copy of one model is missed with a probability of (7/8)^138, or 1 in 10^8."""
SAMPLE_COLUMNS = ("read_ns", "power_mw", "power_avg_mw", "energy_mj")
"""The columns of samples that tell one session from another."""


@dataclass(frozen=True, eq=False)
class SessionSummary:
    """A session of a study. Sequences are salted hashes, sorted and distinct
    (`rules.fingerprints`)."""

    number: int
    sha256: str
    """Of its points, parts and readings. A study that continues another has equal sessions."""
    readings: Hashes
    """Of power readings, in mW."""
    delays: Hashes
    """Of the delays of readings after their scheduled times, in ns."""
    counter: Hashes
    """Of the steps of the energy counter between readings, in mJ."""
    durations: Hashes
    """Of the durations of the parts of windows, in ns."""


@dataclass(frozen=True)
class StudySummary(BundleSummary):
    """What the rules across studies need to know of one study."""

    OF_STUDY: ClassVar[bool] = True

    sessions: tuple[SessionSummary, ...]


def summarize_study(
    bundle: StudyBundle, signer: str | None = None, manifest_sha256: str = "", salt: int = 0
) -> StudySummary | None:
    """The summary of a study, None without evidence. Without a signer, the center is that of the
    path. Sequences are comparable under one salt."""
    if bundle.evidence is None:
        return None
    return StudySummary(
        path=bundle.path,
        center=find_center(bundle.path, signer),
        signer=signer,
        manifest_sha256=manifest_sha256,
        until_s=parse_date(bundle.declaration.ended_at),
        sessions=tuple(
            _summarize_session(bundle, session.session, session.node, salt)
            for session in bundle.sessions
        ),
    )


def _summarize_session(bundle: StudyBundle, number: int, node: str, salt: int) -> SessionSummary:
    tables = [samples for (name, _), samples in bundle.samples_of.items() if name == node]
    points = np.flatnonzero(bundle.point_table.ints("session") == number)
    parts = np.flatnonzero(np.isin(bundle.part_table.ints("point"), points))
    windows = bundle.part_table.at(parts)
    powers_w = [read_each_power_w(samples) for samples in tables]
    counters_j = [read_counter_j(samples) for samples in tables]
    digest = sha256()
    for table in tables:
        digest.update(_to_bytes(table, slice(None), SAMPLE_COLUMNS))
    digest.update(_to_bytes(bundle.point_table, points, POINT_COLUMNS))
    digest.update(_to_bytes(bundle.part_table, parts, ("batches", "start_ns", "end_ns")))
    return SessionSummary(
        number=number,
        sha256=digest.hexdigest(),
        readings=sample_sequences(
            (to_whole_milliwatts(power_w[np.isfinite(power_w)]) for power_w in powers_w),
            salt,
            SEQUENCES_KEPT,
        ),
        delays=sample_sequences(
            (table.ints("read_ns") - table.ints("scheduled_ns") for table in tables),
            salt,
            SEQUENCES_KEPT,
        ),
        counter=sample_sequences(
            (
                np.rint(np.diff(counter_j[np.isfinite(counter_j)]) * 1e3).astype(np.int64)
                for counter_j in counters_j
            ),
            salt,
            SEQUENCES_KEPT,
        ),
        # A study has few parts, so all are kept.
        durations=sample_sequences([windows.ints("end_ns") - windows.ints("start_ns")], salt, 1),
    )


def _to_bytes(table: Table, rows: Rows, columns: tuple[str, ...]) -> bytes:
    selected = table.at(rows)
    return b"".join(
        "\n".join(selected.text(name).to_list()).encode()
        if name in TEXT_COLUMNS
        else selected.floats(name).tobytes()
        for name in columns
    )
