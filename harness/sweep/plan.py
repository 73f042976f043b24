"""The plan of a sweep: its runs and their order. The plan is written before the first run starts
and never changes."""

import json
import random
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

from harness.checks import TargetError
from harness.run.plan import SIMULATED_WORK, SWEEP_SUFFIX, Plan, PlanError, RunRequest
from harness.run.planning import find_implementation, find_workload, hash_file
from harness.system import hash_source
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused
from rules.bundle_format.records import Json
from rules.bundle_format.seal import sync_directory, write_durable

FORMAT = "wattmark-sweep/1"
DEFAULT_CAPS_W = (200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 750.0)
"""The caps of the protocol. A sweep uses those that its boards allow."""
AS_FOUND = "as-found"
ORDER = "random within each repeat"
"""The order of runs. Caps and numbers of accelerators are shuffled, so that temperature drift does
not correlate with the cap."""
PATH_FIELDS = ("system", "meters", "corpus", "weights")
HASHED_FIELDS = ("system", "corpus")
"""Fields of a run request that name files whose content must not change during a sweep. Weights are
many GB and are not hashed. Instead, the weights in the bundles of a sweep are compared."""
MAX_CAPS = 100
LAST_SEED = 2**32 - 1
MAX_CAP_W = 100_000
START_S = {"full": 60.0, "smoke": 10.0}
"""The assumed time in s of a run before its first epoch, by size: to build, warm up and calibrate.
Compiling a large model takes longer."""


@dataclass(frozen=True)
class Entry:
    """One run of a sweep."""

    place: int
    """The position in the order of the sweep, from 1."""
    gpus: int
    cap_w: float | None
    """Per accelerator. None leaves the cap as found."""
    repeat: int
    """Counted from 1."""

    def __str__(self) -> str:
        cap = "cap as found" if self.cap_w is None else f"{self.cap_w:g} W"
        return f"{cap}, {self.gpus} GPU{'s' if self.gpus > 1 else ''}, repeat {self.repeat}"


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
    """What all runs share. Each entry gives the accelerators and the cap of its run."""
    entries: tuple[Entry, ...]

    def make_label(self, entry: Entry) -> Json:
        """Return the object `sweep` in the result of an entry's bundle."""
        place = {"place": entry.place, "of": len(self.entries), "repeat": entry.repeat}
        return {"id": self.id, **place, "order": self.order, "seed": self.run_request.seed}

    def make_run_request(self, entry: Entry) -> RunRequest:
        """Return the run request of an entry. Each repeat has its own seed, so that the repeats
        show how much the figures depend on the seed."""
        seed = self.run_request.seed + entry.repeat - 1
        return replace(
            self.run_request,
            gpus=entry.gpus,
            cap_w=entry.cap_w,
            seed=seed,
            sweep=self.make_label(entry),
        )

    def save(self, out: Path) -> Path:
        """Write the plan to a file in `out` and return its path. After a power cut the file is
        complete or absent. Raises TargetError if `out` cannot be written."""
        path = out / f"{self.id}{SWEEP_SUFFIX}"
        try:
            out.mkdir(parents=True, exist_ok=True)
            fields = asdict(self)
            # Format 1 of the file calls the run request `wish`.
            fields["wish"] = fields.pop("run_request")
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
        return Sweep(
            **document,
            run_request=RunRequest(
                **{**run_request, **paths, "options": tuple(run_request["options"])}
            ),
            entries=entries,
        )


def parse_caps(text: str) -> tuple[float | None, ...]:
    """Parse caps in W: a range such as `200:700:100`, both ends included, a list such as `200,300`,
    or `as-found`, which gives (None,). Raises PlanError."""
    if text == AS_FOUND:
        return (None,)
    try:
        if ":" in text:
            # Decimal: with floats, a step such as 0.1 would not meet the end of the range.
            first, last, step = map(_parse_watts, text.split(":"))
            if not (step > 0 and first <= last):
                raise PlanError(
                    f"--caps {text}: in A:B:STEP, B must not be below A, and STEP must be above 0"
                )
            if remainder_w := (last - first) % step:
                raise PlanError(
                    f"--caps {text}: steps of {step} W from {first} W do not reach {last} W "
                    f"exactly; end at {last - remainder_w} W"
                )
            # Check before making the list, because the list of a tiny step would fill the memory.
            if (last - first) // step >= MAX_CAPS:
                raise PlanError(f"--caps {text}: a sweep has at most {MAX_CAPS} caps")
            caps = [first + i * step for i in range(int((last - first) // step) + 1)]
        else:
            caps = [_parse_watts(part) for part in text.split(",")]
    except (InvalidOperation, ValueError):
        raise PlanError(
            f"--caps {text}: give caps in W as 200:700:100 or 200,300,400, or {AS_FOUND}"
        ) from None
    if refused_caps := [cap for cap in caps if not 0 < cap < MAX_CAP_W]:
        raise PlanError(
            f"--caps {text}: a cap must be above 0 and below {MAX_CAP_W} W, found "
            f"{refused_caps[0]} W"
        )
    if len(set(caps)) < len(caps):
        raise PlanError(f"--caps {text}: a cap occurs twice; to repeat runs, use --repeat N")
    return tuple(float(cap) for cap in caps)


def _parse_watts(text: str) -> Decimal:
    # Decimal reads "NaN" and "Infinity" too.
    value = Decimal(text)
    if not value.is_finite():
        raise ValueError(f"{text} is not a finite number")
    return value


def parse_gpus(text: str) -> tuple[int, ...]:
    """Parse numbers of accelerators such as `1,2,4`. Raises PlanError."""
    parts = text.split(",")
    if not all(re.fullmatch(r"[1-9][0-9]{0,3}", part) for part in parts) or len(set(parts)) < len(
        parts
    ):
        raise PlanError(f"--gpus {text}: give distinct numbers of accelerators, as 1 or 1,2,4")
    return tuple(int(part) for part in parts)


def shuffle_runs(
    caps_w: Sequence[float | None], gpus: Sequence[int], repeats: int, seed: int
) -> tuple[Entry, ...]:
    """Return the runs of a sweep in the order `ORDER`. Raises PlanError if there are not enough
    seeds for all repeats."""
    # Each repeat takes the next seed.
    if seed + repeats - 1 > LAST_SEED:
        raise PlanError(
            f"--seed {seed} --repeat {repeats}: each repeat takes the next seed, and the "
            f"highest seed is {LAST_SEED}; "
            f"give a seed of at most {LAST_SEED - repeats + 1}"
        )
    # Seeded, so that the Slurm script and a dry run show the order that the sweep will use.
    generator = random.Random(seed)
    runs: list[tuple[int, int, float | None]] = []
    for repeat in range(1, repeats + 1):
        repeat_runs = [(repeat, count, cap_w) for count in gpus for cap_w in caps_w]
        generator.shuffle(repeat_runs)
        runs += repeat_runs
    return tuple(
        Entry(place, count, cap_w, repeat) for place, (repeat, count, cap_w) in enumerate(runs, 1)
    )


def resolve_run_request(run_request: RunRequest) -> RunRequest:
    """Return the run request with absolute paths. Raises PlanError for an option that the runs of
    a sweep cannot share."""
    find_workload(run_request)
    # Runs with different batches could not be compared over caps.
    if run_request.batch == "auto":
        raise PlanError(
            "--batch auto: all runs of a sweep need the same batch size; find it with "
            "bench-submit run, then give it as a number"
        )
    paths = {
        name: path.resolve()
        for name in PATH_FIELDS
        if (path := getattr(run_request, name)) is not None
    }
    if missing_paths := [f"--{name} {path}" for name, path in paths.items() if not path.exists()]:
        raise PlanError(f"{missing_paths[0]}: the path does not exist")
    return replace(run_request, **paths)


def make_sweep(run_request: RunRequest, entries: tuple[Entry, ...], plan: Plan) -> Sweep:
    """Make a sweep of these entries with a new id. `plan` is the plan of any of its runs, for the
    meter and the board."""
    timestamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    # The time comes first, so that sweeps in one directory sort by age. The random part separates
    # sweeps that start in the same second.
    name = f"{timestamp}-{run_request.workload}-{run_request.variant}-{secrets.token_hex(3)}"
    run_request = resolve_run_request(run_request)
    return Sweep(
        name,
        *hash_code(run_request),
        ORDER,
        plan.meter,
        plan.devices[0].name,
        hash_files(run_request),
        run_request,
        entries,
    )


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
