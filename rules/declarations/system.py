"""Typed records of what system.json and environment.json declare: nodes, accelerators, node meters,
software. `rules.declarations.run` has those of result.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from rules.boards import SIMULATED_PREFIX, Board, find_board, highest_power_w
from rules.bundle_format.records import Json
from rules.declarations.record import JsonRecord

NODE_SCOPES = frozenset({"node", "chassis", "rack"})
"""The scopes of meters that measure whole nodes. Other scopes are recorded and never added."""


@dataclass(frozen=True)
class Accelerator(JsonRecord):
    """An accelerator that system.json lists."""

    node: str
    uuid: str
    name: str
    vendor: str
    memory_bytes: int | None
    vbios: str | None
    max_power_w: float | None

    @property
    def is_simulated(self) -> bool:
        return self.name.startswith(SIMULATED_PREFIX)

    @property
    def board(self) -> Board | None:
        """The board of the rule book that the name means; for a simulated board its model."""
        return find_board(self.name, self.memory_bytes)

    @cached_property
    def highest_power_w(self) -> float:
        """The highest power in W that the board may be set to; NaN if it is not known."""
        return highest_power_w(self.name, self.max_power_w)


@dataclass(frozen=True)
class Node(JsonRecord):
    """A node that system.json lists."""

    name: str
    cpu: str
    cpu_cores: int
    memory_bytes: int
    accelerators: tuple[Accelerator, ...]
    accelerators_installed: int | None
    """Accelerators that the node has, used or not; None if that is not recorded."""
    rated_w: float | None
    rated_source: str | None
    """Where the rated power is stated."""
    power_supplies: int | None
    supplies_needed: int | None
    """How many of its power supplies it needs; the others are redundant."""
    supply_capacities_w: tuple[float, ...] | None

    @property
    def unused_accelerators(self) -> int:
        """How many of its accelerators did not take part; 0 if that is not recorded."""
        return max(0, (self.accelerators_installed or 0) - len(self.accelerators))


@dataclass(frozen=True)
class Feed(JsonRecord):
    """A feed of a node meter: an inlet, an outlet, a phase or a power supply."""

    feed: str
    node: str


@dataclass(frozen=True)
class MeterDeclaration(JsonRecord):
    """A node meter that system.json lists. None: not stated."""

    id: str
    kind: str
    model: str | None
    firmware: str | None
    scope: str
    """`node`, `chassis`, `rack`, `module`, `cpu` or `board`."""
    location: str
    current: str
    """`ac` or `dc`."""
    conversion_loss: float | None
    """Share of the power that conversion to direct current loses."""
    accuracy_percent: float | None
    accuracy_source: str | None
    calibrated_on: str | None
    range_w: float | None
    """Upper end of the range of one feed."""
    interval_ms: float
    averaging_ms: float | None
    """0 for an instantaneous reading."""
    resolution_mw: float | None
    energy_step_mj: float | None
    stamp_resolution_ms: float | None
    publication_delay_ms: float | None
    """The longest time from a stamp to the first answer that has it."""
    clock: str
    """`node`, `own` or `import`."""
    clock_error_ms: float | None
    clock_error_source: str | None
    feeds: tuple[Feed, ...]
    of_record: bool | None
    """Whether its feeds enter the figures of nodes; None means yes. False for a second meter of the
    same power."""
    nodes_covered: int | None
    shared_psu: bool | None
    includes: str | None
    excludes: str | None

    @property
    def covers_nodes(self) -> bool:
        """Whether it measures whole nodes and not a part of one."""
        return self.scope in NODE_SCOPES

    @property
    def is_of_record(self) -> bool:
        """Whether its feeds enter the figures of nodes."""
        return self.covers_nodes and self.of_record is not False


@dataclass(frozen=True)
class SystemDeclaration(JsonRecord):
    """What system.json declares."""

    name: str
    site: str
    category: str
    cooling: str
    interconnect: str
    nodes: tuple[Node, ...]
    meters: tuple[MeterDeclaration, ...] | None
    """None without a node meter."""

    @classmethod
    def from_json(cls, pointer: str, record: Json) -> Self:
        """The record of a JSON object. Accelerators get the name of their node."""
        nodes = [
            {**node, "accelerators": [{**a, "node": node["name"]} for a in node["accelerators"]]}
            for node in record.get("nodes", ())
        ]
        return super().from_json(pointer, {**record, "nodes": nodes})

    @property
    def meters_of_record(self) -> tuple[MeterDeclaration, ...]:
        """The meters whose feeds add up to the power of the nodes."""
        return tuple(meter for meter in self.meters or () if meter.is_of_record)

    @property
    def accelerators(self) -> tuple[Accelerator, ...]:
        """The accelerators of all nodes, in the order of system.json."""
        return tuple(accelerator for node in self.nodes for accelerator in node.accelerators)


@dataclass(frozen=True)
class GitState(JsonRecord):
    """The checkout that the harness ran from."""

    commit: str
    dirty: bool


@dataclass(frozen=True)
class EnvironmentDeclaration(JsonRecord):
    """What environment.json declares."""

    source_sha256: str
    os: str
    kernel: str
    driver: str | None
    packages: Mapping[str, str]
    """Version by name of the package."""
    container: str | None
    git: GitState | None
