"""The summary of a study that the rules across studies see."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

import numpy as np

from rules.bundle_format.records import TEXT_COLUMNS
from rules.bundle_format.study_records import POINT_COLUMNS
from rules.bundle_format.table import Table
from rules.fingerprints import Hashes, sample_sequences
from rules.metrics.power.readings import read_counter_j, to_whole_milliwatts
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

    KIND: ClassVar[str] = "study"

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
        sessions=tuple(_summarize_sessions(bundle, salt)),
    )


def _summarize_sessions(bundle: StudyBundle, salt: int) -> Iterator[SessionSummary]:
    sessions_of_points = bundle.point_table.ints("session")
    numbers = bundle.part_table.ints("point")
    # A waived finding may say that there is no such point.
    exists = (numbers >= 0) & (numbers < len(sessions_of_points))
    sessions_of_parts = np.full(len(numbers), -1)
    sessions_of_parts[exists] = sessions_of_points[numbers[exists]]
    for session in bundle.sessions:
        yield _summarize_session(
            session.session,
            [samples for (node, _), samples in bundle.samples_of.items() if node == session.node],
            bundle.point_table.at(np.flatnonzero(sessions_of_points == session.session)),
            bundle.part_table.at(np.flatnonzero(sessions_of_parts == session.session)),
            salt,
        )


def _summarize_session(
    number: int, tables: Sequence[Table], points: Table, parts: Table, salt: int
) -> SessionSummary:
    """The summary of the session with these samples of each board, points and parts."""
    powers_w = [read_each_power_w(samples) for samples in tables]
    counters_j = [read_counter_j(samples) for samples in tables]
    digest = sha256()
    for table in tables:
        digest.update(_to_bytes(table, SAMPLE_COLUMNS))
    digest.update(_to_bytes(points, POINT_COLUMNS))
    digest.update(_to_bytes(parts, ("batches", "start_ns", "end_ns")))
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
        durations=sample_sequences([parts.ints("end_ns") - parts.ints("start_ns")], salt, 1),
    )


def _to_bytes(table: Table, columns: tuple[str, ...]) -> bytes:
    return b"".join(
        "\n".join(table.text(name).to_list()).encode()
        if name in TEXT_COLUMNS
        else table.floats(name).tobytes()
        for name in columns
    )
