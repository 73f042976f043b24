"""Find the finished runs of a sweep from the bundles in its directory, and list what the sweep does
not need."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from checker.engine import judge, judge_all
from harness.errors import PlanError
from harness.meter_tables import select_meters
from harness.node_table import NODE_KEYS
from harness.power.source import Device
from harness.run import run_directory as rundir
from harness.run.plan import Machine, Plan
from harness.run.planning import make_plan
from harness.run.settings import describe_plan, describe_run
from harness.sweep.plan import Entry, Sweep
from harness.sweep.table import print_line
from harness.system import read_description
from rules.bundle_findings import is_cap_without_effect
from rules.bundle_format.records import Json
from rules.declarations.run import RunDeclaration
from rules.declarations.system import EnvironmentDeclaration, SystemDeclaration
from rules.finding import Severity


def find_finished_results(
    sweep: Sweep,
    out: Path,
    entries: Sequence[Entry],
    known_results: Mapping[int, Json] | None = None,
) -> dict[int, Json]:
    """Return the results of the finished runs among `entries`, by place. `known_results` are
    results found before, by place.

    The content of a bundle decides, not its name. The bundle must pass the check, match the plan,
    and have the same model as the other runs. Raises PlanError if a file that the plan
    names cannot be read.
    """
    results = dict(known_results or {})
    for path, result, place in find_bundles(sweep, out):
        entry = next((e for e in entries if e.place == place), None)
        if entry is None or entry.place in results:
            continue
        if objection := _find_objection(sweep, entry, path, result, results.values()):
            print_line(
                f"{path}: {objection}; it does not count as run {entry.place} and is not changed"
            )
        else:
            results[entry.place] = result
    return {e.place: results[e.place] for e in entries if e.place in results}


def list_leftovers(sweep: Sweep, out: Path, results: Mapping[int, Json]) -> Iterator[str]:
    """Yield the paths in `out` that the sweep does not need, each with the reason: bundles that do
    not count, and unfinished runs that were repeated or have no plan. `results` are the results
    that count, by place.
    """
    counted_run_ids = {result["run_id"] for result in results.values()}
    for path, result, place in find_bundles(sweep, out):
        if result.get("run_id") not in counted_run_ids and place in results:
            yield f"{path} (run {place} was repeated)"
    # A directory with a live process is in use. The user must not be told to remove it.
    for directory in sorted(d for d in out.glob(".*.running") if not _is_held(d)):
        try:
            label = Plan.load(directory).sweep
        except PlanError:
            yield f"{directory} (an unfinished run whose plan cannot be read)"
            continue
        for entry in sweep.entries:
            if entry.place in results and label == sweep.make_label(entry):
                yield f"{directory} (run {entry.place} was repeated)"


def _is_held(directory: Path) -> bool:
    """Return whether a process works on the run in `directory`."""
    try:
        with rundir.hold_directory(directory):
            return False
    except PlanError:
        return True
    except OSError:  # a full disk, for example
        return False


def find_ineffective_runs(out: Path) -> frozenset[str]:
    """Return the ids of the runs in `out` whose cap had no effect, which only the comparison with
    other runs shows."""
    # Judge all bundles together: one bundle alone cannot show that its cap changed nothing.
    verdicts = judge_all([out], signed=False).verdicts
    paths = [verdict.path for verdict in verdicts if is_cap_without_effect(verdict.findings)]
    return frozenset(_read_object(path / "result.json")["run_id"] for path in paths)


def find_bundles(sweep: Sweep, out: Path) -> Iterator[tuple[Path, Json, object]]:
    """Yield the path, result and place of each bundle in `out` that names this sweep, sorted by
    file name."""
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
    for quantity, value, planned_value in _compare_with_plan(sweep, entry, path, result):
        if value != planned_value:
            return f"its {quantity} is {value}, but the plan has {planned_value}"
    for finished_result in finished_results:
        for quantity, value, expected_value in _compare_results(result, finished_result):
            if value != expected_value:
                return (
                    f"its {quantity} is {value}, but that of {finished_result['run_id']} is "
                    f"{expected_value}"
                )
    return None


def _compare_with_plan(
    sweep: Sweep, entry: Entry, path: Path, result: Json
) -> Iterator[tuple[str, object, object]]:
    """Yield each quantity that the plan of the sweep fixes, with its value in the bundle and its
    planned value."""
    # Make the plan of the entry again with the code that made it first. Boards and meter come from
    # the plan of the sweep, so no meter is opened.
    description = read_description(sweep.run_request.system)
    board = Device("", sweep.accelerator, "")
    machine = Machine(sweep.meter, "", None, (board,) * entry.gpus, None, entry.cap_w)
    plan = make_plan(sweep.make_run_request(entry), machine, description, sweep.source_sha256)
    run = RunDeclaration.from_document(result)
    settings, cap_w = run.settings, run.power.cap_w
    system_document = _read_object(path / "system.json")
    system = SystemDeclaration.from_document(system_document)
    environment = EnvironmentDeclaration.from_document(_read_object(path / "environment.json"))
    boards = sorted({accelerator.name for accelerator in system.accelerators})
    yield "sweep", result.get("sweep"), sweep.make_label(entry)
    planned = describe_plan(plan)
    for name, value in describe_run(run, environment).items():
        yield name, value, planned[name]
    yield "seed", settings.seed, plan.configuration.seed
    yield "board", ", ".join(boards), sweep.accelerator
    yield "accelerators", settings.accelerators, entry.gpus
    # A run with the cap as found accepts any cap.
    yield "cap_w", cap_w, cap_w if entry.cap_w is None else entry.cap_w
    nodes = [node.name for node in system.nodes]
    meters = select_meters(description.pop("meters", ()), nodes)
    yield "system's meters", system_document.get("meters", []), meters
    rating = description.pop("node", {})
    for node in system_document["nodes"]:
        stated = {key: value for key, value in node.items() if key in NODE_KEYS}
        yield f"system's rating of {node['name']}", stated, rating
    for key, value in description.items():
        # Without a described name, the name of the system follows from its boards.
        if key != "name" or value:
            yield f"system's {key}", system_document[key], value


def _compare_results(result: Json, other_result: Json) -> Iterator[tuple[str, object, object]]:
    """Yield each quantity that two runs of a sweep must share and that the plan does not fix, with
    both values. Runs of different variants share none.

    The implementation's own settings are left out. They follow from code, options and boards, and a
    server records its free memory there, which differs between runs.
    """
    run, other_run = (
        RunDeclaration.from_document(result),
        RunDeclaration.from_document(other_result),
    )
    code, other_code = run.implementation, other_run.implementation
    if code.variant != other_code.variant:
        return
    yield "implementation's precision", code.precision, other_code.precision
    yield "implementation's parameters", code.parameters, other_code.parameters
    yield "implementation's input_shape", code.input_shape, other_code.input_shape


def _read_object(path: Path) -> Json:
    """Return the JSON object in a file, or an empty one if the file holds none."""
    try:
        value = json.loads(path.read_text())
    # JSON that is nested too deeply raises RecursionError.
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
