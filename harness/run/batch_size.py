"""Finds the highest batch size that remains stable: that builds, warms up and calibrates without
running out of memory."""

from collections.abc import Callable
from pathlib import Path

from harness.run.events import RunEvents
from harness.run.plan import Plan, PlanError
from harness.run.progress import View
from harness.run.session import Follower, workers
from rules.bundle_format.events import BatchTrial
from rules.bundle_format.records import Json
from rules.metrics import run as metrics
from rules.workloads import workloads

BISECTIONS = 2


def find(
    plan: Plan, limit: int, directory: Path, view: View, events: RunEvents
) -> tuple[int, tuple[Json, ...]]:
    """The highest stable batch size per accelerator up to `limit`, and every trial made, in order.

    Each trial starts processes of its own, so a failed trial leaves no memory allocated. The size
    is doubled until a trial fails (or halved until one succeeds), and the gap is bisected twice.
    Raises PlanError if not even one item fits.
    """
    trials: list[Json] = []

    def stable(batch_size: int) -> bool:
        trial = _trial(plan.for_batch(batch_size), directory, view)
        trials.append(trial)
        events.add(BatchTrial, **trial)
        rate = "" if trial["items_per_s"] is None else f", {trial['items_per_s']:.5g} items/s"
        view.say(f"batch {batch_size}: {trial['outcome']}{rate}")
        return bool(trial["outcome"] == "ok")

    best = _search(plan.batch_size, limit, stable)
    if best is None:
        raise PlanError("not even a batch of one item per accelerator is stable; the log says why")
    return best, tuple(trials)


def _search(start: int, limit: int, stable: Callable[[int], bool]) -> int | None:
    good, bad = None, limit + 1
    size = min(start, limit)
    while good is None:
        if stable(size):
            good = size
        elif size == 1:
            return None
        else:
            bad, size = size, size // 2
    while good * 2 < bad:
        if stable(good * 2):
            good *= 2
        else:
            bad = good * 2
    # Each trial builds the model anew and can take minutes. Two leave a gap of at most a quarter of
    # the size.
    for _ in range(BISECTIONS):
        middle = (good + bad) // 2
        if middle == good:
            break
        good, bad = (middle, bad) if stable(middle) else (good, middle)
    return good


def _trial(plan: Plan, directory: Path, view: View) -> Json:
    """Try the batch size of the plan. Returns an entry of `batch_search` of result.json."""
    # A directory of its own, because the workers write files of the same names in every trial.
    place = directory / f"trial-{plan.batch_size}"
    place.mkdir()
    plan.save(place)
    with workers(plan, place, view) as ranks:
        # Without a deadline: how long compiling takes is not known. An interrupt ends the wait.
        ranks.wait()
    events = [event for _, event in Follower(place, plan.ranks).news()]
    kinds = [e["event"] for e in events]
    calibrated = next((e for e in events if e["event"] == "calibrated"), None)
    # One rank without memory makes the others fail for other reasons, so any such event decides.
    if calibrated is None or kinds.count("finished") < plan.processes:
        outcome = "out-of-memory" if "out-of-memory" in kinds else "failed"
        return {
            "batch_size": plan.batch_size,
            "outcome": outcome,
            "items_per_s": None,
            "peak_memory_bytes": None,
        }
    items = (
        plan.batch_size
        * workloads()[plan.workload].size(plan.size).items_per_sample
        * plan.processes
        * plan.nodes
    )
    if plan.requests is not None:
        # A batch of a server is one request.
        items = plan.requests.output_tokens
    return {
        "batch_size": plan.batch_size,
        "outcome": "ok",
        "items_per_s": metrics.items_per_second(items, calibrated["batch_s"]),
        "peak_memory_bytes": calibrated["peak_memory_bytes"],
    }
