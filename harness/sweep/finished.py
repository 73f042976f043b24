"""Finds the finished runs of a sweep by the bundles in its directory, and reports other files
there."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from checker.engine import judge, judge_all
from harness.power.source import Device
from harness.run import run_directory as rundir
from harness.run.plan import Machine, Plan, PlanError
from harness.run.planning import make_plan
from harness.sweep.plan import Entry, Sweep
from harness.sweep.table import say
from harness.system import read_description
from rules.bundle_format.records import Json
from rules.cap_findings import is_cap_without_effect
from rules.declarations import EnvironmentDeclaration, RunDeclaration, SystemDeclaration
from rules.finding import Severity


def finished(
    sweep: Sweep, out: Path, entries: Sequence[Entry], known: Mapping[int, Json] | None = None
) -> dict[int, Json]:
    """The results of those of `entries` whose bundle lies in `out`, by place; `known` are those of
    other entries.

    A bundle counts by its content and not by its name: it passes the check, is the run that was
    planned, and has the same weights and model as the others. Raises PlanError if files that the
    plan names cannot be read.
    """
    results = dict(known or {})
    for path, result, place in _find_bundles(sweep, out):
        entry = next((e for e in entries if e.place == place), None)
        if entry is None or entry.place in results:
            continue
        if objection := _find_objection(sweep, entry, path, result, results.values()):
            say(f"{path}: {objection}; it is left as it is and does not count as run {entry.place}")
        else:
            results[entry.place] = result
    return {e.place: results[e.place] for e in entries if e.place in results}


def strays(sweep: Sweep, out: Path, results: Mapping[int, Json]) -> Iterator[str]:
    """What the sweep has left in `out` and does not need, each with the reason: bundles that do not
    count, and unfinished runs that were made again or have no plan. `results` are those that count,
    by place.
    """
    counting = {result["run_id"] for result in results.values()}
    for path, result, place in _find_bundles(sweep, out):
        if result.get("run_id") not in counting and place in results:
            yield f"{path} (run {place} was made again)"
    # A directory with a live process is in use and must not be called removable.
    for directory in sorted(d for d in out.glob(".*.running") if not _is_held(d)):
        try:
            label = Plan.load(directory).sweep
        except PlanError:
            yield f"{directory} (an unfinished run without a plan that can be read)"
            continue
        for entry in sweep.entries:
            if entry.place in results and label == sweep.label(entry):
                yield f"{directory} (run {entry.place} was made again)"


def _is_held(directory: Path) -> bool:
    """Whether a process works on the run in `directory`."""
    try:
        with rundir.hold_directory(directory):
            return False
    except PlanError:
        return True
    except OSError:  # a full disk, for example
        return False


def without_effect(out: Path) -> frozenset[str]:
    """Return the ids of the runs in `out` whose cap had no effect, which only the comparison with
    other runs shows."""
    # All bundles together: one bundle alone does not show that a cap changed nothing.
    judged = judge_all([out], signed=False).verdicts
    paths = [verdict.path for verdict in judged if is_cap_without_effect(verdict.findings)]
    return frozenset(_read_object(path / "result.json")["run_id"] for path in paths)


def _find_bundles(sweep: Sweep, out: Path) -> Iterator[tuple[Path, Json, object]]:
    """The bundles in `out` that say that they are of this sweep, in order of their names, with
    their result and their place."""
    for path in sorted(p for p in out.iterdir() if p.is_dir() and not p.name.startswith(".")):
        result = _read_object(path / "result.json")
        label = result.get("sweep")
        if isinstance(label, dict) and label.get("id") == sweep.id:
            place = label.get("place")
            yield path, result, place if isinstance(place, int) else None


def _find_objection(
    sweep: Sweep, entry: Entry, path: Path, result: Json, finished_results: Iterable[Json]
) -> str | None:
    """Return why the bundle at `path` does not count as a finished run of the entry, None if it
    does. `finished_results` are the results of the other finished runs."""
    if errors := sorted(
        {f.rule for f in judge(path, signed=False).findings if f.severity == Severity.ERROR}
    ):
        return f"it does not pass the check ({', '.join(errors)})"
    for quantity, value, planned in _compare_with_plan(sweep, entry, path, result):
        if value != planned:
            return f"its {quantity} is {value}, planned was {planned}"
    for finished_result in finished_results:
        for quantity, value, expected in _compare_results(result, finished_result):
            if value != expected:
                return (
                    f"its {quantity} is {value}, that of {finished_result['run_id']} is {expected}"
                )
    return None


def _compare_with_plan(
    sweep: Sweep, entry: Entry, path: Path, result: Json
) -> Iterator[tuple[str, object, object]]:
    """What a bundle says and what was planned of everything that the plan of the sweep fixes."""
    # The plan of the entry is made again, with the same code that planned it. Boards and meter come
    # from the sweep's plan, so no meter is opened.
    description = read_description(sweep.run_request.system)
    board = Device("", sweep.accelerator, "")
    machine = Machine(sweep.meter, "", None, (board,) * entry.gpus, None, entry.cap_w)
    plan = make_plan(sweep.run_request_of(entry), machine, description, sweep.source_sha256)
    run = RunDeclaration.from_document(result)
    implementation, settings, cap_w = run.implementation, run.settings, run.power.cap_w
    system_document = _read_object(path / "system.json")
    system = SystemDeclaration.from_document(system_document)
    environment = EnvironmentDeclaration.from_document(_read_object(path / "environment.json"))
    boards = sorted({accelerator.name for accelerator in system.accelerators})
    yield "sweep", result.get("sweep"), sweep.label(entry)
    yield "workload", run.workload, plan.workload
    yield "size", run.size, plan.size
    yield "implementation", implementation.name, plan.implementation
    yield "variant", implementation.variant, plan.variant
    yield "implementation's sha256", implementation.sha256, sweep.implementation_sha256
    yield "source_sha256", environment.source_sha256, sweep.source_sha256
    yield "meter", run.sampling.meter, sweep.meter
    yield "board", ", ".join(boards), sweep.accelerator
    yield "accelerators", settings.accelerators, entry.gpus
    yield (
        "cap_w",
        cap_w,
        # As found, any cap is the planned one.
        cap_w if entry.cap_w is None else entry.cap_w,
    )
    yield "batch_size", settings.batch_size, plan.batch_size
    yield "epoch_target_s", settings.epoch_target_s, plan.epoch_s
    yield "seed", settings.seed, plan.seed
    yield "options", settings.options or {}, dict(plan.options)
    yield (
        "requests",
        settings.requests and asdict(settings.requests),
        plan.requests and asdict(plan.requests),
    )
    yield "corpus_sha256", settings.corpus_sha256, sweep.files_sha256.get("corpus")
    for key, value in description.items():
        # Without a described name, the name of the system follows from its boards.
        if key != "name" or value:
            yield f"system's {key}", system_document[key], value


def _compare_results(result: Json, other: Json) -> Iterator[tuple[str, object, object]]:
    """What the plan does not know and two runs of a sweep have in common, of the one and the other.

    The implementation's own settings are not of it: with the same code and options they follow from
    the boards, and a server tells there how much memory it found free.
    """
    run, other_run = RunDeclaration.from_document(result), RunDeclaration.from_document(other)
    yield "weights", run.settings.weights, other_run.settings.weights
    code, other_code = run.implementation, other_run.implementation
    yield "implementation's precision", code.precision, other_code.precision
    yield "implementation's parameters", code.parameters, other_code.parameters
    yield "implementation's input_shape", code.input_shape, other_code.input_shape


def _read_object(path: Path) -> Json:
    """The JSON object in a file, empty where there is none."""
    try:
        value = json.loads(path.read_text())
    # RecursionError: JSON that is nested too deeply.
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
