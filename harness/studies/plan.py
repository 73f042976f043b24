"""The plan of a study, and that of each of its sessions. Both are written to disk before the first
measurement."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from harness.errors import PlanError
from harness.power.source import Device
from harness.run.plan import Machine
from harness.slurm.job import SlurmJob
from rules.bundle_format.records import Json
from rules.bundle_format.seal import write_durable
from rules.json_record import from_json, to_json
from rules.protocol import STUDY_V1_0, STUDY_V1_1
from rules.studies.ladder import LadderLimits
from rules.study_contract import ModelJob

PLAN_FILE = "plan.json"
STUDY = "image-inference"
METHOD = STUDY_V1_1
REFERENCE_MODELS = "reference.image_inference:open_model"
SIMULATED_MODELS = "harness.simulation.image_inference:open_model"
RUNNING_SUFFIX = ".running"


@dataclass(frozen=True)
class StudyEntry:
    """A model at an input size, on an engine, in a precision: what a study measures at once."""

    architecture: str
    size: int
    """Side of the square input, in pixels."""
    engine: str
    precision: str

    def __str__(self) -> str:
        return f"{self.architecture}@{self.size} {self.engine} {self.precision}"


@dataclass(frozen=True)
class Anchor:
    """The model that shows drift. It is measured at the start, after every `every` models and at
    the end of each session."""

    architecture: str = "resnet50"
    size: int = 224
    every: int = 20


@dataclass(frozen=True)
class StudySettings:
    """How a study measures: `settings` of study.json. All sessions of a study have the same."""

    models: str
    """`--models` as given."""
    engines: tuple[str, ...]
    precisions: tuple[str, ...]
    like: str | None = None
    full: bool = False
    channels_last: bool = True
    autograd: bool = False
    cudnn_benchmark: bool = False
    max_batch: int = 8192
    early_stop_sizes: int = 3
    early_stop_share: float = 0.03
    ladder_s: float = METHOD.ladder_s
    long_s: float = METHOD.long_s
    long_batches: int = METHOD.long_batches
    parts: int = METHOD.parts
    burn_in_s: float = METHOD.burn_in_s
    anchor: Anchor = Anchor()
    input: str = "synthetic"

    @property
    def ladder_limits(self) -> LadderLimits:
        """Where a ladder ends."""
        limits = self.max_batch, self.early_stop_sizes, self.early_stop_share, self.full
        return LadderLimits(*limits)

    @property
    def idle_s(self) -> float:
        """How long idle power is measured before a session."""
        return self.long_s


@dataclass(frozen=True)
class StudyPlan:
    """What a study measures and how. It holds for all its sessions."""

    study_id: str
    seed: int
    settings: StudySettings
    work: tuple[StudyEntry, ...]
    """The entries to measure, in order. A study that continues a bundle has those without a
    measurement there."""
    implementation: str
    """`module:function` of the program that runs the models."""
    implementation_sha256: str
    """Of its file when the study began."""
    accuracy_sha256: str
    """Of the table of published accuracy."""
    system: Json
    """The submitter's description of the system."""
    source_sha256: str
    """Of the code that runs (see `harness.system.hash_source`)."""
    accuracy: str | None = None
    """The path that `--accuracy` gives."""
    base: str | None = None
    """Id of the bundle that the study continues, a copy of which is in its directory."""
    selected: tuple[StudyEntry, ...] = ()
    """The entries of `work` that `--models` selects on `--resume`; empty for all."""

    @property
    def session_work(self) -> tuple[StudyEntry, ...]:
        """The entries that a session measures, in order, unless an earlier one has."""
        return self.selected or self.work

    def make_job(self, entry: StudyEntry, device: str, uuid: str) -> ModelJob:
        """Return the job of building the model of an entry on a board."""
        return ModelJob(
            **asdict(entry),
            seed=self.seed,
            device=device,
            uuid=uuid,
            channels_last=self.settings.channels_last,
            autograd=self.settings.autograd,
        )

    def save(self, directory: Path) -> None:
        """Write the plan to `directory`. Raises OSError."""
        text = json.dumps(to_json(self), indent=1) + "\n"
        write_durable(directory / PLAN_FILE, text.encode())

    @staticmethod
    def load(directory: Path) -> "StudyPlan":
        """Read the plan in `directory`. Raises PlanError if there is none or it cannot be read."""
        path = directory / PLAN_FILE
        try:
            return from_json(StudyPlan, json.loads(path.read_text()))
        except FileNotFoundError:
            raise PlanError(
                f"{directory}: no plan of a study there; --resume takes the directory "
                ".STUDY_ID.running of an unfinished study, or the bundle of a finished one"
            ) from None
        # Another version of wattmark may have written the plan with other fields.
        except (OSError, ValueError) as error:
            raise PlanError(f"{path}: the plan of the study cannot be read ({error})") from None


@dataclass(frozen=True)
class SessionPlan:
    """The boards of a session and their settings. The fields that the caps need have the names of
    `harness.power.caps.apply.CapPlan`."""

    run_id: str
    """Id of the study."""
    number: int
    meter: str
    torch_device: str
    """`cuda` or `cpu`"""
    driver: str | None
    devices: tuple[Device, ...]
    state: str | None
    cap_w: float | None
    found_mw: Mapping[str, int] | None
    found_state: Mapping[str, str] | None
    installed: int | None
    power_reading: str | None
    job: SlurmJob | None = None
    """The Slurm job of the session. None outside Slurm."""

    @property
    def sm_clock_mhz(self) -> int | None:
        """None: a study locks no SM clock."""
        return None

    @property
    def node_name(self) -> str:
        """The name of the session's node in the bundle."""
        return f"session{self.number}"

    @staticmethod
    def of(
        study_id: str, number: int, machine: Machine, job: SlurmJob | None = None
    ) -> "SessionPlan":
        """Return the plan of a session on the boards of `machine`."""
        return SessionPlan(
            run_id=study_id,
            number=number,
            meter=machine.meter,
            torch_device=machine.torch_device,
            driver=machine.driver,
            devices=machine.devices,
            state=machine.state,
            cap_w=machine.cap_w,
            found_mw=machine.found_mw,
            found_state=machine.found_state,
            installed=machine.installed,
            power_reading=machine.power_reading,
            job=job,
        )


@dataclass(frozen=True)
class BoardIdle:
    """Idle power of a board before a session, and when it was measured."""

    power_w: float
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class SessionRecord:
    """A session as its directory keeps it: its plan, and what belongs to no entry."""

    plan: SessionPlan
    node: Json
    """The entry of the node in system.json."""
    environment: Json
    """environment.json of the session."""
    implementation_sha256: str
    """Of the file of the program that ran the models."""
    started_at: datetime
    ended_at: datetime | None = None
    """None while the session runs, and after it was killed."""
    clocks: tuple[Json, ...] = ()
    idle: Mapping[str, BoardIdle] = field(default_factory=dict)
    """By UUID."""
    versions: Mapping[str, str | None] = field(default_factory=dict)
    readbacks: tuple[Json, ...] = ()
    """Of each board before its first entry and after its last, with the key `when`."""
    method: str = STUDY_V1_0.version
    """Version of the method. Sessions that an earlier version of wattmark measured do not name
    theirs."""
