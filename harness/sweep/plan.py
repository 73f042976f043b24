"""The plan of a sweep: which runs, in which order; written down before the first of them and never
changed."""

import json
import random
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

from harness.power.cap_journal import sync_directory
from harness.run.plan import SIMULATED_WORK, SWEEP_SUFFIX, Plan, PlanError, RunRequest
from harness.run.planning import find_implementation, find_workload, hash_file
from harness.system import source_hash
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused
from rules.bundle_format.records import Json
from rules.bundle_format.seal import write_durable

FORMAT = "wattmark-sweep/1"
DEFAULT_CAPS_W = (200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 750.0)
"""The protocol's; a board that allows fewer has those of them that it allows."""
AS_FOUND = "as-found"
ORDER = "random within each repeat"
"""Caps and numbers of accelerators are shuffled, so that the drift of temperature and room does not
line up with the cap."""
PATHS = ("system", "corpus", "weights")
HASHED = ("system", "corpus")
"""Files of a run request whose content the bundles depend on. Weights are not hashed, because they
are many GB; the bundles of a sweep are compared for them."""
MAX_CAPS = 100
LAST_SEED = 2**32 - 1
MAX_CAP_W = 100_000
START_S = {"full": 60.0, "smoke": 10.0}
"""Assumed before the first run has ended: to build, warm up and calibrate. Compiling a large model
takes longer."""


@dataclass(frozen=True)
class Entry:
    """One run of a sweep."""

    place: int
    """In the order of the sweep, from 1."""
    gpus: int
    cap_w: float | None
    """Per accelerator; None is the cap that is found."""
    repeat: int
    """From 1."""

    def __str__(self) -> str:
        cap = "cap as found" if self.cap_w is None else f"{self.cap_w:g} W"
        return f"{cap}, {self.gpus} GPU{'s' if self.gpus > 1 else ''}, repeat {self.repeat}"


@dataclass(frozen=True)
class Sweep:
    """A sweep as planned. Written to `OUT/ID.sweep.json` before its first run and never changed."""

    id: str
    source_sha256: str
    """Over the code that is to run."""
    implementation_sha256: str | None
    """Of the file of a submitter's own implementation."""
    order: str
    meter: str
    accelerator: str
    """The name of the board."""
    files_sha256: Mapping[str, str]
    """Of the files in `HASHED` that the run request names."""
    run_request: RunRequest
    """What every run has in common; its accelerators and its cap are those of an entry."""
    entries: tuple[Entry, ...]

    def label(self, entry: Entry) -> Json:
        """What the bundle of an entry says of its sweep."""
        place = {"place": entry.place, "of": len(self.entries), "repeat": entry.repeat}
        return {"id": self.id, **place, "order": self.order, "seed": self.run_request.seed}

    def run_request_of(self, entry: Entry) -> RunRequest:
        """Each repeat has a seed of its own, so that the repeats show what depends on it."""
        seed = self.run_request.seed + entry.repeat - 1
        return replace(
            self.run_request, gpus=entry.gpus, cap_w=entry.cap_w, seed=seed, sweep=self.label(entry)
        )

    def save(self, out: Path) -> Path:
        """Write the plan to `out` so that a power cut leaves it whole or absent. Raises PlanError
        where that cannot be done."""
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
            raise PlanError(
                f"--out {out}: cannot be written ({error.strerror}); name a directory that can"
            ) from None
        return path

    @staticmethod
    def load(path: Path) -> "Sweep":
        """The plan in a file. Raises PlanError where there is none or it cannot be read."""
        try:
            # People may edit the file. The same schema check as for bundles finds what they
            # damaged.
            stored = read_document(path.name, path.read_bytes(), FORMAT)
        except FileNotFoundError:
            raise PlanError(
                f"{path}: there is no such file; --resume takes the plan of a sweep, "
                f"OUT/SWEEP{SWEEP_SUFFIX}"
            ) from None
        except IsADirectoryError:
            raise PlanError(
                f"{path}: is a directory; --resume takes the plan of a sweep, a file "
                f"SWEEP{SWEEP_SUFFIX}"
            ) from None
        except OSError as error:
            raise PlanError(
                f"{path}: the plan of a sweep cannot be read from it ({error.strerror})"
            ) from None
        except Refused as refused:
            wrong = refused.problems[0].violation
            detail = f"{wrong.pointer or 'the file'} is {wrong.found}, expected {wrong.expected}"
            raise PlanError(
                f"{path}: the plan of a sweep cannot be read from it ({detail}); start the sweep "
                "anew"
            ) from None
        del stored["format"]
        run_request, entries = stored.pop("wish"), tuple(Entry(**e) for e in stored.pop("entries"))
        # Bundles name their entry by its place, so a moved or missing entry would mix up runs.
        if [e.place for e in entries] != list(range(1, len(entries) + 1)):
            raise PlanError(
                f"{path}: its entries are not in the places 1 to {len(entries)}; start the "
                "sweep anew"
            )
        paths = {name: run_request[name] and Path(run_request[name]) for name in PATHS}
        return Sweep(
            **stored,
            run_request=RunRequest(
                **{**run_request, **paths, "options": tuple(run_request["options"])}
            ),
            entries=entries,
        )


def parse_caps(text: str) -> tuple[float | None, ...]:
    """The caps in W that `200:700:100` (both ends included), `200,300` or `as-found` means, the
    last as (None,).

    Raises PlanError.
    """
    if text == AS_FOUND:
        return (None,)
    try:
        if ":" in text:
            # Decimal: with floats, a step such as 0.1 would not meet the end of the range.
            first, last, step = map(_parse_watts, text.split(":"))
            if not (step > 0 and first <= last):
                raise PlanError(
                    f"--caps {text}: in A:B:STEP, B is not below A and STEP is above zero"
                )
            if rest := (last - first) % step:
                raise PlanError(
                    f"--caps {text}: {step} W a step from {first} W does not meet {last} "
                    f"W; end at {last - rest} W"
                )
            # Checked before the list is made, because a tiny step would fill the memory.
            if (last - first) // step >= MAX_CAPS:
                raise PlanError(f"--caps {text}: these are more than {MAX_CAPS} caps")
            caps = [first + i * step for i in range(int((last - first) // step) + 1)]
        else:
            caps = [_parse_watts(part) for part in text.split(",")]
    except (InvalidOperation, ValueError):
        raise PlanError(
            f"--caps {text}: give watts as 200:700:100, as 200,300,400, or {AS_FOUND}"
        ) from None
    if wrong := [cap for cap in caps if not 0 < cap < MAX_CAP_W]:
        raise PlanError(f"--caps {text}: no accelerator has a cap of {wrong[0]} W")
    if len(set(caps)) < len(caps):
        raise PlanError(f"--caps {text}: a cap is named twice; --repeat N runs every cap N times")
    return tuple(float(cap) for cap in caps)


def _parse_watts(text: str) -> Decimal:
    # Decimal reads "NaN" and "Infinity" too.
    value = Decimal(text)
    if not value.is_finite():
        raise ValueError(f"{text} is no number of watts")
    return value


def parse_gpus(text: str) -> tuple[int, ...]:
    """The numbers of accelerators that `1,2,4` means. Raises PlanError."""
    parts = text.split(",")
    if not all(re.fullmatch(r"[1-9][0-9]{0,3}", part) for part in parts) or len(set(parts)) < len(
        parts
    ):
        raise PlanError(f"--gpus {text}: give numbers of accelerators, each once, as 1 or 1,2,4")
    return tuple(int(part) for part in parts)


def shuffle_runs(
    caps_w: Sequence[float | None], gpus: Sequence[int], repeats: int, seed: int
) -> tuple[Entry, ...]:
    """The runs in the order that they are to be made, by `ORDER`. Raises PlanError where there are
    not seeds for all repeats."""
    # Each repeat takes the next seed.
    if seed + repeats - 1 > LAST_SEED:
        raise PlanError(
            f"--seed {seed} --repeat {repeats}: each repeat takes the next seed, and the "
            f"last one is {LAST_SEED}; "
            f"name a seed of at most {LAST_SEED - repeats + 1}"
        )
    # From the seed, so that the Slurm script and a dry run show the order of the sweep itself.
    chance = random.Random(seed)
    runs: list[tuple[int, int, float | None]] = []
    for repeat in range(1, repeats + 1):
        of_this = [(repeat, count, cap_w) for count in gpus for cap_w in caps_w]
        chance.shuffle(of_this)
        runs += of_this
    return tuple(
        Entry(place, count, cap_w, repeat) for place, (repeat, count, cap_w) in enumerate(runs, 1)
    )


def common(run_request: RunRequest) -> RunRequest:
    """Return the run request with absolute paths. Raises PlanError for an option that the runs of
    a sweep cannot share."""
    find_workload(run_request)
    # Runs with different batches could not be compared over caps.
    if run_request.batch == "auto":
        raise PlanError(
            "--batch auto: the runs of a sweep need one batch; find it with bench-submit "
            "run, then name it"
        )
    paths = {
        name: path.resolve() for name in PATHS if (path := getattr(run_request, name)) is not None
    }
    if missing := [f"--{name} {path}" for name, path in paths.items() if not path.exists()]:
        raise PlanError(f"{missing[0]}: there is nothing of that name")
    return replace(run_request, **paths)


def plan_of(run_request: RunRequest, entries: tuple[Entry, ...], plan: Plan) -> Sweep:
    """The sweep of these entries, with a name of its own; `plan` is that of any of its runs."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    # The time comes first, so that sweeps in one directory sort by age. The random part separates
    # sweeps that start in the same second.
    name = f"{stamp}-{run_request.workload}-{run_request.variant}-{secrets.token_hex(3)}"
    run_request = common(run_request)
    return Sweep(
        name,
        *code_of(run_request),
        ORDER,
        plan.meter,
        plan.devices[0].name,
        hashes(run_request),
        run_request,
        entries,
    )


def hashes(run_request: RunRequest) -> dict[str, str]:
    """Return the SHA-256 of the files in `HASHED` that a run request names. Raises PlanError if one
    cannot be read."""
    named = {name: path for name in HASHED if (path := getattr(run_request, name)) is not None}
    try:
        return {name: hash_file(path) for name, path in named.items()}
    except OSError as error:
        raise PlanError(f"{error.filename}: cannot be read ({error.strerror})") from None


def code_of(run_request: RunRequest) -> tuple[str, str | None]:
    """The hash of the project's code, and the hash of the submitter's own implementation file.
    Raises PlanError if that file is missing."""
    _, implementation_sha256 = find_implementation(
        SIMULATED_WORK if run_request.simulates_work else run_request.implementation,
        find_workload(run_request),
    )
    return source_hash(), implementation_sha256


def start_s(run_request: RunRequest) -> float:
    """The assumed time of a run before its first epoch."""
    return START_S[run_request.size]
