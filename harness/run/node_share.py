"""What the harness collects on one node during a run, and the share of it that the node sends to
the head."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from harness.power.node_reader import MeterSampling
from harness.power.sampler import SAMPLES_FILE, UNUSED_DIRECTORY
from harness.power.source import Readback
from harness.run.plan import Plan
from harness.run.run_directory import LOG_FILE, read_recorded_events
from harness.run.workers.load_generator import RequestTally
from harness.run.workers.worker_events import RankEndedEpoch, WorkloadBuilt
from harness.system import NodeDescription, describe_node
from rules.bundle_format.events import Event
from rules.bundle_format.records import Json
from rules.json_record import to_json

DATE = "%Y-%m-%dT%H:%M:%SZ"
"""Format of the times in result.json: UTC, whole seconds."""


@dataclass(frozen=True)
class SamplingCounts:
    """How many ticks of 100 ms a sampler took and how many it missed."""

    ticks: int = 0
    missed: int = 0


@dataclass(frozen=True)
class BoardReadback:
    """Limits and state of one accelerator at one moment of the run."""

    when: str
    """`before`, `epoch-N` or `after`."""
    accelerator: str
    """UUID."""
    readback: Readback

    def to_entry(self) -> Json:
        """Return the entry of `readbacks` in result.json."""
        return {"when": self.when, "accelerator": self.accelerator, **to_json(self.readback)}


@dataclass(frozen=True)
class ClockReading:
    """The monotonic and the wall clock of a node, read directly after each other."""

    node: str
    when: str
    """`before` the first sample or `after` the last."""
    monotonic_ns: int
    wall_ns: int


@dataclass(frozen=True)
class RankTraining:
    """A whole training: an entry of `trainings` of an epoch in result.json."""

    rank: int
    seed: int
    steps: int
    accuracy: float


@dataclass
class Measurements:
    """The data that the harness collects on one node during a run."""

    started_at: datetime = datetime.max
    ended_at: datetime = datetime.max
    built: dict[int, WorkloadBuilt] = field(default_factory=dict)
    """By rank."""
    batches_per_epoch: int = 0
    losses: dict[int, list[float | None]] = field(default_factory=dict)
    """Of every step of the node's first rank, by epoch; None where not finite."""
    trainings: dict[int, list[RankTraining]] = field(default_factory=dict)
    """Of all ranks of the node, by epoch; empty lists unless the workload has a target."""
    readbacks: list[BoardReadback] = field(default_factory=list)
    sampling: SamplingCounts = SamplingCounts()
    node_sampling: tuple[MeterSampling, ...] = ()
    tally: RequestTally | None = None
    clocks: list[ClockReading] = field(default_factory=list)

    @property
    def compiles(self) -> bool:
        """Whether the first batches compile the model, as its settings say."""
        return any(event.settings.get("compiled") for event in self.built.values())


@dataclass(frozen=True)
class NodeShare:
    """The data of one node for the bundle. The other nodes send theirs to the head as JSON. `built`
    has the ranks in the order in which they were built."""

    node: NodeDescription
    built: tuple[WorkloadBuilt, ...]
    readbacks: tuple[BoardReadback, ...]
    found_mw: Mapping[str, int] | None
    """`found_mw` and `found_state` as in `Plan`."""
    found_state: Mapping[str, str]
    sampling: SamplingCounts
    samples: str
    """The table as CSV text."""
    unused_samples: str
    """The same for the boards that the run does not use; empty without such boards."""
    node_sampling: tuple[MeterSampling, ...]
    node_samples: tuple[str, ...]
    """The tables of the node meters as CSV texts."""
    batches: tuple[str, ...]
    """The tables of the ranks as CSV texts; `requests` too, which is empty without a server."""
    requests: tuple[str, ...]
    events: tuple[Event, ...]
    log: str
    clocks: tuple[ClockReading, ...]
    started_at: datetime
    """In UTC, as `ended_at`."""
    ended_at: datetime
    batches_per_epoch: int
    losses: tuple[list[float | None], ...]
    """Of every step of the node's first rank, one list for each epoch; None where not finite."""
    tally: RequestTally | None
    trainings: tuple[list[RankTraining], ...] = ()
    """By epoch."""


def list_trainings(ends: Iterable[RankEndedEpoch]) -> list[RankTraining]:
    """Return the trainings of the ranks that ended an epoch, by rank."""
    return [
        RankTraining(end.rank, **asdict(training))
        for end in sorted(ends, key=lambda end: end.rank)
        for training in end.trainings
    ]


def collect_share(plan: Plan, directory: Path, measurements: Measurements) -> NodeShare:
    """Collect the data of this node from its measurements and the files in `directory`."""

    def read_tables(name: str) -> tuple[str, ...]:
        return tuple(path.read_text() for path in sorted(directory.glob(f"{name}*.csv")))

    return NodeShare(
        node=describe_node(plan.node_name, plan.devices, plan.machine.installed),
        built=tuple(measurements.built.values()),
        readbacks=tuple(measurements.readbacks),
        found_mw=plan.found_mw,
        found_state=plan.found_state or {},
        sampling=measurements.sampling,
        samples=(directory / SAMPLES_FILE).read_text(),
        unused_samples="".join(read_tables(f"{UNUSED_DIRECTORY}/samples")),
        node_sampling=measurements.node_sampling,
        node_samples=read_tables("node_samples."),
        batches=read_tables("batches."),
        requests=read_tables("requests."),
        events=read_recorded_events(directory),
        # Workers print what they like. Bytes that are not UTF-8 must not lose a complete run.
        log=(directory / LOG_FILE).read_text(errors="replace"),
        clocks=tuple(measurements.clocks),
        started_at=measurements.started_at,
        ended_at=measurements.ended_at,
        # Of the following, result.json has only the values of the head.
        batches_per_epoch=measurements.batches_per_epoch,
        losses=tuple(measurements.losses.values()),
        tally=measurements.tally,
        trainings=tuple(measurements.trainings.values()),
    )
