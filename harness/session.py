"""One run from its plan to its bundle: sampler, workers, epochs, read-backs, evidence.

Everything is kept in a directory `.RUN_ID.running` beside the bundle-to-be, with a `state.json` that tells the truth
about it whatever happens. It goes when the bundle stands; after an interruption `--resume` takes it up.
"""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from harness import bundle
from harness.evidence import Taken, gather
from harness.plan import NODE, Plan, PlanError
from harness.processes import Workers
from harness.progress import View
from harness.sampler import Sampler, SamplerError, Settings
from rules import metrics
from rules.protocol import CURRENT
from rules.records import Json
from rules.workloads import workloads

STATE_FILE = "state.json"
POLL_S = 0.1
SETTLE_S = 0.25  # samples before the first and after the last batch


class RunFailed(Exception):
    """The run did not come to its end; the message says why and what to do."""


class Interrupted(BaseException):
    """SIGINT or SIGTERM arrived. Not an Exception, so that nothing but the end of the run catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Follower:
    """Reads the event files of all ranks as they grow."""

    def __init__(self, directory: Path, ranks: int) -> None:
        self._paths = [directory / f"events.{rank}.jsonl" for rank in range(ranks)]
        self._offsets = [0] * ranks

    def news(self) -> Iterator[tuple[int, Json]]:
        """Rank and event of everything written since the last call."""
        for rank, path in enumerate(self._paths):
            if not path.exists():
                continue
            with path.open() as file:
                file.seek(self._offsets[rank])
                while (line := file.readline()).endswith("\n"):
                    self._offsets[rank] = file.tell()
                    yield rank, json.loads(line)


def run(plan: Plan, directory: Path, target: Path, view: View) -> None:
    """Carry out `plan` in its `directory` and leave the bundle at `target`.

    Raises RunFailed, SamplerError or Interrupted; the directory then stays, with its state, and nothing is at `target`.
    """
    plan.save(directory)
    taken = Taken()
    write_state(directory, "running", taken)
    try:
        with signals():
            _take(plan, directory, view, taken)
            bundle.write(gather(plan, directory, taken), target)
    except Interrupted as interrupt:
        write_state(directory, "interrupted", taken, str(interrupt))
        raise
    except metrics.MetricsError as error:
        write_state(directory, "failed", taken, str(error))
        raise RunFailed(f"the run ended, but its figures cannot be computed: {error}") from None
    except (RunFailed, SamplerError) as error:
        write_state(directory, "failed", taken, str(error))
        raise
    shutil.rmtree(directory)


def write_state(directory: Path, status: str, taken: Taken, reason: str | None = None) -> None:
    """Say in `state.json` how the run stands: running, interrupted or failed, by which process, after how many epochs."""
    state = {"status": status, "reason": reason, "pid": os.getpid(), "finished_epochs": len(taken.losses)}
    draft = directory / f"{STATE_FILE}.writing"
    draft.write_text(json.dumps(state) + "\n")
    draft.rename(directory / STATE_FILE)


def take_up(directory: Path) -> Plan:
    """The plan of the next attempt at the unfinished run in `directory`, whose files move to `attempt-N`.

    The eleven epochs belong to one uninterrupted run, so an attempt begins anew; what the last one left is kept until a
    bundle stands. Raises PlanError where there is no such run or it is still going on.
    """
    plan = Plan.load(directory)
    try:
        state = json.loads((directory / STATE_FILE).read_text())
        status, pid = state["status"], state["pid"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanError(f"{directory / STATE_FILE}: no state of a run there that can be read ({error})") from None
    if status == "running" and Path(f"/proc/{pid}").exists():
        raise PlanError(f"{directory}: process {pid} is still running it")
    kept = directory / f"attempt-{plan.attempt}"
    kept.mkdir(exist_ok=True)
    for path in list(directory.iterdir()):
        if not path.name.startswith("attempt-"):
            path.rename(kept / path.name)
    return plan.again()


def _take(plan: Plan, directory: Path, view: View, taken: Taken) -> None:
    """Let the workers take their epochs while the sampler samples."""
    accelerators = tuple(d.uuid for d in plan.devices)
    settings = Settings(plan.meter, accelerators, NODE, CURRENT.sample_interval_ms, str(directory.resolve()))
    taken.started_at = _now()
    with Sampler(settings) as sampler:
        pids: dict[int, int] = {}
        _read_back(sampler, taken, "before", pids)
        with workers(plan, directory, view) as ranks:
            time.sleep(SETTLE_S)
            _follow(plan, directory, ranks, sampler, view, taken, pids)
        _read_back(sampler, taken, "after", pids)
        time.sleep(SETTLE_S)
        taken.sampling = {k: v for k, v in sampler.stop().items() if k != "said"}
    taken.ended_at = _now()


def workers(plan: Plan, directory: Path, view: View) -> Workers:
    """The workers of a plan, one per accelerator, told through the environment which GPUs are theirs."""
    environment = {}
    if plan.device == "cuda":
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(d.uuid for d in plan.devices)
    else:
        environment["CUDA_VISIBLE_DEVICES"] = ""
        environment.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // len(plan.devices))))
    arguments = ["harness.worker", str(directory.resolve())]
    return Workers(len(plan.devices), arguments, environment, lambda line: view.note(f"| {line}"))


def _follow(
    plan: Plan, directory: Path, ranks: Workers, sampler: Sampler, view: View, taken: Taken, pids: dict[int, int]
) -> None:
    """Follow the ranks until all have finished. Raises RunFailed where one fails."""
    done: dict[int, list[Json]] = {}
    finished: set[int] = set()
    follower = Follower(directory, len(plan.devices))
    while True:
        status = ranks.poll()
        for rank, event in follower.news():
            _hear(rank, event, plan, view, taken, pids)
            if event["event"] == "epoch":
                of_epoch = done.setdefault(event["epoch"], [])
                of_epoch.append(event)
                if len(of_epoch) == len(plan.devices):
                    _end_epoch(event["epoch"], of_epoch, plan, sampler, view, taken, pids)
                    write_state(directory, "running", taken)
            elif event["event"] == "finished":
                finished.add(rank)
        if len(finished) == len(plan.devices):
            return
        if status is not None:
            raise RunFailed(f"the workers ended with status {status} before their last epoch; the log says why")
        view.power(sampler.power_w)
        time.sleep(POLL_S)


def _hear(rank: int, event: Json, plan: Plan, view: View, taken: Taken, pids: dict[int, int]) -> None:
    kind = event["event"]
    if kind == "started":
        pids[rank] = event["pid"]
    elif kind == "built":
        if event["accelerator"] not in {d.uuid for d in plan.devices}:
            raise RunFailed(f"rank {rank} computes on {event['accelerator']}, which is not one of the plan's accelerators")
        taken.built[rank] = event
        view.say(f"rank {rank}: built in {event['seconds']:.0f} s on {event['accelerator']}, {event['precision']}")
    elif kind == "calibrated" and rank == 0:
        taken.batches_per_epoch = event["batches_per_epoch"]
        view.say(f"{event['batches_per_epoch']} batches of {plan.batch_size} an epoch, {event['batch_s'] * 1e3:.1f} ms each")
        view.begin_epochs(plan.epochs, workloads()[plan.workload].item)
    elif kind == "out-of-memory":
        raise RunFailed(
            f"out of memory at batch size {plan.batch_size} per accelerator (rank {rank}: {event['message']}); "
            f"use a smaller --batch, or --batch auto to find the highest that is stable"
        )


def _end_epoch(
    epoch: int, of_ranks: list[Json], plan: Plan, sampler: Sampler, view: View, taken: Taken, pids: dict[int, int]
) -> None:
    sampler.flush()
    _read_back(sampler, taken, f"epoch-{epoch}", pids)
    loss = of_ranks[0]["loss"]
    taken.losses[epoch] = loss if isinstance(loss, float) else None
    seconds = (max(e["end_ns"] for e in of_ranks) - min(e["start_ns"] for e in of_ranks)) / 1e9
    items_per_s = metrics.rate(sum(e["items"] for e in of_ranks), seconds)
    power = " ".join("-" if p is None else f"{p:.0f}" for p in sampler.power_w)
    discarded = "  (discarded)" if epoch < CURRENT.discarded_epochs else ""
    item = workloads()[plan.workload].item
    view.say(
        f"epoch {epoch:2d}  {seconds:6.2f} s  {items_per_s:10.2f} {item}s/s  {power or '-':>5} W  loss {loss:.4g}{discarded}"
        if isinstance(loss, float)
        else f"epoch {epoch:2d}  {seconds:6.2f} s  {items_per_s:10.2f} {item}s/s  loss is not finite: {loss}"
    )
    view.epoch_done(items_per_s)


def _read_back(sampler: Sampler, taken: Taken, when: str, pids: dict[int, int]) -> None:
    taken.readbacks += [{"when": when, **state} for state in sampler.readback(list(pids.values()))]


@contextmanager
def signals() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into Interrupted while the block runs; a second one while it cleans up is ignored."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        raise Interrupted(number)

    before = {one: signal.signal(one, interrupt) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
