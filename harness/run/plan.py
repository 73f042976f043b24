"""The plan of a run: all decisions before it starts. It is written first and never changed."""

import hashlib
import importlib.util
import json
import math
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.power.source import Device
from harness.power.sources import source_class
from rules.bundle_format.records import Json
from rules.bundle_format.seal import write_durable
from rules.contract import RequestSet
from rules.protocol import CURRENT
from rules.workloads import Workload, workloads

# Longer than the protocol asks for, because an epoch does not last exactly as long as calibrated.
FULL_EPOCH_S = 31.5
SMOKE_EPOCH_S = 1.5
PLAN_FILE = "plan.json"
SWEEP_SUFFIX = ".sweep.json"
"""How the name of a sweep's plan ends. A run knows it to tell users which --resume they need."""
SIMULATED_WORK = "harness.simulation.work:build"


class PlanError(Exception):
    """The requested run is not possible. The message says why and what to do."""


@dataclass(frozen=True)
class RunRequest:
    """The run that the command line asks for."""

    workload: str
    variant: str = "tuned"
    batch: str | None = None
    """A number of samples, `auto` for the highest stable one, None for the workload's own."""
    gpus: int = 1
    nodes: int = 1
    node: int = 0
    head: str | None = None
    """`HOST:PORT` where the nodes meet."""
    cap_w: float | None = None
    """The cap to run at, set for the run if another one is in force. None keeps the present cap."""
    smoke: bool = False
    meter: str | None = None
    """`NAME` or `NAME:ARGUMENT` of the power source; None chooses one that can be used here."""
    simulate: str | None = None
    epoch_s: float | None = None
    seed: int = 1
    system: Path | None = None
    implementation: str | None = None
    """`module:function` of the submitter's own code."""
    corpus: Path | None = None
    weights: Path | None = None
    options: tuple[str, ...] = ()
    """`KEY=VALUE` for the implementation."""
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    rate_per_s: float | None = None
    sweep: Json | None = None
    """Which run of which sweep this is; see `Plan.sweep`."""

    @property
    def simulates_work(self) -> bool:
        """Whether the work is simulated too, and not only the accelerators."""
        return self.simulate is not None and not self.smoke and self.implementation is None

    @property
    def size(self) -> str:
        return "smoke" if self.smoke or self.simulates_work else "full"


@dataclass(frozen=True)
class Machine:
    """The meter of this node and the accelerators to use."""

    meter: str
    torch_device: str
    driver: str | None
    devices: tuple[Device, ...]
    state: str | None
    cap_w: float | None
    """The cap to run at; `found_mw` and `found_state` as in `Plan`."""
    found_mw: Mapping[str, int] | None = None
    found_state: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Plan:
    """One run. Written to `plan.json`, read by the workers, repeated by `--resume`."""

    run_id: str
    workload: str
    variant: str
    size: str
    implementation: str
    """`module:function`"""
    standing: str
    batch_size: int
    seed: int
    epochs: int
    epoch_s: float
    """Target length of an epoch. The number of batches is calibrated to it."""
    meter: str
    torch_device: str
    """`cuda` or `cpu`"""
    processes: int
    """The number of workers on this node: one for each accelerator, or a single one of a server."""
    devices: tuple[Device, ...]
    """Of this node."""
    state: str | None
    cap_w: float | None
    """The declared power cap of every accelerator."""
    implementation_sha256: str | None
    """Of the file of a submitter's own implementation."""
    source_sha256: str
    """Over the code that is to run (see `harness.system.source_hash`)."""
    driver: str | None = None
    system: Json = field(default_factory=dict)
    requests: RequestSet | None = None
    """What a server is sent; its `concurrency` is the batch size."""
    corpus: str | None = None
    weights: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the implementation."""
    batch_search: tuple[Json, ...] | None = None
    """The trials of the batch search. Empty before the search runs, None without a search."""
    attempt: int = 1
    nodes: int = 1
    node: int = 0
    """The number of this node; the head is 0."""
    head: str | None = None
    found_mw: Mapping[str, int] | None = None
    """The limit in mW that each accelerator had before the run. None if the run sets no cap."""
    found_state: Mapping[str, str] | None = None
    """The former power state of each accelerator whose state the run sets. None if it sets none."""
    sweep: Json | None = None
    """Which run of which sweep this is (`sweep` of result.json). None outside a sweep."""

    @property
    def node_name(self) -> str:
        """The name of this node in the bundle, which has no host names."""
        return f"node{self.node}"

    @property
    def scale(self) -> str:
        """The size of the work as text for messages."""
        return "simulated work" if self.implementation == SIMULATED_WORK else f"{self.size} size"

    @property
    def ranks(self) -> range:
        """The ranks of this node's processes."""
        return range(self.node * self.processes, (self.node + 1) * self.processes)

    def save(self, directory: Path) -> None:
        """Write the plan to `directory`. If that fails, an earlier plan stays unchanged. Raises
        OSError."""
        write_durable(directory / PLAN_FILE, (json.dumps(asdict(self), indent=1) + "\n").encode())

    @staticmethod
    def load(directory: Path) -> "Plan":
        """The plan in `directory`. Raises PlanError where there is none or it cannot be read."""
        path = directory / PLAN_FILE
        try:
            stored = json.loads(path.read_text())
            devices = tuple(Device(**d) for d in stored.pop("devices"))
            search, requests = stored.pop("batch_search"), stored.pop("requests")
            return Plan(
                **stored,
                devices=devices,
                batch_search=None if search is None else tuple(search),
                requests=None if requests is None else RequestSet(**requests),
            )
        except FileNotFoundError:
            advice = (
                "an unfinished run is the hidden directory .RUN_ID.running beside where its "
                "bundle would be"
            )
            raise PlanError(f"{directory}: no plan of a run there; {advice}") from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise PlanError(f"{path}: the plan of the run cannot be read ({error})") from None

    def again(self) -> "Plan":
        """The plan of the next attempt at the same run."""
        return replace(self, attempt=self.attempt + 1)

    def for_batch(self, batch_size: int) -> "Plan":
        """The plan of a trial of another batch size: build, warm up, calibrate, and no epoch."""
        return replace(self.with_batch(batch_size), epochs=0)

    def with_batch(self, batch_size: int) -> "Plan":
        """The plan with another batch size. For a server it is the number of requests in flight."""
        requests = self.requests and replace(self.requests, concurrency=batch_size)
        return replace(self, batch_size=batch_size, requests=requests)


def workload_of(run_request: RunRequest) -> Workload:
    """Return the requested workload. Raises PlanError if there is none, or if nothing runs it as
    requested."""
    available = workloads()
    name = run_request.workload
    if name not in available:
        raise PlanError(f"there is no workload {name!r}; there are {', '.join(available)}")
    workload = available[name]
    if workload.implementation is None and run_request.implementation is None:
        raise PlanError(
            f"{name} is defined, but has no reference implementation yet; name your own "
            "with --implementation"
        )
    if run_request.variant not in workload.variants:
        raise PlanError(
            f"{name} has no variant {run_request.variant!r}; it has {', '.join(workload.variants)}"
        )
    if run_request.size == "smoke" and workload.smoke is None:
        raise PlanError(f"{name} has no smoke size")
    return workload


def make_plan(run_request: RunRequest, machine: Machine, system: Json, source_sha256: str) -> Plan:
    """Plan the requested run on this machine.

    The batch size and the length of an epoch are the workload's unless the request names them.

    Raises PlanError, which names the option, the value and what to do, and MeterError if the source
    of the meter cannot be loaded.
    """
    workload = workload_of(run_request)
    _check_options(run_request, workload)
    batch_size = _parse_batch(run_request.batch) or default_batch_size(
        workload, run_request.size, run_request.variant, len(machine.devices)
    )
    implementation, sha256 = implementation_of(
        SIMULATED_WORK if run_request.simulates_work else run_request.implementation, workload
    )
    plan = Plan(
        run_id=_make_run_id(run_request, machine),
        workload=workload.id,
        variant=run_request.variant,
        size=run_request.size,
        implementation=implementation,
        standing="demo",
        batch_size=batch_size,
        seed=run_request.seed,
        epochs=CURRENT.epochs,
        epoch_s=run_request.epoch_s
        or (SMOKE_EPOCH_S if run_request.size == "smoke" else FULL_EPOCH_S),
        meter=machine.meter,
        torch_device=machine.torch_device,
        processes=1 if workload.mode == "inference" else len(machine.devices),
        devices=machine.devices,
        state=machine.state,
        cap_w=machine.cap_w,
        implementation_sha256=sha256,
        source_sha256=source_sha256,
        driver=machine.driver,
        system=system,
        requests=_make_request_set(run_request, workload, batch_size),
        corpus=_resolve_path("--corpus", run_request.corpus),
        weights=_resolve_path("--weights", run_request.weights),
        options=_parse_options(run_request.options),
        batch_search=() if run_request.batch == "auto" else None,
        nodes=run_request.nodes,
        node=run_request.node,
        head=run_request.head,
        found_mw=machine.found_mw,
        found_state=machine.found_state,
        sweep=run_request.sweep,
    )
    return replace(plan, standing=_find_standing(plan, workload))


def _check_options(run_request: RunRequest, workload: Workload) -> None:
    """Raise PlanError for options that contradict the workload or each other."""
    if run_request.epoch_s is not None and not math.isfinite(run_request.epoch_s):
        raise PlanError(f"--epoch-seconds {run_request.epoch_s}: give a number of seconds")
    if run_request.nodes > 1 and workload.mode == "inference":
        raise PlanError(f"--nodes {run_request.nodes}: {workload.id} is one server, on one node")
    if run_request.nodes > 1 and run_request.batch == "auto":
        raise PlanError(
            f"--nodes {run_request.nodes} --batch auto: find the batch on one node first, then "
            "name it"
        )


def _make_run_id(run_request: RunRequest, machine: Machine) -> str:
    """Return a new name for a run: time, workload, variant, number of accelerators, cap and six
    random digits, so that runs started in the same second differ."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    count = run_request.nodes * len(machine.devices)
    cap = "nocap" if machine.cap_w is None else f"{machine.cap_w:.0f}W"
    parts = (stamp, run_request.workload, run_request.variant, f"x{count}", cap)
    return "-".join((*parts, secrets.token_hex(3)))


def _find_standing(plan: Plan, workload: Workload) -> str:
    """Return the standing of the run: `closed`, `open` or `demo`.

    A closed run is the workload as defined, with the reference implementation and synthetic input.
    Any other real measurement is open. A run is a demo if its boards are simulated, if it does not
    compute on GPUs, if its size is not full, or if its epochs are shorter than the protocol
    requires.

    Raises MeterError if the source of the plan's meter cannot be loaded.
    """
    if source_class(plan.meter).simulated or plan.torch_device != "cuda":
        return "demo"
    if plan.size != "full" or plan.epoch_s < CURRENT.min_epoch_s:
        return "demo"
    as_defined = (
        plan.implementation == workload.implementation
        and workload.variants[plan.variant] in workload.precisions
        and plan.corpus is None
        and (plan.requests is None or plan.requests == workload.full.request_set(plan.batch_size))
    )
    return "closed" if as_defined else "open"


def default_batch_size(workload: Workload, size: str, variant: str, accelerators: int) -> int:
    """The default batch size of a process. That of a server grows with its accelerators."""
    per_process = workload.size(size).batch_sizes[variant]
    return per_process * accelerators if workload.mode == "inference" else per_process


def _parse_batch(batch: str | None) -> int | None:
    if batch is None or batch == "auto":
        return None
    if not batch.isdecimal() or int(batch) < 1:
        raise PlanError(f"--batch {batch}: give a number of samples of at least 1, or auto")
    return int(batch)


def implementation_of(name: str | None, workload: Workload) -> tuple[str, str | None]:
    """Name of the implementation to use and, of a submitter's own, the hash of its file. Raises
    PlanError."""
    if name is None or name == workload.implementation:
        assert workload.implementation is not None
        return workload.implementation, None
    module, _, function = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), function)):
        raise PlanError(f"--implementation {name}: give package.module:function")
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None or not spec.has_location:
        raise PlanError(
            f"--implementation {name}: there is no module {module}; install it, or put its "
            "directory on PYTHONPATH"
        )
    return name, file_hash(Path(spec.origin))


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _make_request_set(
    run_request: RunRequest, workload: Workload, concurrency: int
) -> RequestSet | None:
    if run_request.rate_per_s is not None and not math.isfinite(run_request.rate_per_s):
        raise PlanError(
            f"--request-rate {run_request.rate_per_s}: give a number of requests per second"
        )
    values = {
        "--prompt-tokens": run_request.prompt_tokens,
        "--output-tokens": run_request.output_tokens,
        "--request-rate": run_request.rate_per_s,
    }
    if workload.mode != "inference":
        if options := [option for option, value in values.items() if value is not None]:
            raise PlanError(f"{', '.join(options)}: {workload.id} serves no requests")
        return None
    default = workload.size(run_request.size).request_set(concurrency)
    return RequestSet(
        run_request.prompt_tokens or default.prompt_tokens,
        run_request.output_tokens or default.output_tokens,
        concurrency,
        run_request.rate_per_s,
    )


def _resolve_path(option: str, path: Path | None) -> str | None:
    if path is not None and not path.exists():
        raise PlanError(f"{option} {path}: there is nothing of that name")
    return None if path is None else str(path.resolve())


def _parse_options(texts: tuple[str, ...]) -> dict[str, str]:
    if wrong := [text for text in texts if not text.partition("=")[0] or "=" not in text]:
        raise PlanError(f"--option {wrong[0]}: give KEY=VALUE")
    return {key: value for key, _, value in (text.partition("=") for text in texts)}
