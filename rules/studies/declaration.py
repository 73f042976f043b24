"""Typed records of what study.json declares: settings, work and sessions, without the figures."""

from collections.abc import Mapping
from dataclasses import dataclass

from rules.declarations.record import JsonRecord
from rules.declarations.run import (
    ClockPair,
    PowerSetting,
    ReadbackRecord,
    Sampling,
    SlurmJob,
)
from rules.protocol import STUDY_METHODS, STUDY_V1_0, StudyMethod
from rules.studies.ladder import LadderLimits

MEASURED, SKIPPED, NOT_REACHED = "measured", "skipped", "not-reached"
"""What became of an entry of the work."""


@dataclass(frozen=True)
class AnchorSetting(JsonRecord):
    """The model that is measured again and again, which shows drift."""

    architecture: str
    size: int
    """Side of the square input, in pixels."""
    every: int
    """Models between two measurements."""


@dataclass(frozen=True)
class StudySettings(JsonRecord):
    """How a study measures."""

    models: str
    """The selection of models, as given."""
    engines: list[str]
    precisions: list[str]
    like: str | None
    """The published study whose settings are reproduced: `yang-pt` or `yang-trt`."""
    full: bool
    """Whether ladders go on beyond the least energy."""
    channels_last: bool
    autograd: bool
    cudnn_benchmark: bool
    max_batch: int
    early_stop_sizes: int
    early_stop_share: float
    """A ladder ends after so many sizes in a row that are above the least energy by more than this
    share."""
    ladder_s: float
    long_s: float
    long_batches: int
    parts: int
    burn_in_s: float
    anchor: AnchorSetting
    input: str

    @property
    def ladder_limits(self) -> LadderLimits:
        """Where ladders end."""
        return LadderLimits(self.max_batch, self.early_stop_sizes, self.early_stop_share, self.full)

    def is_shorter_than(self, method: StudyMethod) -> bool:
        """Whether any window is shorter than the method requires."""
        return (
            self.ladder_s < method.ladder_s
            or self.long_s < method.long_s
            or self.long_batches < method.long_batches
            or self.parts < method.parts
            or self.burn_in_s < method.burn_in_s
        )


@dataclass(frozen=True)
class StudyImplementation(JsonRecord):
    """The code that ran the models."""

    name: str
    sha256: str | None
    """SHA-256 of its file."""


@dataclass(frozen=True)
class AccuracyTable(JsonRecord):
    """The table of published accuracy that the study refers to."""

    sha256: str


@dataclass(frozen=True)
class WorkEntry(JsonRecord):
    """A model at an input size on an engine in a precision, and what became of it."""

    architecture: str
    size: int
    engine: str
    precision: str
    status: str
    """`MEASURED`, `SKIPPED` or `NOT_REACHED`."""
    reason: str | None
    """Why it was skipped."""
    session: int | None
    accelerator: str | None
    """UUID. Both are None for an entry that was not reached."""

    @property
    def key(self) -> tuple[str, int, str, str]:
        """Architecture, size, engine and precision. No two entries share them."""
        return self.architecture, self.size, self.engine, self.precision


@dataclass(frozen=True)
class Session(JsonRecord):
    """A part of a study that one process measured on one machine. It has clocks of its own."""

    session: int
    """Its number, from 0."""
    node: str
    """The name of its node in system.json and samples.csv.gz, such as `session0`."""
    started_at: str
    ended_at: str
    accelerators: list[str]
    """UUIDs."""
    method: str | None
    """Version of the method by which the session measured; None if it is 1.0."""
    power: PowerSetting
    sampling: Sampling
    clocks: tuple[ClockPair, ...]
    readbacks: tuple[ReadbackRecord, ...]
    """`when` is `before`, `after`, or `entry-N`: after entry N of the work, from 0."""
    idle_w: Mapping[str, float] | None
    """Idle power of each accelerator before the first point, by UUID; None if it was not
    measured."""
    commit: str | None
    """The git commit of the checkout that measured."""
    versions: Mapping[str, str]
    """Versions of torch, timm, CUDA, the driver and others, by name."""
    slurm_job: SlurmJob | None
    """None if the session was in no job of Slurm."""

    @property
    def study_method(self) -> StudyMethod:
        """The method by which the session measured."""
        return STUDY_METHODS[self.method or STUDY_V1_0.version]


@dataclass(frozen=True)
class StudyDeclaration(JsonRecord):
    """What study.json declares, without the figures."""

    rules_version: str
    """The version of the rule book at the time of the study."""
    study: str
    method: str
    """Version of the method (`rules.protocol.STUDY_METHODS`) of the last session."""
    standing: str
    study_id: str
    seed: int
    """Seed of weights, inputs and of the order of the work."""
    started_at: str
    ended_at: str
    settings: StudySettings
    implementation: StudyImplementation
    accuracy: AccuracyTable
    work: tuple[WorkEntry, ...]
    """In the order of the study."""
    sessions: tuple[Session, ...]
    """By number. Reading a bundle refuses other orders."""
