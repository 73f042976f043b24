"""What is measured of a study so far: the bundle that it continues, and the finished entries of its
directory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

import numpy as np

from harness.errors import PlanError
from harness.studies.models_to_repeat import drop_models_to_repeat
from harness.studies.plan import StudyEntry, StudyPlan
from harness.studies.records import FAILED_PREFIX, EntryRecord
from harness.studies.study_directory import (
    BASE_DIRECTORY,
    SessionDirectory,
    list_sessions,
)
from rules.bundle_format.evidence import StudyEvidence
from rules.bundle_format.files import read_files
from rules.bundle_format.records import Json
from rules.bundle_format.study_load import read_study
from rules.bundle_format.study_records import ANCHOR
from rules.studies.declaration import MEASURED, NOT_REACHED


@dataclass(frozen=True)
class Outcome:
    """What became of an entry."""

    status: str
    reason: str | None = None
    session: int | None = None
    accelerator: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether a resumed study leaves the entry as it is."""
        has_failed = self.reason is not None and self.reason.startswith(FAILED_PREFIX)
        return self.status != NOT_REACHED and not has_failed


@dataclass(frozen=True)
class StudyState:
    """What is measured of a study so far."""

    base: StudyEvidence | None
    """The bundle that the study continues."""
    sessions: tuple[SessionDirectory, ...]
    """The sessions in the directory of the study. The first ones may be in `base`."""

    @cached_property
    def records(self) -> tuple[EntryRecord, ...]:
        """The finished entries and anchors of the sessions in the directory, by session and then by
        time. Raises PlanError."""
        return tuple(record for session in self.sessions for record in session.load_entries())

    @cached_property
    def outcomes(self) -> dict[StudyEntry, Outcome]:
        """What became of each entry that a session has reached."""
        outcomes = {}
        for work in self.base.study["work"] if self.base else ():
            entry = parse_work(work)
            if work["status"] != NOT_REACHED:
                outcomes[entry] = Outcome(
                    work["status"], work["reason"], work["session"], work["accelerator"]
                )
        for record in self.records:
            if not record.is_anchor:
                outcomes[record.entry] = Outcome(
                    record.status, record.reason, record.session, record.accelerator
                )
        return outcomes

    def list_remaining(self, work: Sequence[StudyEntry]) -> list[StudyEntry]:
        """The entries of `work` that are left to measure, in its order."""
        return [
            entry
            for entry in work
            if entry not in self.outcomes or not self.outcomes[entry].is_final
        ]

    @staticmethod
    def _count_measured(base: StudyEvidence) -> int:
        return sum(work["status"] == MEASURED for work in base.study["work"])

    @property
    def measured_count(self) -> int:
        """How many entries have been measured."""
        return sum(outcome.status == MEASURED for outcome in self.outcomes.values())

    @property
    def next_session(self) -> int:
        """The number of the next session."""
        base_count = len(self.base.study["sessions"]) if self.base else 0
        return base_count + len(self.sessions)

    def estimate_entry_s(self) -> float | None:
        """The mean time of a measured entry, None if there is none."""
        records = [r for r in self.records if not r.is_anchor and r.status == MEASURED]
        if records:
            return fmean(record.duration_s for record in records)
        if self.base is None or not (count := self._count_measured(self.base)):
            return None
        points = self.base.points
        spans_s = 0.0
        for session in np.unique(points.ints("session")):
            for accelerator in points.text("accelerator").distinct():
                rows = points.text("accelerator").equals(accelerator)
                times = points.at(rows & (points.ints("session") == session))
                if len(times):
                    spans_s += (times.ints("end_ns").max() - times.ints("start_ns").min()) / 1e9
        return spans_s / count

    def find_anchor(self, plan: StudyPlan) -> tuple[StudyEntry, int | None]:
        """The anchor in the engine and precision of the first entry of the study, and its batch
        size, None if no session has found it."""
        anchor = plan.settings.anchor
        if self.base is not None:
            points = self.base.points
            rows = points.text("kind").equals(ANCHOR).nonzero()[0]
            if len(rows):
                row = rows[:1]
                names = (points.at(row).text(name).to_list()[0] for name in ("engine", "precision"))
                entry = StudyEntry(anchor.architecture, anchor.size, *names)
                return entry, int(points.ints("batch")[row[0]])
        for record in self.records:
            for point in record.points:
                if point.kind == ANCHOR:
                    return record.entry, point.batch
        first = plan.work[0]
        return StudyEntry(anchor.architecture, anchor.size, first.engine, first.precision), None


def parse_work(work: Json) -> StudyEntry:
    """The entry that an entry of `work` of study.json describes."""
    names = ("architecture", "size", "engine", "precision")
    return StudyEntry(*(work[name] for name in names))


def load_base(directory: Path) -> StudyEvidence:
    """The evidence of the bundle of a study in `directory`, without the models that have to be
    measured again. Raises PlanError."""
    evidence, problems = read_study(read_files(directory))
    if evidence is None:
        violation = problems[0].violation
        raise PlanError(
            f"{directory}: the study cannot be read: {violation.file} {violation.pointer}: found "
            f"{violation.found}, expected {violation.expected}; bench-check shows all findings"
        )
    return drop_models_to_repeat(directory, evidence)


def load_state(directory: Path) -> StudyState:
    """What is measured of the study in `directory`. Raises PlanError."""
    base = directory / BASE_DIRECTORY
    evidence = load_base(base) if base.exists() else None
    return StudyState(evidence, tuple(list_sessions(directory)))
