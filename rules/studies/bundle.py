"""The bundle of a study as the rules see it: the evidence, and what rules derive from it."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from rules.bundle_format.evidence import StudyEvidence
from rules.bundle_format.records import TEXT_COLUMNS, Json
from rules.bundle_format.study_records import POINT_COLUMNS, STUDY_BATCH_COLUMNS, Point, PointPart
from rules.bundle_format.table import Floats, Table
from rules.declarations.system import Accelerator, EnvironmentDeclaration, SystemDeclaration
from rules.finding import Problem
from rules.metrics.energy import MetricsError
from rules.metrics.intervals import drop_module_counters, group_by_accelerator
from rules.protocol import CURRENT, STUDY_METHODS, StudyMethod
from rules.studies.declaration import Session, StudyDeclaration
from rules.studies.ladder import LadderStep
from rules.studies.measurements import Measurement, list_measurements
from rules.studies.metrics.points import PointFigures, compute_point_figures
from rules.studies.plausibility import Observation
from rules.studies.windows import BoardWindows

BoardKey = tuple[str, str]
"""Node of a session, and UUID of an accelerator. Two sessions may use the same accelerator, and
each has a clock of its own."""


@dataclass(frozen=True)
class Twins:
    """Windows of a study, each with what its twins share. All have the same order."""

    numbers: Sequence[int]
    """Rows of points.csv.gz, from 0."""
    groups: Sequence[tuple[str, int, str, str, int]]
    """Architecture, size, engine, precision and batch."""
    observations: Sequence[Observation]


@dataclass
class StudyBundle:
    """The bundle of a study as the rules see it. `evidence` is None if problems of form prevented
    reading it."""

    path: Path
    problems: tuple[Problem, ...]
    evidence: StudyEvidence | None

    @property
    def _evidence(self) -> StudyEvidence:
        if self.evidence is None:
            raise LookupError(f"{self.path}: the evidence could not be read")
        return self.evidence

    @property
    def study(self) -> Json:
        return self._evidence.study

    @property
    def samples(self) -> Table:
        return self._evidence.samples

    @property
    def point_table(self) -> Table:
        return self._evidence.points

    @property
    def part_table(self) -> Table:
        """The rows of batches.csv.gz."""
        return self._evidence.batches

    @property
    def log(self) -> str:
        return self._evidence.log

    @cached_property
    def declaration(self) -> StudyDeclaration:
        """What study.json declares, without the figures."""
        return StudyDeclaration.from_document(self.study)

    @cached_property
    def system_declaration(self) -> SystemDeclaration:
        """What system.json declares."""
        return SystemDeclaration.from_document(self._evidence.system)

    @cached_property
    def environment_declaration(self) -> EnvironmentDeclaration:
        """What environment.json declares."""
        return EnvironmentDeclaration.from_document(self._evidence.environment)

    @property
    def standing(self) -> str:
        return self.declaration.standing

    @property
    def judged_standing(self) -> str:
        """The standing whose rules apply. A study on simulated boards, or with shorter windows than
        its method requires, measures nothing to compare, so it is judged as a demo."""
        return "demo" if self.is_simulated or self.is_shortened else self.standing

    @property
    def is_simulated(self) -> bool:
        """Whether a board is simulated."""
        return any(board.is_simulated for board in self.accelerators.values())

    @property
    def is_shortened(self) -> bool:
        """Whether the study declares shorter windows than its method requires."""
        return self.declaration.settings.is_shorter_than(self.method)

    @property
    def method(self) -> StudyMethod:
        return STUDY_METHODS[self.declaration.method]

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The rows of points.csv.gz."""
        rows = zip(*(_list_cells(self.point_table, name) for name in POINT_COLUMNS), strict=True)
        return tuple(Point(*row) for row in rows)

    @cached_property
    def parts_of(self) -> Mapping[int, tuple[PointPart, ...]]:
        """The parts of each point that ran, by the number of the row of the point, in the order of
        the file."""
        parts: dict[int, list[PointPart]] = {}
        columns = (_list_cells(self.part_table, name) for name in STUDY_BATCH_COLUMNS)
        for row in zip(*columns, strict=True):
            parts.setdefault(row[0], []).append(PointPart(*row))
        return {point: tuple(rows) for point, rows in parts.items()}

    @cached_property
    def windows(self) -> tuple[BoardWindows, ...]:
        """The windows of each board that has samples, by session."""
        windows = []
        for key, numbers in self._points_of.items():
            rows = np.array([i for i in numbers if self.points[i].outcome == "ok"], dtype=np.int64)
            if key in self.samples_of and len(rows):
                session = self.sessions[self.points[rows[0]].session]
                starts_ns, ends_ns = (
                    self.point_table.ints(name)[rows] for name in ("start_ns", "end_ns")
                )
                board, samples = self.accelerators[key], self.samples_of[key]
                windows.append(BoardWindows(session, board, rows, starts_ns, ends_ns, samples))
        return tuple(windows)

    @cached_property
    def longest_gaps_ms(self) -> Mapping[int, float]:
        """The longest time without a power reading in the window of each point with the outcome
        `ok`, by its number. Infinite if the readings do not surround the window."""
        gaps_ms = {i: math.inf for i, point in enumerate(self.points) if point.outcome == "ok"}
        for windows in self.windows:
            gaps_ms |= zip(windows.rows.tolist(), windows.longest_gaps_ms().tolist(), strict=True)
        return gaps_ms

    def list_unsampled(self) -> list[int]:
        """The numbers of the points whose windows have a longer gap than the protocol allows."""
        gaps_ms = self.longest_gaps_ms
        return [number for number, gap_ms in gaps_ms.items() if gap_ms > CURRENT.max_gap_ms]

    @cached_property
    def mean_power_w(self) -> Mapping[int, float]:
        """The mean of the power samples in the window of each point that has some, by its
        number."""
        return self._by_number(lambda windows: windows.mean_power_w)

    @cached_property
    def ladder_energy_j(self) -> Mapping[int, float]:
        """The energy in the window of each point that has samples, by its number, as the harness
        computed it while it climbed a ladder."""
        return self._by_number(lambda windows: windows.ladder_energy_j)

    def _by_number(self, compute: Callable[[BoardWindows], Floats]) -> dict[int, float]:
        """The finite values that `compute` returns for the points of a board."""
        return {
            number: value
            for windows in self.windows
            for number, value in zip(windows.rows.tolist(), compute(windows).tolist(), strict=True)
            if math.isfinite(value)
        }

    @cached_property
    def measurements_of(self) -> Mapping[BoardKey, tuple[Measurement, ...]]:
        """What each board measured in each session, in order of time."""
        return {
            key: tuple(list_measurements((i, self.points[i]) for i in numbers))
            for key, numbers in self._points_of.items()
        }

    @property
    def measurements(self) -> Iterator[Measurement]:
        """What all boards measured."""
        return chain.from_iterable(self.measurements_of.values())

    def list_steps(self, measurement: Measurement) -> list[LadderStep]:
        """The steps of the ladder of a measurement, with the energies that the harness climbed
        by."""
        steps = []
        for number in measurement.steps:
            point, energy_j = self.points[number], self.ladder_energy_j.get(number)
            joules = None if energy_j is None else energy_j / point.items
            steps.append(LadderStep(point.batch, joules))
        return steps

    @cached_property
    def power_w(self) -> Mapping[int, float]:
        """The mean power in the window of each point that has some, by its number: by the counter
        where there is one, else by the samples. Samples that are in step with batches see a part of
        each batch only."""
        powers_w = dict(self.mean_power_w)
        if self.point_figures is not None:
            counted_w = self.point_figures.energy_j_counter / self.point_figures.seconds
            powers_w |= {int(i): float(counted_w[i]) for i in np.flatnonzero(counted_w > 0)}
        return powers_w

    @cached_property
    def twins(self) -> Twins:
        """The windows with power."""
        numbers = sorted(self.power_w)
        points = [self.points[number] for number in numbers]
        return Twins(
            numbers,
            [(*point.key, point.batch) for point in points],
            [
                Observation(point.images_per_s, self.power_w[number])
                for number, point in zip(numbers, points, strict=True)
            ],
        )

    @cached_property
    def _figures_or_reason(self) -> PointFigures | str:
        samples_by_board = {
            (session.session, uuid): samples
            for session in self.sessions
            for (node, uuid), samples in self.samples_of.items()
            if node == session.node
        }
        try:
            return compute_point_figures(self.point_table, self.part_table, samples_by_board)
        except MetricsError as error:
            return str(error)

    @property
    def point_figures(self) -> PointFigures | None:
        """The figures of all points; None if the evidence does not allow them."""
        return None if isinstance(self._figures_or_reason, str) else self._figures_or_reason

    @property
    def point_figures_error(self) -> str:
        """Why there are no `point_figures`; empty if there are."""
        return self._figures_or_reason if isinstance(self._figures_or_reason, str) else ""

    @cached_property
    def _points_of(self) -> Mapping[BoardKey, list[int]]:
        """The numbers of the points of each board in each session, in order of time."""
        numbers: dict[BoardKey, list[int]] = {}
        # Each session has a clock of its own, so its number comes first.
        columns = (self.point_table.ints(name) for name in ("start_ns", "session"))
        for i in np.lexsort(tuple(columns)).tolist():
            numbers.setdefault(self.board_key(self.points[i]), []).append(i)
        return numbers

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions by number."""
        return self.declaration.sessions

    @cached_property
    def accelerators(self) -> Mapping[BoardKey, Accelerator]:
        """The accelerators of system.json, by node and UUID."""
        return {(board.node, board.uuid): board for board in self.system_declaration.accelerators}

    def board_key(self, point: Point) -> BoardKey:
        """Where a point was measured."""
        return self.sessions[point.session].node, point.accelerator

    def accelerator_of(self, point: Point) -> Accelerator:
        """The accelerator that measured a point. Reading a bundle refuses one that system.json does
        not list."""
        return self.accelerators[self.board_key(point)]

    @cached_property
    def samples_of(self) -> Mapping[BoardKey, Table]:
        """The samples of each accelerator of each session, in the order of the file."""
        nodes = self.samples.text("node")
        samples_by_board = {
            (node, uuid): samples
            for node in nodes.distinct()
            for uuid, samples in group_by_accelerator(self.samples.at(nodes.equals(node))).items()
        }
        return drop_module_counters(samples_by_board, self.accelerators)


def _list_cells(table: Table, column: str) -> list[str] | list[int]:
    if column in TEXT_COLUMNS:
        return table.text(column).to_list()
    numbers: list[int] = table.ints(column).tolist()
    return numbers
