"""What the bundle of a run states, typed, without arithmetic."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rules.boards import Board
from rules.bundle_format.events import Event
from rules.bundle_format.evidence import Evidence
from rules.bundle_format.records import Json
from rules.bundle_format.table import Table
from rules.contract import RequestSet
from rules.declarations.run import (
    ClockPair,
    Implementation,
    Rank,
    ReadbackRecord,
    RunDeclaration,
    RunSettings,
    StatedEpoch,
)
from rules.declarations.system import (
    Accelerator,
    EnvironmentDeclaration,
    MeterDeclaration,
    SystemDeclaration,
)
from rules.finding import Problem
from rules.protocol import PROTOCOLS, Protocol
from rules.workloads import Size, Target, Workload, workloads


@dataclass
class BundleEvidence:
    """What the bundle of a run states, typed. `evidence` is None if problems of form prevented
    reading it."""

    path: Path
    problems: tuple[Problem, ...]
    evidence: Evidence | None

    @property
    def result(self) -> Json:
        return self._evidence.result

    @property
    def system(self) -> Json:
        return self._evidence.system

    @property
    def environment(self) -> Json:
        return self._evidence.environment

    @property
    def samples(self) -> Table:
        return self._evidence.samples

    @property
    def batches(self) -> Table:
        return self._evidence.batches

    @property
    def requests(self) -> Table | None:
        """None if the run served no requests, or if the table is missing (P115 reports that)."""
        return self._evidence.requests

    @property
    def events(self) -> tuple[Event, ...] | None:
        """None in bundles of rule books before 1.4.0."""
        return self._evidence.events

    @property
    def log(self) -> str:
        return self._evidence.log

    @property
    def node_samples(self) -> Table | None:
        """None without a node meter."""
        return self._evidence.node_samples

    @property
    def meters(self) -> tuple[MeterDeclaration, ...]:
        """The node meters that system.json lists, in its order."""
        return self.system_declaration.meters or ()

    @property
    def _evidence(self) -> Evidence:
        if self.evidence is None:
            raise LookupError(f"{self.path}: the evidence could not be read")
        return self.evidence

    @cached_property
    def declaration(self) -> RunDeclaration:
        """What result.json declares of the run."""
        return RunDeclaration.from_document(self.result)

    @cached_property
    def system_declaration(self) -> SystemDeclaration:
        """What system.json declares."""
        return SystemDeclaration.from_document(self.system)

    @cached_property
    def environment_declaration(self) -> EnvironmentDeclaration:
        """What environment.json declares."""
        return EnvironmentDeclaration.from_document(self.environment)

    @property
    def settings(self) -> RunSettings:
        return self.declaration.settings

    @property
    def implementation(self) -> Implementation:
        return self.declaration.implementation

    @property
    def standing(self) -> str:
        return self.declaration.standing

    @property
    def judged_standing(self) -> str:
        """The standing whose rules apply. A control run on simulated boards or of the smoke size
        measures nothing, so it is judged as a demo."""
        boards = self.listed_accelerators
        is_rehearsal = self.declaration.size == "smoke" or (
            len(boards) > 0 and all(board.is_simulated for board in boards)
        )
        return "demo" if self.standing == "control" and is_rehearsal else self.standing

    @property
    def protocol(self) -> Protocol:
        return PROTOCOLS[self.declaration.protocol]

    @property
    def workload(self) -> Workload | None:
        """The workload of the run; None if the rule book does not have it (T108 reports that)."""
        return workloads().get(self.declaration.workload)

    @property
    def size(self) -> Size | None:
        """The size of the workload that ran; None if the rule book does not have it."""
        try:
            return (
                self.workload.size(self.declaration.size, self.variant) if self.workload else None
            )
        except KeyError:
            return None

    @property
    def target(self) -> Target | None:
        """What each training of the run must reach; None if items are no whole trainings."""
        return self.size.target if self.size else None

    @property
    def is_training(self) -> bool:
        """Whether the workload is known and trains a model."""
        return self.workload is not None and self.workload.mode == "training"

    @property
    def runs_batches_in_turn(self) -> bool:
        """Whether the workload is known and its batches do not overlap, as those of a server do."""
        return self.workload is not None and self.workload.mode != "inference"

    @property
    def variant(self) -> str:
        return self.implementation.variant

    @property
    def precision(self) -> str:
        return self.implementation.precision

    @property
    def batch_size(self) -> int:
        """Samples per batch of a rank; for serving, requests in flight."""
        return self.settings.batch_size

    @property
    def cap_w(self) -> float | None:
        """The declared power cap of every accelerator, in W; None if none is declared."""
        return self.declaration.power.cap_w

    @property
    def meter(self) -> str:
        """The name of the meter, without what follows a colon."""
        return self.declaration.sampling.meter.partition(":")[0]

    @property
    def request_set(self) -> RequestSet | None:
        """The declared request set of a serving run; None if none is declared."""
        return self.settings.requests

    @property
    def ranks(self) -> tuple[Rank, ...]:
        """The declared ranks, in the order of result.json."""
        return self.declaration.ranks

    @property
    def readbacks(self) -> tuple[ReadbackRecord, ...]:
        """All readbacks, in the order of result.json."""
        return self.declaration.readbacks

    @cached_property
    def stated_epochs(self) -> tuple[StatedEpoch, ...]:
        """What result.json states of each epoch, in its order."""
        epochs = self.result["epochs"]
        return tuple(StatedEpoch.from_json(f"/epochs/{i}", e) for i, e in enumerate(epochs))

    @property
    def clock_pairs(self) -> tuple[ClockPair, ...]:
        """The clocks of the nodes; empty if the harness did not record them."""
        return self.declaration.clocks or ()

    @property
    def listed_accelerators(self) -> tuple[Accelerator, ...]:
        """Every accelerator that system.json lists, in its order."""
        return self.system_declaration.accelerators

    @cached_property
    def accelerators(self) -> Mapping[str, Accelerator]:
        """The accelerators of system.json by UUID."""
        return {accelerator.uuid: accelerator for accelerator in self.listed_accelerators}

    def vendor_of(self, uuid: str) -> str:
        """The vendor of an accelerator; empty if system.json does not list it."""
        return self.accelerators[uuid].vendor if uuid in self.accelerators else ""

    def board_of(self, uuid: str) -> Board | None:
        """The board of an accelerator, for a simulated one its model; None if it is not known."""
        return self.accelerators[uuid].board if uuid in self.accelerators else None

    def sum_peaks_tflops(self, rank: Rank) -> float | None:
        """The dense peak of the accelerators of a rank together at the precision of the run, in
        TFLOP/s; None if one is not known: a partial sum would be too low."""
        boards = [self.board_of(uuid) for uuid in rank.accelerators]
        known_boards = [board for board in boards if board is not None and board.peak_tflops]
        if not boards or len(known_boards) < len(boards):
            return None
        return sum(
            # The highest peak is the most cautious bound for a precision without a known peak.
            board.peak_tflops.get(self.precision, max(board.peak_tflops.values()))
            for board in known_boards
        )

    def real_board_of(self, uuid: str) -> Board | None:
        """The board of an accelerator; None if it is simulated or not known."""
        board = self.board_of(uuid)
        return None if board is None or self.accelerators[uuid].is_simulated else board
