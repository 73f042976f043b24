"""The bundle of a study as the rules see it: the evidence, and what rules derive from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rules.bundle_format.records import TEXT_COLUMNS, Json
from rules.bundle_format.study_records import (
    POINT_COLUMNS,
    STUDY_BATCH_COLUMNS,
    Point,
    PointPart,
    StudyEvidence,
)
from rules.bundle_format.table import Table
from rules.declarations.system import Accelerator, EnvironmentDeclaration, SystemDeclaration
from rules.finding import Problem
from rules.metrics.intervals import group_by_accelerator
from rules.protocol import STUDY_METHODS, StudyMethod
from rules.studies.declaration import Session, StudyDeclaration

BoardKey = tuple[str, str]
"""Node of a session, and UUID of an accelerator. Two sessions may use the same accelerator, and
each has a clock of its own."""


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
    def main_document(self) -> Json:
        """The document that states what was measured."""
        return self.study

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

    @property
    def protocol_version(self) -> str:
        """The version of the method that the study follows."""
        return self.declaration.method

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
        return {
            (node, uuid): samples
            for node in nodes.distinct()
            for uuid, samples in group_by_accelerator(self.samples.at(nodes.equals(node))).items()
        }


def _list_cells(table: Table, column: str) -> list[str] | list[int]:
    if column in TEXT_COLUMNS:
        return table.text(column).to_list()
    numbers: list[int] = table.ints(column).tolist()
    return numbers
