"""Typed records of what result.json declares. `rules.declarations.system` has those of system.json
and environment.json.

`RunDeclaration.from_document` makes the record of a document that follows its schema. Figures of a
run are not part of it (see `rules.metrics.figures_json`).

Each record has the `pointer` of the JSON object that it comes from, so that a violation can name
its place. Fields have the names and units of `rules/bundle_format/schemas/`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rules.bundle_format.records import Json
from rules.contract import RequestSet
from rules.declarations.record import JsonRecord


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
    host_load: str | None
    """The program that loaded the host beside the workload; None if none did."""
    cpu_threads: int | None
    """The CPU threads of each process, if the run set them."""
    export: str | None
    """`prometheus` or `textfile` if the run published its progress; None if it did not."""


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
    sm_clock_mhz: int | None
    """The SM clock at which the run locked every accelerator; None if it locked none."""

    @property
    def locks_sm_clock(self) -> bool:
        """Whether the run locked the SM clocks."""
        return self.sm_clock_mhz is not None


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
    axes: Sequence[str] | None = None
    """The settings that the sweep varies; None in bundles of harnesses that varied caps and numbers
    of accelerators only."""
    reference: Mapping[str, float | str] | None = None
    """The value of each axis that the others are compared with; None for the default cap."""


@dataclass(frozen=True)
class OriginalRun(JsonRecord):
    """The run that a reproduction repeats."""

    run_id: str
    path: str
    """Center, system and run, with slashes; for people."""
    manifest_sha256: str
    """Identifies the run."""


@dataclass(frozen=True)
class SiteCap(JsonRecord):
    """The power cap that a site was to set for a job."""

    cap_w: float
    source: str
    """`environment` or `comment`."""


@dataclass(frozen=True)
class JobEnergy(JsonRecord):
    """The energy of a run by the accounting of Slurm."""

    consumed_j: int
    plugin: str
    """`AcctGatherEnergyType`, such as `acct_gather_energy/ipmi`."""


@dataclass(frozen=True)
class SlurmJob(JsonRecord):
    """The job of Slurm that a run was in."""

    id: str
    step: str | None
    """None in a batch script without srun."""
    restarts: int
    array_task: int | None
    """None if the job was in no array."""
    site_cap: SiteCap | None
    """None if the site stated none."""
    energy: JobEnergy | None
    """None where Slurm counts no energy."""


@dataclass(frozen=True)
class Rank(JsonRecord):
    """A process that ran batches."""

    rank: int
    node: str
    accelerators: tuple[str, ...]
    """The UUIDs of the accelerators that it computed on."""
    inputs_sha256: str | None
    """Hash of a part of its synthetic input; None if the harness did not record it."""


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
    power_mw: int | None
    """Power by the meter and, in `hwmon_mw`, by the hwmon sensor of the board at the same time."""
    hwmon_mw: int | None


@dataclass(frozen=True)
class StatedTraining(JsonRecord):
    """A whole training to the target of its workload."""

    rank: int
    seed: int
    steps: int
    accuracy: float
    """Share of the held-out samples that its last evaluation found correct."""


@dataclass(frozen=True)
class StatedEpoch(JsonRecord):
    """What result.json states of an epoch, besides its figures."""

    epoch: int
    scored: bool
    loss: float | None
    losses: list[float | None] | None
    """The loss of each step; None in bundles of harnesses that did not record it."""
    trainings: tuple[StatedTraining, ...] | None
    """None unless the workload has a target."""


@dataclass(frozen=True)
class ClockPair(JsonRecord):
    """Monotonic and wall clock of a node, read together."""

    node: str
    when: str
    """`before` its first sample or `after` its last."""
    monotonic_ns: int
    wall_ns: int


@dataclass(frozen=True)
class NodeSampling(JsonRecord):
    """How a node meter was read."""

    meter: str
    node: str
    interval_ms: float
    ticks: int
    missed: int
    cap_changes: int | None
    """How often the power caps of the node changed meanwhile; None if the meter does not tell."""
    missing_share: float | None
    """Share of the readings that an imported log lacks; None if not stated."""
    energy_bound_j: float | None
    """How much energy of the readings of an imported log may be missing or too much in J; None if
    not stated."""


@dataclass(frozen=True)
class NodeClock(JsonRecord):
    """How the clock of a meter relates to the monotonic clock of a node."""

    meter: str
    node: str
    offset_ns: int
    """Added to a stamp of the meter, it gives the time on the clock of the node."""
    bound_ns: int
    source: str
    """`requests`, `ntp`, `correlation` or `stated`."""


@dataclass(frozen=True)
class RunDeclaration(JsonRecord):
    """What result.json declares of a run, without its epochs and figures."""

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
    slurm_job: SlurmJob | None
    """None if the run was in no job of Slurm."""
    tally: TokenTally | None
    """None if the run served nothing."""
    node_sampling: tuple[NodeSampling, ...] | None
    """None without a node meter."""
    node_clocks: tuple[NodeClock, ...] | None
    """None where no meter has stamps of its own."""
    energy_of_record: str
    """`counter` or `trapezoid`."""

    @property
    def default_caps_w(self) -> frozenset[float | None]:
        """The default caps in W that the boards stated; None among them if one stated none."""
        caps_mw = {readback.default_mw for readback in self.readbacks}
        return frozenset(None if cap_mw is None else cap_mw / 1e3 for cap_mw in caps_mw)
