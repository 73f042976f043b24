"""Puts together what a run left in the directories of its nodes: tables, result, system,
environment and log."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from harness.power.node_reader import MeterSampling
from harness.power.request_clock import place_clocks
from harness.power.sampler import SAMPLES_FILE, UNUSED_DIRECTORY
from harness.power.source import Readback
from harness.run.plan import Plan
from harness.run.run_directory import LOG_FILE, read_recorded_events, read_texts, sort_batches
from harness.run.workers.load_generator import RequestTally
from harness.run.workers.worker_events import (
    WorkloadBuilt,
    worker_event_from_json,
    worker_event_to_json,
)
from harness.system import NodeDescription, describe_environment, describe_node, describe_system
from rules import VERSION
from rules.bundle_format.events import Event, event_from_json, event_to_json
from rules.bundle_format.records import (
    NODE_SAMPLES_FILE,
    REQUESTS_FILE,
    RESULT_FORMAT,
    Evidence,
    Json,
)
from rules.bundle_format.table import BATCHES, SAMPLES
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.metrics.energy import MetricsError
from rules.metrics.figures_json import figures_to_json, idle_to_json
from rules.metrics.idle import compute_idle_figures
from rules.metrics.node.figures import add_node_figures, compute_node_figures
from rules.metrics.parts import split_into_parts
from rules.metrics.run import compute_figures
from rules.protocol import CURRENT

DATE = "%Y-%m-%dT%H:%M:%SZ"
"""Format of the times in result.json and between nodes: UTC, whole seconds."""


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

    def to_json(self) -> Json:
        """Return the entry of `readbacks` in result.json."""
        return {"when": self.when, "accelerator": self.accelerator, **asdict(self.readback)}

    @staticmethod
    def from_json(entry: Json) -> "BoardReadback":
        """Return the readback that `to_json` made the entry of."""
        values = dict(entry)
        return BoardReadback(values.pop("when"), values.pop("accelerator"), Readback(**values))


@dataclass(frozen=True)
class ClockReading:
    """The monotonic and the wall clock of a node, read directly after each other."""

    node: str
    when: str
    """`before` the first sample or `after` the last."""
    monotonic_ns: int
    wall_ns: int


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

    def to_json(self) -> Json:
        """Return the share as the JSON object that a node sends to the head."""
        return {
            "node": self.node.to_json(),
            "built": [worker_event_to_json(event) for event in self.built],
            "readbacks": [readback.to_json() for readback in self.readbacks],
            "found_mw": None if self.found_mw is None else dict(self.found_mw),
            "found_state": dict(self.found_state),
            "sampling": asdict(self.sampling),
            "samples": self.samples,
            "unused_samples": self.unused_samples,
            "node_sampling": [asdict(sampling) for sampling in self.node_sampling],
            "node_samples": list(self.node_samples),
            "batches": list(self.batches),
            "requests": list(self.requests),
            "events": [event_to_json(event) for event in self.events],
            "log": self.log,
            "clocks": [asdict(reading) for reading in self.clocks],
            "started_at": self.started_at.strftime(DATE),
            "ended_at": self.ended_at.strftime(DATE),
            "batches_per_epoch": self.batches_per_epoch,
            "losses": list(self.losses),
            "tally": None if self.tally is None else asdict(self.tally),
        }

    @staticmethod
    def from_json(message: Json) -> "NodeShare":
        """Return the share that `to_json` made the message of. Times lose their microseconds."""
        built = [worker_event_from_json(event) for event in message["built"]]
        parsed = {
            "node": NodeDescription.from_json(message["node"]),
            "built": tuple(event for event in built if isinstance(event, WorkloadBuilt)),
            "readbacks": tuple(map(BoardReadback.from_json, message["readbacks"])),
            "sampling": SamplingCounts(**message["sampling"]),
            "node_sampling": tuple(MeterSampling(**entry) for entry in message["node_sampling"]),
            "node_samples": tuple(message["node_samples"]),
            "batches": tuple(message["batches"]),
            "requests": tuple(message["requests"]),
            "events": tuple(map(event_from_json, message["events"])),
            "clocks": tuple(ClockReading(**reading) for reading in message["clocks"]),
            "started_at": _parse_time(message["started_at"]),
            "ended_at": _parse_time(message["ended_at"]),
            "losses": tuple(message["losses"]),
            "tally": None if message["tally"] is None else RequestTally(**message["tally"]),
        }
        return NodeShare(**{**message, **parsed})


def _parse_time(text: str) -> datetime:
    return datetime.strptime(text, DATE).replace(tzinfo=UTC)


def collect_share(plan: Plan, directory: Path, measurements: Measurements) -> NodeShare:
    """Collect the data of this node from its measurements and the files in `directory`."""

    def read_tables(name: str) -> tuple[str, ...]:
        return tuple(path.read_text() for path in sorted(directory.glob(f"{name}*.csv")))

    return NodeShare(
        node=describe_node(plan.node_name, plan.devices, plan.installed),
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
    )


def gather(plan: Plan, shares: Sequence[NodeShare], environment: Mapping[str, str]) -> Evidence:
    """Put together the evidence of a finished run from the shares of its nodes, the head's first.
    `environment` has the environment variables of the workers.

    Raises rules.metrics.energy.MetricsError if figures cannot be computed from it.
    """
    head = shares[0]
    samples = read_texts(SAMPLES, (share.samples for share in shares))
    batches = sort_batches(
        read_texts(BATCHES, (text for share in shares for text in share.batches))
    )
    requests = None
    if plan.requests:
        requests = read_texts(REQUESTS_FILE, (text for share in shares for text in share.requests))
    result = _make_result(plan, shares)
    system = describe_system(plan.system, [share.node for share in shares])
    node_samples = None
    if plan.node_meters:
        result["node_sampling"] = [asdict(s) for share in shares for s in share.node_sampling]
        # A reader that was killed early has written nothing.
        if texts := [text for share in shares for text in share.node_samples if text]:
            node_samples = read_texts(NODE_SAMPLES_FILE, texts)
            result["node_clocks"] = place_clocks(plan.node_meters, node_samples)
    parts = split_into_parts(result, samples, batches)
    run, declared = RunDeclaration.from_document(result), SystemDeclaration.from_document(system)
    run_figures = compute_figures(run, declared, parts, requests)
    figures = figures_to_json(run_figures)
    if node_samples is not None:
        # Without readings of a node, the figures of the accelerators are complete all the same.
        with suppress(MetricsError):
            inputs = run, declared, node_samples, batches, parts, run_figures
            add_node_figures(figures, compute_node_figures(*inputs))
    for epoch, losses in zip(figures["epochs"], head.losses, strict=False):
        epoch.update(loss=losses[-1] if losses else None, losses=losses)
    result.update(figures)
    events = tuple(event for share in shares for event in share.events)
    unused = {
        s.node.name: read_texts(SAMPLES, [s.unused_samples]) for s in shares if s.unused_samples
    }
    # A run whose idle phases were disturbed is complete without their figures.
    with suppress(MetricsError):
        energy_of_record = run_figures.energy_of_record
        idle = compute_idle_figures(run, events, parts, batches, energy_of_record, unused)
        result.update(idle_to_json(idle))
    # One log for the bundle: a heading separates the nodes.
    log = (
        head.log
        if len(shares) == 1
        else "".join(f"== {share.node.name} ==\n{share.log}" for share in shares)
    )
    software = describe_environment(plan.driver, plan.source_sha256, environment)
    return Evidence(result, system, software, samples, batches, log, requests, events, node_samples)


def _make_result(plan: Plan, shares: Sequence[NodeShare]) -> Json:
    """Return result.json without the figures. Raises rules.metrics.energy.MetricsError if the ranks
    were built differently."""
    head = shares[0]
    ranks = [(share.node.name, built) for share in shares for built in share.built]
    # Ranks report in the order in which they were built.
    ranks.sort(key=lambda node_and_built: node_and_built[1].rank)
    _check_ranks_equal([rank for _, rank in ranks])
    built = ranks[0][1]
    result: Json = {
        "format": RESULT_FORMAT,
        "protocol": CURRENT.version,
        "rules_version": VERSION,
        "run_id": plan.run_id,
        "workload": plan.workload,
        "size": plan.size,
        "standing": plan.standing,
        **make_dates(shares),
        "attempt": plan.attempt,
        "implementation": {
            "name": plan.implementation,
            "variant": plan.variant,
            "sha256": plan.implementation_sha256,
            "precision": built.precision,
            "parameters": built.parameters,
            "input_shape": list(built.input_shape),
            "settings": dict(built.settings),
        },
        "settings": _make_settings(
            plan,
            built,
            accelerators=sum(len(rank.accelerators) for _, rank in ranks),
            batches_per_epoch=head.batches_per_epoch,
        ),
        "ranks": [_describe_rank(node, rank) for node, rank in ranks],
        "power": _make_power(plan, shares),
        "sampling": {
            "meter": plan.meter,
            "interval_ms": CURRENT.sample_interval_ms,
            "ticks": sum(share.sampling.ticks for share in shares),
            "missed": sum(share.sampling.missed for share in shares),
        },
        "readbacks": [readback.to_json() for share in shares for readback in share.readbacks],
        "clocks": [asdict(reading) for share in shares for reading in share.clocks],
    }
    if plan.power_reading is not None:
        result["sampling"]["power_reading"] = plan.power_reading
    if plan.sweep is not None:
        result["sweep"] = plan.sweep
    if plan.reproduces is not None:
        original = asdict(plan.reproduces)
        result["reproduces"] = {k: v for k, v in original.items() if k != "boards"}
    if head.tally is not None:
        result["tally"] = asdict(head.tally)
    return result


def _describe_rank(node: str, built: WorkloadBuilt) -> Json:
    rank: Json = {"rank": built.rank, "node": node, "accelerators": list(built.accelerators)}
    if built.inputs_sha256:
        rank["inputs_sha256"] = built.inputs_sha256
    return rank


def _check_ranks_equal(ranks: Sequence[WorkloadBuilt]) -> None:
    """Raise rules.metrics.energy.MetricsError if a rank was built differently from the first."""
    # result.json has one value of each for the whole run.
    build = ("precision", "parameters", "input_shape", "settings")
    for name in (*build, "corpus_sha256", "weights_sha256"):
        value = getattr(ranks[0], name)
        if deviating := [rank.rank for rank in ranks if getattr(rank, name) != value]:
            raise MetricsError(f"rank {deviating[0]} was built with another {name} than rank 0")


def _make_settings(
    plan: Plan, built: WorkloadBuilt, accelerators: int, batches_per_epoch: int
) -> Json:
    """Return `settings` of result.json; `built` is the event of rank 0."""
    trials = plan.batch_search
    return {
        "accelerators": accelerators,
        "nodes": plan.nodes,
        "batch_size": plan.batch_size,
        "batches_per_epoch": batches_per_epoch,
        "epoch_target_s": plan.epoch_s,
        "seed": plan.seed,
        "input": "synthetic" if built.corpus_sha256 is None else "real",
        "corpus_sha256": built.corpus_sha256,
        "weights": "seeded" if built.weights_sha256 is None else f"sha256:{built.weights_sha256}",
        "options": dict(plan.options),
        "requests": None if plan.requests is None else asdict(plan.requests),
        "batch_search": None if trials is None else [asdict(trial) for trial in trials],
        **({"host_load": plan.host_load} if plan.host_load else {}),
    }


def make_dates(shares: Sequence[NodeShare]) -> Json:
    """Return `started_at` and `ended_at` of result.json: the earliest start and the latest end over
    all nodes. All samples lie between them."""
    return {
        "started_at": min(share.started_at for share in shares).strftime(DATE),
        "ended_at": max(share.ended_at for share in shares).strftime(DATE),
    }


def _make_power(plan: Plan, shares: Sequence[NodeShare]) -> Json:
    """Return `power` of result.json: the declared power setting and SM clock.

    If a node set the cap for the run, the former limits of all accelerators are added. The former
    power states are added for accelerators whose state was not the declared one.
    """
    found_state = {uuid: state for share in shares for uuid, state in share.found_state.items()}
    settings: Json = {"cap_w": plan.cap_w, "state": plan.state}
    if found_state:
        settings["found_state"] = found_state
    if plan.sm_clock_mhz is not None:
        settings["sm_clock_mhz"] = plan.sm_clock_mhz
    if all(share.found_mw is None for share in shares):
        return {"mode": "as-found", **settings}
    assert plan.cap_w is not None
    # A node that found the planned cap in force has no `found_mw`. Its former limit is that cap.
    in_force_mw = round(1e3 * plan.cap_w)
    found_mw: dict[str, int] = {}
    for share in shares:
        found_mw |= share.found_mw or {
            device.uuid: in_force_mw for device in share.node.accelerators
        }
    return {"mode": "set", **settings, "found_mw": found_mw}
