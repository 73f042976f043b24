"""Typed records of what result.json, system.json and environment.json declare.

`RunDeclaration`, `SystemDeclaration` and `EnvironmentDeclaration` stand for the three documents.
`from_document` makes each of them from JSON that follows its schema. Figures of a run are not part
of these records (see `rules.metrics.figures_json`).

Each record has the `pointer` of the JSON object that it comes from, so that a violation can name
its place. Fields have the names and units of `rules/bundle_format/schemas/`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

from rules.boards import SIMULATED_PREFIX, Board, find_board, highest_power_w
from rules.bundle_format.records import Json
from rules.contract import RequestSet

Parts = Mapping[str, Callable[[str, Json], Any]]
"""Functions that make a record from its pointer and its JSON object, by the name of the field."""


@dataclass(frozen=True)
class JsonRecord:
    """A typed record of a JSON object. Its fields are those keys of the object that are read."""

    pointer: str
    """JSON pointer of the object in its file, such as `/readbacks/3`."""

    PARTS: ClassVar[Parts] = {}
    """The fields that are records themselves. A list of objects becomes a tuple of records."""

    @classmethod
    def from_json(cls, pointer: str, record: Json) -> Self:
        """The record of a JSON object. An optional field that is absent is None."""
        values: Json = {}
        for field in fields(cls):
            value = record.get(field.name)
            if field.name in cls.PARTS and value is not None:
                value = _make_part(cls.PARTS[field.name], f"{pointer}/{field.name}", value)
            values[field.name] = value
        return cls(**{**values, "pointer": pointer})

    @classmethod
    def from_document(cls, document: Json) -> Self:
        """The record of a whole JSON document."""
        return cls.from_json("", document)


def _make_part(make: Callable[[str, Json], Any], pointer: str, value: Json | list[Json]) -> Any:
    if isinstance(value, list):
        return tuple(make(f"{pointer}/{i}", record) for i, record in enumerate(value))
    return make(pointer, value)


def _make_request_set(_pointer: str, record: Json) -> RequestSet:
    return RequestSet(**{field.name: record[field.name] for field in fields(RequestSet)})


@dataclass(frozen=True)
class Implementation(JsonRecord):
    """The code that ran the workload."""

    name: str
    variant: str
    sha256: str | None
    """SHA-256 of a submitter's own implementation; None for a reference implementation."""
    precision: str
    parameters: int
    input_shape: list[int]
    """Shape of one sample, without the batch."""
    settings: Mapping[str, str | float | bool | None]
    """What the implementation states of itself: switches, versions of kernels and similar."""


@dataclass(frozen=True)
class RunSettings(JsonRecord):
    """The settings of a run."""

    PARTS: ClassVar[Parts] = {"requests": _make_request_set}

    accelerators: int
    nodes: int
    batch_size: int
    """Samples per batch of a rank; for serving, requests in flight."""
    batches_per_epoch: int
    epoch_target_s: float
    seed: int
    input: str
    """`synthetic`, or `real` if a corpus was read."""
    corpus_sha256: str | None
    weights: str
    """`seeded`, or `sha256:` and the hash of the checkpoint."""
    options: Mapping[str, str] | None
    requests: RequestSet | None
    """The request set of a serving run; None if the run served nothing."""
    batch_search: Sequence[Json] | None
    """The trials of `--batch auto` in order; None if the batch size was given."""


@dataclass(frozen=True)
class PowerSetting(JsonRecord):
    """The declared power setting."""

    mode: str
    """`as-found`, or `set` if the run set the cap."""
    cap_w: float | None
    """The cap of every accelerator, in W; None if the meter has no power limit."""
    state: str | None
    found_state: Mapping[str, str] | None
    found_mw: Mapping[str, int] | None
    """The limit of each accelerator before the run, in mW by UUID; with mode `set` only."""


@dataclass(frozen=True)
class Sampling(JsonRecord):
    """How power was sampled. Ticks are counted over all nodes."""

    meter: str
    interval_ms: int
    ticks: int
    missed: int


@dataclass(frozen=True)
class TokenTally(JsonRecord):
    """The requests and output tokens of a serving run, counted on both sides."""

    requests: int
    client_output_tokens: int
    server_output_tokens: int


@dataclass(frozen=True)
class SweepLabel(JsonRecord):
    """Which run of which sweep a run is."""

    id: str
    place: int
    """Number of the run in the sweep, from 1."""
    of: int
    """Number of runs that the sweep has."""
    repeat: int
    order: str
    seed: int


@dataclass(frozen=True)
class OriginalRun(JsonRecord):
    """The run that a reproduction repeats."""

    run_id: str
    path: str
    """Center, system and run, with slashes; for people."""
    manifest_sha256: str
    """Identifies the run."""


@dataclass(frozen=True)
class Rank(JsonRecord):
    """A process that ran batches."""

    rank: int
    node: str
    accelerators: tuple[str, ...]
    """The UUIDs of the accelerators that it computed on."""


@dataclass(frozen=True)
class ReadbackRecord(JsonRecord):
    """Settings and counters of one accelerator, read back from the driver. None: the meter has no
    such quantity."""

    when: str
    """`before`, `epoch-N` or `after`."""
    accelerator: str
    min_mw: int | None
    max_mw: int | None
    default_mw: int | None
    requested_mw: int | None
    enforced_mw: int | None
    foreign_processes: int | None
    mig: bool | None
    ecc_uncorrected: int | None
    ecc_corrected: int | None
    sm_set_mhz: int | None
    sm_default_mhz: int | None
    mem_set_mhz: int | None
    mem_default_mhz: int | None


@dataclass(frozen=True)
class StatedEpoch(JsonRecord):
    """What result.json states of an epoch, besides its figures."""

    epoch: int
    scored: bool
    loss: float | None
    losses: list[float | None] | None
    """The loss of each step; None in bundles of harnesses that did not record it."""


@dataclass(frozen=True)
class ClockPair(JsonRecord):
    """Monotonic and wall clock of a node, read together."""

    node: str
    when: str
    """`before` its first sample or `after` its last."""
    monotonic_ns: int
    wall_ns: int


@dataclass(frozen=True)
class RunDeclaration(JsonRecord):
    """What result.json declares of a run, without its epochs and figures."""

    PARTS: ClassVar[Parts] = {
        "implementation": Implementation.from_json,
        "settings": RunSettings.from_json,
        "power": PowerSetting.from_json,
        "sampling": Sampling.from_json,
        "ranks": Rank.from_json,
        "readbacks": ReadbackRecord.from_json,
        "clocks": ClockPair.from_json,
        "sweep": SweepLabel.from_json,
        "reproduces": OriginalRun.from_json,
        "tally": TokenTally.from_json,
    }

    protocol: str
    rules_version: str
    """The version of the rule book at the time of the run."""
    run_id: str
    workload: str
    size: str
    standing: str
    started_at: str
    ended_at: str
    """Both are dates and times in UTC, which may not exist (P113 reports that)."""
    attempt: int
    implementation: Implementation
    settings: RunSettings
    power: PowerSetting
    sampling: Sampling
    ranks: tuple[Rank, ...]
    readbacks: tuple[ReadbackRecord, ...]
    clocks: tuple[ClockPair, ...] | None
    """None if the harness did not record clocks."""
    sweep: SweepLabel | None
    """None if the run belongs to no sweep."""
    reproduces: OriginalRun | None
    """None if the run is no reproduction."""
    tally: TokenTally | None
    """None if the run served nothing."""
    energy_of_record: str
    """`counter` or `trapezoid`."""

    @property
    def default_caps_w(self) -> frozenset[float | None]:
        """The default caps in W that the boards stated; None among them if one stated none."""
        caps_mw = {readback.default_mw for readback in self.readbacks}
        return frozenset(None if cap_mw is None else cap_mw / 1e3 for cap_mw in caps_mw)


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
        return find_board(self.name)

    @cached_property
    def highest_power_w(self) -> float:
        """The highest power in W that the board may be set to; NaN if it is not known."""
        return highest_power_w(self.name, self.max_power_w)


@dataclass(frozen=True)
class Node(JsonRecord):
    """A node that system.json lists."""

    PARTS: ClassVar[Parts] = {"accelerators": Accelerator.from_json}

    name: str
    cpu: str
    cpu_cores: int
    memory_bytes: int
    accelerators: tuple[Accelerator, ...]

    @classmethod
    def from_json(cls, pointer: str, record: Json) -> Self:
        """The record of a JSON object. Its accelerators get the name of the node."""
        name = record.get("name")
        listed = [{**accelerator, "node": name} for accelerator in record.get("accelerators", [])]
        return super().from_json(pointer, {**record, "accelerators": listed})


@dataclass(frozen=True)
class SystemDeclaration(JsonRecord):
    """What system.json declares."""

    PARTS: ClassVar[Parts] = {"nodes": Node.from_json}

    name: str
    site: str
    category: str
    cooling: str
    interconnect: str
    nodes: tuple[Node, ...]

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

    PARTS: ClassVar[Parts] = {"git": GitState.from_json}

    source_sha256: str
    os: str
    kernel: str
    driver: str | None
    packages: Mapping[str, str]
    """Version by name of the package."""
    container: str | None
    git: GitState | None
