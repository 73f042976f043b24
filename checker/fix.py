"""`bench-check --fix`: write again what a bundle states, from its evidence, before it is signed.

The figures follow from the tables, the form of JSON files from their content, and the manifest from
both. Tables and log are evidence and are never written, and neither is a signed bundle. Without the
manifest of the run nobody can tell whether the evidence is that of the run, so nothing is fixed.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from checker.engine import judge
from checker.find import find_places
from checker.printable import printable
from checker.trust.manifest import find_manifest_problems
from rules.bundle import Bundle
from rules.bundle_format.documents import read_json
from rules.bundle_format.files import Files, Refused, read_files
from rules.bundle_format.manifest import read_manifest
from rules.bundle_format.records import (
    MANIFEST_FILE,
    SIGNATURE_DIR,
    Json,
)
from rules.bundle_format.seal import encode_json, list_files, write_durable
from rules.finding import Problem
from rules.json_record import to_json
from rules.metrics.energy import MetricsError
from rules.metrics.figures_json import figures_to_json, idle_from_json, idle_to_json
from rules.metrics.node.figures import add_node_figures
from rules.metrics.node.observed import TOLERANCE
from rules.observations.bundle import ObservationBundle
from rules.rule_ids import FILE_ALTERED, FILE_MISSING
from rules.studies.accuracy import read_shipped_table
from rules.studies.bundle import StudyBundle
from rules.studies.figures import compute_study_figures
from rules.studies.figures_json import (
    DEPENDENT_ON_ACCURACIES,
    find_figure_differences,
    study_figures_to_json,
)
from rules.views import list_documents, open_view

_Change = tuple[str, Any, Any]
"""JSON pointer of a figure, its stated value and its computed value."""
_MAX_CHANGES = 10
"""How many changed figures of a bundle are listed."""


class UnfixableError(Exception):
    """The bundle is not changed. The message gives the reason."""


def fix_all(paths: Iterable[Path], keyring: Path | None, report: Callable[[str], None]) -> int:
    """Fix every bundle below `paths`, and call `report` with one line for each change.

    Returns how many bundles need a fix but cannot be fixed. Raises CheckerError as `judge` does.
    """
    unfixed = 0
    for root in paths:
        for path in find_places(root).bundles:
            # One bundle that cannot be fixed does not keep the others from being fixed.
            try:
                for change in fix(path):
                    report(f"fixed: {printable(f'{path}: {change}')}")
            except UnfixableError as error:
                # A signed bundle cannot be fixed, and a good one does not need to be.
                if _has_plain_form(path) and judge(path, keyring, root).status != "fail":
                    continue
                report(f"not fixed: {printable(f'{path}: {error}')}")
                unfixed += 1
            except OSError as error:
                reason = f"{path}: {error.filename or path} cannot be written: {error.strerror}"
                report(f"not fixed: {printable(reason)}")
                unfixed += 1
    return unfixed


def fix(bundle: Path) -> list[str]:
    """Fix one bundle, and return a description of each change: none if the bundle is as it should
    be. Raises UnfixableError and OSError."""
    files = read_files(bundle)
    _require_fixable(bundle, files)
    view = open_view(bundle, files)
    if view.evidence is None:
        raise UnfixableError(f"the evidence cannot be read: {_format_first(view.problems)}")
    main_file = files.kind.main_file
    try:
        if isinstance(view, ObservationBundle):
            figures = _fix_observation(view)
        else:
            figures = _fix_run(view) if isinstance(view, Bundle) else _fix_study(view)
    # What the evidence says may contradict itself. The rules report that; here nothing is fixed.
    except (MetricsError, LookupError, ValueError, ArithmeticError) as error:
        raise UnfixableError(f"the figures cannot be computed: {error}") from None
    changes = [
        f"{main_file} {pointer}: {_format_value(old)} is now {_format_value(new)}"
        for pointer, old, new in figures
    ]
    if len(changes) > _MAX_CHANGES:
        changes[_MAX_CHANGES:] = [f"{main_file}: {len(changes) - _MAX_CHANGES} more figures"]
    fixed = dict(files.contents)
    for name, value in zip(
        files.kind.documents,
        list_documents(view),
        strict=True,
    ):
        fixed[name] = encode_json(value)
        if fixed[name] != files.contents[name] and not (name == main_file and changes):
            changes.append(f"{name}: written again in the form of bundles, with the same content")
    manifest = read_manifest(files.contents[MANIFEST_FILE])
    fixed[MANIFEST_FILE] = encode_json({**manifest, "files": list_files(fixed)})
    if fixed[MANIFEST_FILE] != files.contents[MANIFEST_FILE]:
        changes.append(f"{MANIFEST_FILE}: written again")
    # The manifest is last: after an interruption it shows that the bundle is not complete.
    for name in (*files.kind.documents, MANIFEST_FILE):
        if fixed[name] != files.contents.get(name):
            write_durable(bundle / name, fixed[name])
    return changes


def _has_plain_form(bundle: Path) -> bool:
    """Whether the JSON files of a bundle can be read and have the form in which bundles are
    written."""
    files = read_files(bundle)
    try:
        return all(
            encode_json(read_json(name, files.contents[name])) == files.contents[name]
            for name in (*files.kind.documents, MANIFEST_FILE)
        )
    except (Refused, KeyError):
        return False


def _require_fixable(bundle: Path, files: Files) -> None:
    """Raises UnfixableError if the bundle is signed, or if anything but the manifest is missing,
    unknown or changed."""
    # `exists` is false for a dangling link.
    if (bundle / SIGNATURE_DIR).is_symlink() or (bundle / SIGNATURE_DIR).exists():
        raise UnfixableError(
            "it is signed, and signed bundles are not changed; to change it, remove "
            f"{SIGNATURE_DIR}/ and sign it again"
        )
    if others := [
        p for p in files.problems if (p.rule, p.violation.file) != (FILE_MISSING, MANIFEST_FILE)
    ]:
        raise UnfixableError(_format_first(others))
    if MANIFEST_FILE not in files.contents:
        raise UnfixableError(
            f"there is no {MANIFEST_FILE}, and only the run that wrote the evidence can list it; "
            "restore it from where the run was made, or run again with bench-submit"
        )
    try:
        manifest = read_manifest(files.contents[MANIFEST_FILE])
    except Refused as refusal:
        raise UnfixableError(
            f"the manifest of the run cannot be read: {_format_first(refusal.problems)}; restore "
            "it, or run again"
        ) from None
    listed = {entry["path"] for entry in manifest["files"]}
    changed = [
        problem.violation.file
        for problem in find_manifest_problems(files)
        # JSON files are what is written again, so they may differ from the manifest.
        if problem.rule == FILE_ALTERED and problem.violation.file not in files.kind.documents
    ]
    if changed:
        raise UnfixableError(
            f"{changed[0]} is not the file that the run wrote, and evidence is never written "
            "again; restore it"
        )
    if unlisted := sorted(files.contents.keys() - listed - {MANIFEST_FILE, *files.kind.documents}):
        raise UnfixableError(
            f"{unlisted[0]} is evidence that the manifest does not list; restore the manifest or "
            "run again"
        )


def _format_first(problems: Iterable[Problem]) -> str:
    problem = next(iter(problems))
    return f"{problem.rule} {problem.violation.file}: {problem.violation.found}"


def _fix_study(judged: StudyBundle) -> Sequence[_Change]:
    """Replace the figures in study.json if any does not follow from the tables. Raises
    MetricsError."""
    stated, accuracies = judged.study["figures"], read_shipped_table()
    computed = study_figures_to_json(compute_study_figures(judged, accuracies))
    if judged.declaration.accuracy.sha256 != accuracies.sha256:
        # They follow from a table that is not here: keep them as stated.
        computed[DEPENDENT_ON_ACCURACIES] = stated[DEPENDENT_ON_ACCURACIES]
    changes = list(find_figure_differences(stated, computed))
    if changes:
        judged.study["figures"] = computed
    return changes


def _fix_observation(judged: ObservationBundle) -> Sequence[_Change]:
    """Replace the figures in observation.json if any does not follow from the readings. Raises
    MetricsError."""
    figures = judged.figures_or_reason
    if isinstance(figures, str):
        raise MetricsError(figures)
    stated, computed = judged.observation["figures"], to_json(figures)
    changes = [
        (f"/figures/{name}", stated[name], value)
        for name, value in computed.items()
        if not _is_equal(stated[name], value, TOLERANCE)
    ]
    if changes:
        judged.observation["figures"] = computed
    return changes


def _fix_run(judged: Bundle) -> Sequence[_Change]:
    """Replace the figures in result.json if any does not follow from the tables. Raises
    MetricsError and UnfixableError."""
    figures = judged.stated_figures
    if figures is None:
        raise MetricsError(judged.figures_error)
    computed = figures_to_json(figures)
    if judged.node_figures is not None:
        add_node_figures(computed, judged.node_figures)
    stated = {epoch["epoch"]: epoch for epoch in judged.result["epochs"]}
    if [epoch["epoch"] for epoch in computed["epochs"]] != list(stated):
        raise UnfixableError("result.json has other epochs than the tables")
    # Losses and extensions do not follow from the tables: keep them as stated.
    computed["epochs"] = [{**stated[epoch["epoch"]], **epoch} for epoch in computed["epochs"]]
    computed |= _compute_idle(judged)
    before = _flatten({name: judged.result.get(name) for name in computed})
    tolerance = judged.protocol.recompute_tolerance
    changes = [
        (pointer, before.get(pointer), value)
        for pointer, value in _flatten(computed).items()
        if not _is_equal(before.get(pointer), value, tolerance)
    ]
    if changes:
        # All figures, also those within the tolerance: they must come from one computation.
        judged.result.update(computed)
    return changes


def _compute_idle(judged: Bundle) -> Json:
    """The keys of result.json on idle power and phases; empty if it states none or the evidence
    does not allow them. Unused boards have no evidence, so theirs are kept as stated."""
    stated, computed = idle_from_json(judged.result), judged.idle_figures_or_reason
    if stated is None or isinstance(computed, str):
        return {}
    unused_boards = tuple(board for board in stated.boards if not board.used)
    return idle_to_json(replace(computed, boards=computed.boards + unused_boards))


def _flatten(value: Any, pointer: str = "") -> Json:
    """Every value in `value` that contains no others, by its JSON pointer."""
    items: Iterable[tuple[Any, Any]]
    if isinstance(value, dict) and value:
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {pointer: value}
    return {
        inner_pointer: leaf
        for name, inner in items
        for inner_pointer, leaf in _flatten(inner, f"{pointer}/{name}").items()
    }


def _is_equal(stated: Any, computed: Any, tolerance: float) -> bool:
    """Whether two values are equal; numbers up to the relative `tolerance`."""
    if _is_number(stated) and _is_number(computed):
        # Another machine can round differently. Such a difference is no change.
        return math.isclose(stated, computed, rel_tol=tolerance)
    return bool(stated == computed)


def _is_number(value: Any) -> bool:
    # In Python, a bool is an int.
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _format_value(value: Any) -> str:
    return "nothing" if value is None else str(value)
