"""The plan of a run: all decisions that are made before it starts.

It is written to the directory of the run before anything else. Only the batch search and a resumed
run replace it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from harness.errors import PlanError
from harness.meter_tables import parse_meters
from harness.power.source import Device
from harness.slurm.job import SlurmJob
from rules.boards import SIMULATED_PREFIX
from rules.bundle_format.records import Json
from rules.bundle_format.seal import write_durable
from rules.contract import RequestSet
from rules.declarations.run import RunDeclaration
from rules.declarations.system import MeterDeclaration, SystemDeclaration
from rules.json_record import from_json, to_json
from rules.workloads import workloads

PLAN_FILE = "plan.json"
SWEEP_SUFFIX = ".sweep.json"
"""Suffix of the plan file of a sweep. A run recognises it and names the command that resumes the
sweep."""
SIMULATED_WORK = "harness.simulation.work:build"
MAX_IDLE_S = 30.0
"""How long idle power is measured, once without and once with the model on the boards."""


def is_control(workload: str) -> bool:
    """Return whether the runs of this workload are control runs."""
    return workload in workloads() and workloads()[workload].is_control


def get_node_name(node: int) -> str:
    """The name of the node with this number in a bundle, which has no host names."""
    return f"node{node}"


@dataclass(frozen=True)
class OriginalReference:
    """Names the run that a reproduction repeats."""

    run_id: str
    path: str
    """Center, system and run, with slashes."""
    manifest_sha256: str
    boards: tuple[str, ...]
    """The UUIDs of its accelerators."""


@dataclass(frozen=True)
class Original:
    """The run that a reproduction repeats, as its bundle describes it."""

    reference: OriginalReference
    run: RunDeclaration
    system: SystemDeclaration

    @property
    def board_names(self) -> set[str]:
        """The names of the accelerators that it used."""
        return {a.name for a in self.system.accelerators if a.uuid in self.reference.boards}


@dataclass(frozen=True)
class RunRequest:
    """The run that the command line asks for."""

    workload: str
    variant: str = "tuned"
    batch: str | None = None
    """A number of samples, `auto` for the highest stable one, None for the default of the
    workload."""
    gpus: int = 1
    nodes: int = 1
    node: int = 0
    head: str | None = None
    """`HOST:PORT`: the address of node 0, to which the other nodes connect."""
    cap_w: float | None = None
    """The power cap of every accelerator. The run sets it if another one is in force. None keeps
    the present cap."""
    sm_clock_mhz: int | None = None
    """The SM clock at which the run locks every accelerator. None leaves the clocks alone."""
    cpu_threads: int | None = None
    """The CPU threads of each worker. None leaves them to the libraries and the user."""
    smoke: bool = False
    meter: str | None = None
    """`NAME` or `NAME:ARGUMENT` of the power source; None chooses one that can be used here."""
    simulate: str | None = None
    epoch_s: float | None = None
    seed: int = 1
    system: Path | None = None
    meters: Path | None = None
    """The file that says where the node meters of `system` are; None for that of the user."""
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
    """See `Plan.sweep`."""
    host_load: bool = False
    """Whether the cores and the memory of the host are loaded too."""
    export: str | None = None
    """See `harness.run.export.parse_target`. None exports nothing."""
    is_verbose: bool = False
    """Whether the end of the run shows details (`--verbose`)."""
    original: Original | None = None
    """The run to reproduce; the other fields then repeat its configuration."""

    @property
    def simulates_work(self) -> bool:
        """Whether the work is simulated too, and not only the accelerators."""
        return self.simulate is not None and not self.smoke and self.implementation is None

    @property
    def size(self) -> str:
        # A simulated control run has the full size: it has no model that would take time to build.
        is_small = self.simulates_work and not is_control(self.workload)
        return "smoke" if self.smoke or is_small else "full"


@dataclass(frozen=True)
class Configuration:
    """What a run does, wherever it does it."""

    workload: str
    variant: str
    size: str
    implementation: str
    """`module:function`"""
    implementation_sha256: str | None
    """Hash of the file of a submitter's own implementation. None for a reference implementation."""
    batch_size: int
    seed: int
    epoch_s: float
    """Target length of an epoch. The number of batches is calibrated to it."""
    requests: RequestSet | None = None
    """The requests to a server; their `concurrency` is the batch size."""
    corpus: str | None = None
    weights: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the implementation."""
    host_load: str | None = None
    """The program that loads the host beside the workers (`harness.host_load`). None if none
    does."""
    sm_clock_mhz: int | None = None
    """The SM clock at which the run locks every accelerator. None if it locks none."""
    cpu_threads: int | None = None
    """As in `RunRequest`."""


@dataclass(frozen=True)
class Machine:
    """The meter of this node and the accelerators to use."""

    meter: str
    torch_device: str
    """`cuda` or `cpu`"""
    driver: str | None
    devices: tuple[Device, ...]
    """The accelerators of this node."""
    state: str | None
    """The declared power state of every accelerator, such as `P0`. None if the meter has none."""
    cap_w: float | None
    """The declared power cap of every accelerator."""
    found_mw: Mapping[str, int] | None = None
    """The limit in mW that each accelerator had before the run, by UUID. None if the run sets no
    cap."""
    found_state: Mapping[str, str] | None = None
    """The former power state of each accelerator whose state the run sets. None if it sets none."""
    unused_boards: tuple[str, ...] = ()
    """The UUIDs of the other accelerators of this node that the meter can read."""
    installed: int | None = None
    """How many accelerators this node has. None if that is not known."""
    power_reading: str | None = None
    """See `PowerSource.power_reading`."""


@dataclass(frozen=True)
class TrialResult:
    """How a trial of `--batch auto` ended: an entry of `batch_search` of result.json."""

    batch_size: int
    """Samples per accelerator; for a server, requests in flight."""
    outcome: str
    """`ok`, `out-of-memory` or `failed`."""
    items_per_s: float | None = None
    """Throughput of all accelerators together. None if the trial did not succeed."""
    peak_memory_bytes: int | None = None
    """Memory that torch reserved on a GPU. None if it is not known."""


@dataclass(frozen=True)
class Plan:
    """One run. Written to `plan.json`, read by the workers, repeated by `--resume`."""

    run_id: str
    configuration: Configuration
    machine: Machine
    standing: str
    epochs: int
    processes: int
    """The number of workers on this node: one for each accelerator, or a single one of a server."""
    source_sha256: str
    """Hash of the code that runs (see `harness.system.hash_source`)."""
    system: Json = field(default_factory=dict)
    batch_search: tuple[TrialResult, ...] | None = None
    """The trials of the batch search. Empty before the search runs, None without a search."""
    attempt: int = 1
    nodes: int = 1
    node: int = 0
    """The number of this node; the head is 0."""
    head: str | None = None
    sweep: Json | None = None
    """The position of this run in its sweep (`sweep` of result.json). None outside a sweep."""
    reproduces: OriginalReference | None = None
    """The run that this one repeats. None if it is no reproduction."""
    export: str | None = None
    """See `harness.run.export.parse_target`. None exports nothing."""
    is_verbose: bool = False
    """Whether the end of the run shows details (`--verbose`)."""
    meters_file: str | None = None
    """The path of meters.toml. None without a node meter."""
    job: SlurmJob | None = None
    """The Slurm job of the latest attempt. None outside Slurm."""

    # What the caps need, by the names of `harness.power.caps.apply.CapPlan`.

    @property
    def meter(self) -> str:
        return self.machine.meter

    @property
    def devices(self) -> tuple[Device, ...]:
        return self.machine.devices

    @property
    def cap_w(self) -> float | None:
        return self.machine.cap_w

    @property
    def state(self) -> str | None:
        return self.machine.state

    @property
    def found_mw(self) -> Mapping[str, int] | None:
        return self.machine.found_mw

    @property
    def found_state(self) -> Mapping[str, str] | None:
        return self.machine.found_state

    @property
    def sm_clock_mhz(self) -> int | None:
        return self.configuration.sm_clock_mhz

    @property
    def node_meters(self) -> tuple[MeterDeclaration, ...]:
        """The node meters that `system` describes."""
        return parse_meters(self.system)

    @property
    def node_name(self) -> str:
        """The name of this node in the bundle."""
        return get_node_name(self.node)

    @property
    def is_demo(self) -> bool:
        """Whether the check judges the run as a demo: also a control run that measures nothing."""
        is_simulated = self.devices[0].name.startswith(SIMULATED_PREFIX)
        is_rehearsal = self.standing == "control" and (
            is_simulated or self.configuration.size == "smoke"
        )
        return is_rehearsal or self.standing == "demo"

    @property
    def scale(self) -> str:
        """The size of the work as text for messages."""
        return (
            "simulated work"
            if self.configuration.implementation == SIMULATED_WORK
            else f"{self.configuration.size} size"
        )

    @property
    def idle_s(self) -> float:
        """How long each of the two idle phases takes. Short runs have short ones, and trials of a
        batch size have none."""
        return min(MAX_IDLE_S, self.configuration.epoch_s) if self.epochs else 0.0

    @property
    def ranks(self) -> range:
        """The ranks of this node's processes."""
        return range(self.node * self.processes, (self.node + 1) * self.processes)

    def to_json(self) -> Json:
        """Return the plan as JSON object, with configuration and machine among its own fields."""
        document: Json = to_json(self)
        return {**document.pop("configuration"), **document.pop("machine"), **document}

    def save(self, directory: Path) -> None:
        """Write the plan to `directory`. If that fails, an earlier plan stays unchanged. Raises
        OSError."""
        text = json.dumps(self.to_json(), indent=1) + "\n"
        write_durable(directory / PLAN_FILE, text.encode())

    @staticmethod
    def load(directory: Path) -> "Plan":
        """Read the plan in `directory`. Raises PlanError if there is none or it cannot be read."""
        path = directory / PLAN_FILE
        try:
            document = json.loads(path.read_text())
            parts = {
                name: {f.name: document.pop(f.name) for f in fields(kind) if f.name in document}
                for name, kind in (("configuration", Configuration), ("machine", Machine))
            }
            return from_json(Plan, {**document, **parts})
        except FileNotFoundError:
            advice = (
                "an unfinished run is the hidden directory .RUN_ID.running beside where its "
                "bundle would be"
            )
            raise PlanError(f"{directory}: no plan of a run there; {advice}") from None
        # Another version of wattmark may have written the plan with other fields.
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise PlanError(f"{path}: the plan of the run cannot be read ({error})") from None

    def make_next_attempt(self) -> "Plan":
        """Return the plan of the next attempt at the same run."""
        return replace(self, attempt=self.attempt + 1)

    def make_trial(self, batch_size: int) -> "Plan":
        """Return the plan of a trial of another batch size: build, warm up and calibrate, but no
        epoch."""
        return replace(self.with_batch(batch_size), epochs=0)

    def with_batch(self, batch_size: int) -> "Plan":
        """Return the plan with another batch size. For a server that is the number of requests in
        flight."""
        requests = self.configuration.requests
        return self.with_settings(
            batch_size=batch_size,
            requests=requests and replace(requests, concurrency=batch_size),
        )

    def with_settings(self, **changes: Any) -> "Plan":
        """Return the plan with other values of fields of its configuration."""
        return replace(self, configuration=replace(self.configuration, **changes))
