"""The plan of a sweep: its runs and their order. The plan is written before the first run starts
and never changes."""

import json
import random
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

from harness.checks import TargetError
from harness.errors import PlanError
from harness.run.export import parse_target
from harness.run.plan import SIMULATED_WORK, SWEEP_SUFFIX, Plan, RunRequest
from harness.run.planning import find_implementation, find_workload
from harness.sweep.axis import AXES, CAP, GPUS, Axis, Value
from harness.system import hash_source
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused
from rules.bundle_format.records import Json
from rules.bundle_format.seal import sync_directory, write_durable
from rules.input_hash import hash_file

FORMAT = "wattmark-sweep/1"
DEFAULT_CAPS_W = (200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 750.0)
"""The caps of the protocol. A sweep uses those that its boards allow."""
ORDER = "random within each repeat"
"""The order of runs. The values of all axes are shuffled, so that temperature drift does not
correlate with them."""
PATH_FIELDS = ("system", "meters", "corpus", "weights")
HASHED_FIELDS = ("system", "corpus")
"""Fields of a run request that name files whose content must not change during a sweep. Weights are
many GB and are not hashed. Instead, the weights in the bundles of a sweep are compared."""
LAST_SEED = 2**32 - 1
START_S = {"full": 60.0, "smoke": 10.0}
"""The assumed time in s of a run before its first epoch, by size: to build, warm up and calibrate.
Compiling a large model takes longer."""


@dataclass(frozen=True)
class Entry:
    """One run of a sweep. A setting that is None is that of the run request of the sweep."""

    place: int
    """The position in the order of the sweep, from 1."""
    repeat: int
    """Counted from 1."""
    gpus: int = 1
    cap_w: float | None = None
    """Per accelerator. None leaves the cap as found."""
    sm_clock_mhz: int | None = None
    """The SM clock at which the run locks the accelerators. None locks none."""
    cpu_threads: int | None = None
    """The CPU threads of each worker."""
    batch: int | None = None
    """Samples per batch; for serving, requests in flight."""
    variant: str | None = None
    precision: str | None = None
    """Stands for a variant (`harness.sweep.axis.select_variant`)."""

    def apply(self, run_request: RunRequest) -> RunRequest:
        """Return the run request with the settings of this run. Raises PlanError."""
        for axis in AXES.values():
            if (value := getattr(self, axis.field)) is not None:
                run_request = axis.apply(run_request, value)
        return run_request


@dataclass(frozen=True)
class Sweep:
    """A sweep as planned. The file is `OUT/ID.sweep.json`."""

    id: str
    source_sha256: str
    """The hash of the project's code (see `harness.system.hash_source`)."""
    implementation_sha256: str | None
    """The hash of the submitter's own implementation file, if there is one."""
    order: str
    meter: str
    accelerator: str
    """The name of the board."""
    files_sha256: Mapping[str, str]
    """The hashes of the files that the run request names, by field in `HASHED_FIELDS`."""
    run_request: RunRequest
    """What all runs share. Each entry gives the other settings of its run."""
    entries: tuple[Entry, ...]
    axis_names: tuple[str, ...] = (CAP.name,)
    """The axes that the sweep varies, by name."""
    reference: Mapping[str, Value] = field(default_factory=dict)
    """The value of each axis, by name, that the others are compared with. A cap that is absent is
    the default cap of the board."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes that the sweep varies, with their values in ascending order."""
        return tuple(
            axis.take(*_list_values(self.entries, axis))
            for axis in (AXES[name] for name in self.axis_names)
        )

    def make_label(self, entry: Entry) -> Json:
        """Return the object `sweep` in the result of an entry's bundle."""
        place = {"place": entry.place, "of": len(self.entries), "repeat": entry.repeat}
        label = {"id": self.id, **place, "order": self.order, "seed": self.run_request.seed}
        references = {"reference": dict(self.reference)} if self.reference else {}
        return {**label, "axes": list(self.axis_names), **references}

    def describe(self, entry: Entry) -> str:
        """Return the settings of a run as text, such as `300 W, 2 GPUs, repeat 1`."""
        axes = [
            axis for axis in AXES.values() if axis in (CAP, GPUS) or axis.name in self.axis_names
        ]
        settings = [axis.label(getattr(entry, axis.field)) for axis in axes]
        return ", ".join((*settings, f"repeat {entry.repeat}"))

    def make_run_request(self, entry: Entry) -> RunRequest:
        """Return the run request of an entry. Each repeat has its own seed, so that the repeats
        show how much the figures depend on the seed."""
        run_request = replace(
            self.run_request,
            seed=self.run_request.seed + entry.repeat - 1,
            sweep=self.make_label(entry),
        )
        return entry.apply(run_request)

    def save(self, out: Path) -> Path:
        """Write the plan to a file in `out` and return its path. After a power cut the file is
        complete or absent. Raises TargetError if `out` cannot be written."""
        path = out / f"{self.id}{SWEEP_SUFFIX}"
        try:
            out.mkdir(parents=True, exist_ok=True)
            fields = asdict(self)
            # Format 1 of the file calls the run request `wish`.
            fields["wish"] = fields.pop("run_request")
            fields["axes"] = fields.pop("axis_names")
            write_durable(
                path, json.dumps({"format": FORMAT, **fields}, indent=1, default=str).encode()
            )
            # The new directory entry must be on disk too, before the first run starts.
            sync_directory(out)
        except OSError as error:
            raise TargetError(
                f"--out {out}: cannot be written ({error.strerror}); give a writable directory"
            ) from None
        return path

    @staticmethod
    def load(path: Path) -> "Sweep":
        """Read a plan from a file. Raises PlanError if the file is missing or cannot be read."""
        try:
            # People may edit the file, so it gets the same schema check as a bundle.
            document = read_document(path.name, path.read_bytes(), FORMAT)
        except FileNotFoundError:
            raise PlanError(
                f"{path}: the file does not exist; --resume takes the plan of a sweep, "
                f"OUT/SWEEP{SWEEP_SUFFIX}"
            ) from None
        except IsADirectoryError:
            raise PlanError(
                f"{path}: this is a directory; --resume takes the plan of a sweep, a file "
                f"SWEEP{SWEEP_SUFFIX}"
            ) from None
        except OSError as error:
            raise PlanError(
                f"{path}: the plan of the sweep cannot be read ({error.strerror})"
            ) from None
        except Refused as refused:
            problem = refused.problems[0].violation
            detail = (
                f"{problem.pointer or 'the file'} is {problem.found}, expected {problem.expected}"
            )
            raise PlanError(
                f"{path}: the plan of the sweep cannot be read ({detail}); start a new sweep"
            ) from None
        del document["format"]
        run_request, entries = (
            document.pop("wish"),
            tuple(Entry(**e) for e in document.pop("entries")),
        )
        # Bundles name their entry by its place, so a moved or missing entry would mix up runs.
        if [e.place for e in entries] != list(range(1, len(entries) + 1)):
            raise PlanError(
                f"{path}: the entries do not have the places 1 to {len(entries)}, in this order; "
                "start a new sweep"
            )
        paths = {
            name: Path(path) if (path := run_request.get(name)) else None for name in PATH_FIELDS
        }
        # Earlier versions varied caps and numbers of accelerators only, and did not name them.
        axis_names = tuple(document.pop("axes", ())) or _find_old_axes(entries)
        return Sweep(
            **document,
            axis_names=axis_names,
            run_request=RunRequest(
                **{**run_request, **paths, "options": tuple(run_request["options"])}
            ),
            entries=entries,
        )


def shuffle_runs(axes: Sequence[Axis], repeats: int, seed: int) -> tuple[Entry, ...]:
    """Return the runs of a sweep over all values of these axes in the order `ORDER`. Raises
    PlanError if there are not enough seeds for all repeats."""
    # Each repeat takes the next seed.
    if seed + repeats - 1 > LAST_SEED:
        raise PlanError(
            f"--seed {seed} --repeat {repeats}: each repeat takes the next seed, and the "
            f"highest seed is {LAST_SEED}; "
            f"give a seed of at most {LAST_SEED - repeats + 1}"
        )
    # Seeded, so that the Slurm script and a dry run show the order that the sweep will use.
    generator = random.Random(seed)
    fields = [axis.field for axis in reversed(axes)]
    settings = list(product(*(axis.values for axis in reversed(axes))))
    runs: list[tuple[int, tuple[Value, ...]]] = []
    for repeat in range(1, repeats + 1):
        repeat_runs = [(repeat, values) for values in settings]
        generator.shuffle(repeat_runs)
        runs += repeat_runs
    return tuple(
        Entry(place, repeat, **dict(zip(fields, values, strict=True)))  # type: ignore[arg-type]
        for place, (repeat, values) in enumerate(runs, 1)
    )


def resolve_run_request(run_request: RunRequest) -> RunRequest:
    """Return the run request with absolute paths. Raises PlanError if a path does not exist, or if
    --export names no target."""
    find_workload(run_request)
    paths = {
        name: path.resolve()
        for name in PATH_FIELDS
        if (path := getattr(run_request, name)) is not None
    }
    if missing_paths := [f"--{name} {path}" for name, path in paths.items() if not path.exists()]:
        raise PlanError(f"{missing_paths[0]}: the path does not exist")
    export = run_request.export
    return replace(run_request, **paths, export=export and str(parse_target(export)))


def _find_old_axes(entries: Sequence[Entry]) -> tuple[str, ...]:
    names = [axis.name for axis in (CAP, GPUS) if len(_list_values(entries, axis)) > 1]
    return tuple(names) or (CAP.name,)


def _list_values(entries: Iterable[Entry], axis: Axis) -> tuple[Value, ...]:
    """Return the values of an axis, each once, in ascending order."""
    values = {getattr(entry, axis.field) for entry in entries}
    return tuple(sorted(values, key=lambda value: (value is not None, value)))


def make_sweep(
    run_request: RunRequest,
    entries: tuple[Entry, ...],
    plan: Plan,
    axis_names: tuple[str, ...] = (CAP.name,),
    reference: Mapping[str, Value] | None = None,
) -> Sweep:
    """Make a sweep of these entries with a new id. `plan` is the plan of any of its runs, for the
    meter and the board."""
    run_request = resolve_run_request(run_request)
    return Sweep(
        make_sweep_id(run_request),
        *hash_code(run_request),
        ORDER,
        plan.meter,
        plan.devices[0].name,
        hash_files(run_request),
        run_request,
        entries,
        axis_names,
        reference or {},
    )


def make_sweep_id(run_request: RunRequest) -> str:
    """Return a new name for a sweep."""
    timestamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    # The time comes first, so that sweeps in one directory sort by age. The random part separates
    # sweeps that start in the same second.
    return f"{timestamp}-{run_request.workload}-{run_request.variant}-{secrets.token_hex(3)}"


def hash_files(run_request: RunRequest) -> dict[str, str]:
    """Return the SHA-256 of the files that a run request names, by field in `HASHED_FIELDS`. Raises
    PlanError if one cannot be read."""
    paths = {
        name: path for name in HASHED_FIELDS if (path := getattr(run_request, name)) is not None
    }
    try:
        return {name: hash_file(path) for name, path in paths.items()}
    except OSError as error:
        raise PlanError(f"{error.filename}: cannot be read ({error.strerror})") from None


def hash_code(run_request: RunRequest) -> tuple[str, str | None]:
    """Return the SHA-256 of the project's code, and that of the submitter's own implementation
    file if there is one. Raises PlanError if that file is missing."""
    _, implementation_sha256 = find_implementation(
        SIMULATED_WORK if run_request.simulates_work else run_request.implementation,
        find_workload(run_request),
    )
    return hash_source(), implementation_sha256


def estimate_start_s(run_request: RunRequest) -> float:
    """Return the assumed time in s of a run before its first epoch."""
    return START_S[run_request.size]
