"""Finds the highest batch size that remains stable: that builds, warms up and calibrates without
running out of memory."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from harness.errors import PlanError
from harness.run.plan import Plan, TrialResult
from harness.run.progress import View
from harness.run.run_directory import RunEvents
from harness.run.workers.launch import make_workers
from harness.run.workers.worker_events import (
    EpochCalibrated,
    MemoryExhausted,
    WorkerEventReader,
    WorkerFinished,
)
from rules.bundle_format.events import BatchTrial
from rules.metrics import run as metrics
from rules.workloads import workloads

BISECTIONS = 2
WATCH_S = 1.0
"""How often a trial checks that the watchdog of the power limits runs."""


def find_highest(
    plan: Plan,
    limit: int,
    directory: Path,
    view: View,
    events: RunEvents,
    ensure_watchdog: Callable[[], None],
) -> tuple[int, tuple[TrialResult, ...]]:
    """Return the highest stable batch size per accelerator up to `limit`, and all trials in order.

    Each trial starts processes of its own, so a failed trial leaves no memory allocated. The size
    is doubled until a trial fails (or halved until one succeeds), and the gap is bisected twice.
    Raises PlanError if not even one item fits, and what `ensure_watchdog` raises.
    """
    trials: list[TrialResult] = []

    def is_stable(batch_size: int) -> bool:
        trial = _try_batch(plan.make_trial(batch_size), directory, view, ensure_watchdog)
        trials.append(trial)
        events.add(BatchTrial, **asdict(trial))
        rate = "" if trial.items_per_s is None else f", {trial.items_per_s:.5g} items/s"
        view.print_line(f"batch {batch_size}: {trial.outcome}{rate}")
        return trial.outcome == "ok"

    highest = _search(plan.configuration.batch_size, limit, is_stable)
    if highest is None:
        raise PlanError("not even a batch of one item per accelerator is stable; the log says why")
    return highest, tuple(trials)


def _search(start: int, limit: int, is_stable: Callable[[int], bool]) -> int | None:
    """Return the highest size from 1 to `limit` that a trial found stable, None if there is
    none."""
    stable_size, unstable_size = None, limit + 1
    size = min(start, limit)
    while stable_size is None:
        if is_stable(size):
            stable_size = size
        elif size == 1:
            return None
        else:
            unstable_size, size = size, size // 2
    while stable_size * 2 < unstable_size:
        if is_stable(stable_size * 2):
            stable_size *= 2
        else:
            unstable_size = stable_size * 2
    # Each trial builds the model anew and can take minutes. Two leave a gap of at most a quarter of
    # the size.
    for _ in range(BISECTIONS):
        middle = (stable_size + unstable_size) // 2
        if middle == stable_size:
            break
        if is_stable(middle):
            stable_size = middle
        else:
            unstable_size = middle
    return stable_size


def _try_batch(
    plan: Plan, directory: Path, view: View, ensure_watchdog: Callable[[], None]
) -> TrialResult:
    """Build, warm up and calibrate with the batch size of the plan."""
    # A directory of its own, because the workers write files of the same names in every trial.
    trial_directory = directory / f"trial-{plan.configuration.batch_size}"
    trial_directory.mkdir()
    plan.save(trial_directory)
    view.begin_activity(
        f"batch {plan.configuration.batch_size}: building, compiling and warming up"
    )
    with make_workers(plan, trial_directory, view) as workers:
        # Without a deadline: how long compiling takes is not known. An interrupt ends the wait.
        while workers.wait(WATCH_S) is None:
            ensure_watchdog()
            view.show_waiting_time()
    view.end_live_line()
    events = list(WorkerEventReader(trial_directory, plan.ranks).read_new())
    calibration = next((event for event in events if isinstance(event, EpochCalibrated)), None)
    finished_ranks = sum(isinstance(event, WorkerFinished) for event in events)
    if calibration is None or finished_ranks < plan.processes:
        # One rank without memory makes the others fail for other reasons, so any such event
        # decides.
        is_out_of_memory = any(isinstance(event, MemoryExhausted) for event in events)
        return TrialResult(
            plan.configuration.batch_size, "out-of-memory" if is_out_of_memory else "failed"
        )
    size = workloads()[plan.configuration.workload].size(
        plan.configuration.size, plan.configuration.variant
    )
    items: float = size.count_items(plan.configuration.batch_size) * plan.processes * plan.nodes
    if plan.configuration.requests is not None:
        # A batch of a server is one request.
        items = plan.configuration.requests.mean_output_tokens
    return TrialResult(
        plan.configuration.batch_size,
        "ok",
        metrics.items_per_second(items, calibration.batch_s),
        calibration.peak_memory_bytes,
    )
