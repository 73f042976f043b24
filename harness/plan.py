"""The plan of a run: everything that is decided before it starts, written down first and never changed."""

import json
import math
import secrets
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.meters import Device
from rules.protocol import CURRENT
from rules.records import Json
from rules.workloads import Workload, workloads

FULL_EPOCH_S = 31.5
SMOKE_EPOCH_S = 1.5
NODE = "node0"
PLAN_FILE = "plan.json"


class PlanError(Exception):
    """What was asked for cannot be run; the message says why and what to do."""


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
    """Wanted length of an epoch; the number of batches is calibrated to it."""
    meter: str
    device: str
    """`cuda` or `cpu`"""
    devices: tuple[Device, ...]
    state: str | None
    cap_w: float | None
    """The declared power cap of every accelerator: the one that was found."""
    source_sha256: str
    """Over the code that is to run (see `harness.system.source_hash`)."""
    driver: str | None = None
    system: Json = field(default_factory=dict)
    batch_search: tuple[Json, ...] | None = None
    """The trials of the batch finder; empty while it is still to be asked, None where it is not."""
    attempt: int = 1

    def save(self, directory: Path) -> None:
        (directory / PLAN_FILE).write_text(json.dumps(asdict(self), indent=1) + "\n")

    @staticmethod
    def load(directory: Path) -> "Plan":
        """The plan in `directory`. Raises PlanError where there is none or it cannot be read."""
        path = directory / PLAN_FILE
        try:
            stored = json.loads(path.read_text())
            devices = tuple(Device(**d) for d in stored.pop("devices"))
            search = stored.pop("batch_search")
            return Plan(**stored, devices=devices, batch_search=None if search is None else tuple(search))
        except FileNotFoundError:
            advice = "an unfinished run is the hidden directory .RUN_ID.running beside where its bundle would be"
            raise PlanError(f"{directory}: no plan of a run there; {advice}") from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise PlanError(f"{path}: the plan of the run cannot be read ({error})") from None

    def again(self) -> "Plan":
        """The plan of the next attempt at the same run."""
        return replace(self, attempt=self.attempt + 1)

    def for_batch(self, batch_size: int) -> "Plan":
        """The plan of a trial of another batch size: it builds, warms up and calibrates, and takes no epoch."""
        return replace(self, batch_size=batch_size, epochs=0)


def workload_of(name: str, variant: str, size: str) -> Workload:
    """The workload called `name`. Raises PlanError where there is none, or nothing that runs it this way."""
    known = workloads()
    if name not in known:
        raise PlanError(f"there is no workload {name!r}; there are {', '.join(known)}")
    workload = known[name]
    if workload.implementation is None:
        raise PlanError(f"{name} is defined, but has no reference implementation yet")
    if variant not in workload.variants:
        raise PlanError(f"{name} has no variant {variant!r}; it has {', '.join(workload.variants)}")
    if size == "smoke" and workload.smoke is None:
        raise PlanError(f"{name} has no smoke size")
    return workload


def make_plan(
    workload: Workload,
    *,
    variant: str,
    size: str,
    batch_size: int | None,
    search: bool,
    seed: int,
    epoch_s: float | None,
    meter: str,
    torch_device: str,
    driver: str | None,
    devices: tuple[Device, ...],
    state: str | None,
    cap_w: float | None,
    source_sha256: str,
    system: Json,
) -> Plan:
    """Decide what is left open: batch size and epoch length by the workload, standing by what is run and measured.

    Closed needs the full size on a GPU with a real meter and epochs of the protocol's length; all else is a demo.
    """
    if epoch_s is not None and not math.isfinite(epoch_s):
        raise PlanError(f"--epoch-seconds {epoch_s}: give a number of seconds")
    epoch_s = epoch_s or (FULL_EPOCH_S if size == "full" else SMOKE_EPOCH_S)
    closed = torch_device == "cuda" and size == "full" and epoch_s >= CURRENT.min_epoch_s
    cap = "nocap" if cap_w is None else f"{cap_w:.0f}W"
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    assert workload.implementation is not None
    return Plan(
        run_id=f"{stamp}-{workload.id}-{variant}-x{len(devices)}-{cap}-{secrets.token_hex(3)}",
        workload=workload.id,
        variant=variant,
        size=size,
        implementation=workload.implementation,
        standing="closed" if closed else "demo",
        batch_size=batch_size or workload.size(size).batch_sizes[variant],
        seed=seed,
        epochs=CURRENT.epochs,
        epoch_s=epoch_s,
        meter=meter,
        device=torch_device,
        devices=devices,
        state=state,
        cap_w=cap_w,
        source_sha256=source_sha256,
        driver=driver,
        system=system,
        batch_search=() if search else None,
    )
