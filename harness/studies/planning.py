"""Makes the plan of a study from the command line."""

import hashlib
import importlib.util
import math
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import PlanError
from harness.run.plan import Machine, RunRequest
from harness.studies.boards.worker_process import COMPILING_ENGINES
from harness.studies.plan import (
    METHOD,
    REFERENCE_MODELS,
    SIMULATED_MODELS,
    STUDY,
    Anchor,
    StudyEntry,
    StudyPlan,
    StudySettings,
)
from harness.system import hash_source
from rules.bundle_format.counts import MAX_WORK
from rules.bundle_format.records import Json
from rules.studies.accuracy import (
    AccuracyTable,
    AccuracyTableError,
    read_accuracy_table,
    read_shipped_table,
)
from rules.studies.order import order_work
from rules.studies.selection import SelectionError, select_models
from rules.study_contract import ENGINES, PRECISIONS

DEFAULT_MODELS = "curated"
SMOKE_MODELS = "test_efficientnet,test_resnet,test_vit"
SMOKE_ANCHOR = Anchor("test_resnet", 160)
SMOKE_MAX_BATCH = 4
MIN_LADDER_S = 0.2
"""The shortest window of a ladder of a shortened study: two samples."""

BUILD_S, COMPILE_S = 12.0, 60.0
"""About the time to build a model, and that to compile it for all batch sizes."""
LADDER_SIZES = 10
"""About as many batch sizes has a ladder that stops early."""
START_S = 20.0
"""About the time until the worker has imported its libraries."""


@dataclass(frozen=True)
class Preset:
    """The settings of a published study."""

    engine: str
    precision: str
    autograd: bool


PRESETS = {
    # PyTorch's defaults: convolutions in TF32, matrix products in FP32.
    "yang-pt": Preset("eager", "tf32-conv", autograd=True),
    "yang-trt": Preset("tensorrt", "fp16", autograd=False),
}


@dataclass(frozen=True)
class StudyRequest:
    """The study that the command line asks for. None is the default, or on resume the setting of
    the study."""

    run: RunRequest
    """Meter, boards, cap, seed and description of the system."""
    seed: int | None = None
    models: str | None = None
    engines: str | None = None
    """Separated by commas, as `precisions`."""
    precisions: str | None = None
    like: str | None = None
    full: bool = False
    long_s: float | None = None
    accuracy: Path | None = None
    budget_s: float | None = None


def make_settings(request: StudyRequest) -> StudySettings:
    """Return the settings of a new study. Raises PlanError."""
    smoke = request.run.smoke
    if request.like is None:
        engine, precision = ("eager", "fp32") if smoke else ("cudagraph", "bf16")
        engines = _parse_list("--engine", request.engines, ENGINES, engine)
        precisions = _parse_list("--precision", request.precisions, PRECISIONS, precision)
        channels_last, autograd = True, False
    else:
        if given := [
            option
            for option, value in (
                ("--engine", request.engines),
                ("--precision", request.precisions),
            )
            if value is not None
        ]:
            raise PlanError(
                f"--like {request.like} names engine and precision; leave out {', '.join(given)}"
            )
        preset = PRESETS[request.like]
        engines, precisions = (preset.engine,), (preset.precision,)
        channels_last, autograd = False, preset.autograd
    settings = StudySettings(
        models=describe_models(choose_models(request)),
        engines=engines,
        precisions=precisions,
        like=request.like,
        full=request.full,
        channels_last=channels_last,
        autograd=autograd,
    )
    if smoke:
        settings = replace(settings, anchor=SMOKE_ANCHOR, max_batch=SMOKE_MAX_BATCH)
    return settings if request.long_s is None else _shorten(settings, request.long_s)


def choose_models(request: StudyRequest) -> str:
    """Return the text of `--models`, or its default."""
    if request.models is None:
        return SMOKE_MODELS if request.run.smoke else DEFAULT_MODELS
    return request.models


def describe_models(models_text: str) -> str:
    """Return the text of `--models` for study.json, which contains no path."""
    return Path(models_text).name if "/" in models_text else models_text


def _shorten(settings: StudySettings, long_s: float) -> StudySettings:
    """Return the settings with long windows of this length, and others in proportion up to their
    usual length."""
    if not math.isfinite(long_s):
        raise PlanError(f"--long-seconds {long_s}: give a number of seconds")
    share = min(1.0, long_s / METHOD.long_s)
    return replace(
        settings,
        long_s=long_s,
        ladder_s=max(MIN_LADDER_S, share * METHOD.ladder_s),
        burn_in_s=share * METHOD.burn_in_s,
    )


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",")))


def _parse_list(
    option: str, text: str | None, allowed: tuple[str, ...], default: str
) -> tuple[str, ...]:
    """Return the names in the text of an option, which is None if the option is not given."""
    names = split_names(default if text is None else text)
    if unknown := [name for name in names if name not in allowed]:
        raise PlanError(
            f"{option} {text}: there is no {unknown[0]!r}; there are {', '.join(allowed)}"
        )
    return names


def list_entries(
    models_text: str, settings: StudySettings, table: AccuracyTable, seed: int
) -> tuple[StudyEntry, ...]:
    """Return the entries of the models that `models_text` names, in the engines and precisions of
    the settings, in the order of the seed. Raises PlanError."""
    try:
        models = select_models(models_text, table)
    except SelectionError as error:
        raise PlanError(f"--models {error}") from None
    entries = {
        StudyEntry(architecture, size, engine, precision)
        for architecture, size in models
        for engine in settings.engines
        for precision in settings.precisions
    }
    if len(entries) > MAX_WORK:
        raise PlanError(
            f"--models {describe_models(models_text)}: {len(models)} models and sizes in "
            f"{len(settings.engines) * len(settings.precisions)} setups are {len(entries)} "
            f"entries, and a study has at most {MAX_WORK}; measure the setups in several studies"
        )
    return tuple(order_work(entries, seed))


def read_table(path: Path | None) -> AccuracyTable:
    """Read the table of published accuracy that `--accuracy` names, or the shipped one. Raises
    PlanError."""
    try:
        return read_shipped_table() if path is None else read_accuracy_table(path)
    except AccuracyTableError as error:
        raise PlanError(f"--accuracy {error}" if path else str(error)) from None


def make_plan(
    request: StudyRequest,
    settings: StudySettings,
    work: tuple[StudyEntry, ...],
    table: AccuracyTable,
    machine: Machine,
    system: Json,
) -> StudyPlan:
    """Return the plan of a new study on the boards of `machine`."""
    implementation = SIMULATED_MODELS if request.run.simulates_work else REFERENCE_MODELS
    return StudyPlan(
        study_id=make_study_id(machine),
        seed=request.run.seed,
        settings=settings,
        work=work,
        implementation=implementation,
        implementation_sha256=hash_implementation(implementation),
        accuracy_sha256=table.sha256,
        system=system,
        source_sha256=hash_source(),
        accuracy=None if request.accuracy is None else str(request.accuracy.resolve()),
    )


def make_study_id(machine: Machine) -> str:
    """Return a new name for a study: time, study, number of accelerators, cap and six random
    digits."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    cap = "nocap" if machine.cap_w is None else f"{machine.cap_w:.0f}W"
    # The time comes first, so that names sort by it.
    return "-".join((stamp, STUDY, f"x{len(machine.devices)}", cap, secrets.token_hex(3)))


def hash_implementation(name: str) -> str:
    """Return the SHA-256 of the file of an implementation of this program."""
    spec = importlib.util.find_spec(name.partition(":")[0])
    assert spec is not None and spec.origin is not None
    return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()


def estimate_entry_s(settings: StudySettings) -> float:
    """About the time of an entry on an H200, before any is measured."""
    compile_s = COMPILE_S if set(settings.engines) & set(COMPILING_ENGINES) else 0.0
    ladder_s = _count_ladder_sizes(settings) * 2.5 * settings.ladder_s
    return BUILD_S + compile_s + ladder_s + 2.3 * settings.long_s


def _count_ladder_sizes(settings: StudySettings) -> int:
    """About how many batch sizes a ladder has. With `full`, these are all sizes up to the largest;
    the memory of the board allows some models fewer."""
    sizes = settings.max_batch.bit_length()  # batch sizes double from 1
    return sizes if settings.full else min(LADDER_SIZES, sizes)


def estimate_start_s(settings: StudySettings) -> float:
    """About the time of a session before its first entry: idle, burn-in and anchor."""
    return START_S + settings.idle_s + settings.burn_in_s + estimate_entry_s(settings)


def estimate_end_s(settings: StudySettings) -> float:
    """About the time of a session after its last entry: the anchor."""
    return BUILD_S + 1.2 * settings.long_s
