"""The tables that a sweep prints at its end: its runs, the comparison of their settings, and the
spread over repeats."""

import sys
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from harness.sweep.axis import AS_FOUND, AXES, CAP, GPUS, Axis
from harness.sweep.comparison import (
    format_settings,
    make_table,
    print_comparison,
    print_scaling,
    sort_key,
)
from harness.sweep.plan import Entry, Sweep
from harness.sweep.points import SettingRuns, is_enforced
from rules.bundle_format.records import Json
from rules.metrics.figures import estimate_mean
from rules.metrics.figures_json import sweep_run_from_json
from rules.metrics.sweeps.points import SweepRun
from rules.workloads import pluralize_item, workloads

FIGURES = (("items_per_s", 6), ("mean_power_w_per_accelerator", 4), ("joules_per_item", 4))
"""The printed figures of a run, with the number of significant digits."""
_SHORT_ID = len("20260102T030405Z")
_UNLIMITED = 1000


def print_line(text: str) -> None:
    """Print a line as it is, without markup, highlighting or wrapping."""
    Console().print(text, markup=False, highlight=False, soft_wrap=True)


def print_text(text: str) -> None:
    """Print a line, wrapped at the width of the terminal."""
    # Names of boards and runs have hyphens and stay whole.
    wrapper = textwrap.TextWrapper(
        Console().width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    print_line(wrapper.fill(text))


def print_tables(
    sweep: Sweep, outcomes: Mapping[int, Json | str], ineffective_run_ids: Collection[str]
) -> None:
    """Print the tables. `outcomes` holds, by place, the result of a run or the reason why it has
    none. `ineffective_run_ids` are the runs whose cap changed nothing compared with other runs.
    """
    workload = workloads()[sweep.run_request.workload]
    item = workload.item_of(sweep.run_request.size)
    # Without a terminal rich assumes 80 columns and would fold the rows of a redirected table.
    console = Console(width=None if sys.stdout.isatty() else 200, markup=False, highlight=False)
    finished_runs = {
        place: sweep_run_from_json(outcome)
        for place, outcome in outcomes.items()
        if not isinstance(outcome, str)
    }
    failures = {p: outcome for p, outcome in outcomes.items() if isinstance(outcome, str)}
    axes = list_table_axes(sweep)
    parts = axes, sweep.entries, finished_runs, failures, item, ineffective_run_ids
    runs_table = build_runs_table(*parts)
    # A measurement is never above the width of its options.
    unlimited = console.options.update_width(_UNLIMITED)
    if Measurement.get(console, unlimited, runs_table).minimum > console.width:
        runs_table = build_runs_table(*parts, id_length=_SHORT_ID)
    needed = Measurement.get(console, unlimited, runs_table).minimum
    # On a terminal that is narrower still, no id of a run is broken.
    console.print(runs_table, width=max(console.width, needed), crop=False, soft_wrap=False)
    runs: dict[Entry, list[SweepRun]] = {}
    for entry in sorted(sweep.entries, key=sort_key):
        if entry.place in finished_runs:
            setting = replace(entry, place=0, repeat=0)
            runs.setdefault(setting, []).append(finished_runs[entry.place])
    _print_comparisons(sweep, runs, item, ineffective_run_ids, console)
    if len({entry.gpus for entry in sweep.entries}) > 1:
        other_axes = [axis for axis in axes if axis.name != GPUS.name]
        print_scaling(runs, other_axes, ineffective_run_ids, console)
    print_repeats(axes, runs, item, ineffective_run_ids, console)
    if any(
        is_enforced(run, ineffective_run_ids) is False
        for results in runs.values()
        for run in results
    ):
        console.print("(cap): not enforced")


def list_table_axes(sweep: Sweep) -> list[Axis]:
    """Return the settings that tables show: accelerators, cap, and what else the sweep varies."""
    others = [AXES[name] for name in sweep.axis_names if name not in (CAP.name, GPUS.name)]
    return [GPUS, CAP, *others]


def _print_comparisons(
    sweep: Sweep,
    runs: SettingRuns,
    item: str,
    ineffective_run_ids: Collection[str],
    console: Console,
) -> None:
    """Print one comparison for each number of accelerators, or one over these numbers if the sweep
    varies nothing else."""
    axes = [axis for axis in sweep.axes if axis.name != GPUS.name] or list(sweep.axes)
    if not any(axis.values != (None,) for axis in axes):
        # A sweep with the cap as found has a single cap, so there is nothing to compare.
        return
    if axes[0].name == GPUS.name:
        groups = {"numbers of GPUs": runs}
    else:
        groups = {
            GPUS.label(gpus): {entry: runs[entry] for entry in runs if entry.gpus == gpus}
            for gpus in sorted({entry.gpus for entry in runs})
        }
    for title, group in groups.items():
        print_comparison(axes, group, sweep.reference, title, item, ineffective_run_ids, console)


def build_runs_table(
    axes: Sequence[Axis],
    entries: Sequence[Entry],
    finished_runs: Mapping[int, SweepRun],
    failures: Mapping[int, str],
    item: str,
    ineffective_run_ids: Collection[str],
    id_length: int | None = None,
) -> Table:
    """Return the table of all runs, sorted by their settings and repeat. A cap that was not
    enforced is in parentheses. Of run ids that begin with different `id_length` characters it has
    these, which commands take too."""
    columns = [axis.column for axis in axes]
    table = make_table(*columns, "repeat", f"{pluralize_item(item)}/s", "W per GPU", f"J/{item}")
    ids = {place: run.run_id[:id_length] for place, run in finished_runs.items()}
    if len(set(ids.values())) < len(ids):
        ids = {place: run.run_id for place, run in finished_runs.items()}
    id_width = max(map(len, ids.values()), default=0)
    table.add_column("outcome", overflow="fold", min_width=id_width)
    # The sweep itself runs in random order.
    for entry in sorted(entries, key=sort_key):
        run, failure = finished_runs.get(entry.place), failures.get(entry.place)
        if run is None:
            settings = format_settings(axes, entry, entry.cap_w, None)
            if entry.cap_w is None:
                settings[axes.index(CAP)] = AS_FOUND
            outcome = "not run" if failure is None else f"failed: {failure.splitlines()[0]}"
            table.add_row(*settings, str(entry.repeat), "", "", "", outcome)
            continue
        estimates = [(getattr(run.figures.headline, name), digits) for name, digits in FIGURES]
        figures = ["" if e is None else f"{e.mean:.{digits}g}" for e, digits in estimates]
        settings = format_settings(axes, entry, run.cap_w, is_enforced(run, ineffective_run_ids))
        table.add_row(*settings, str(entry.repeat), *figures, ids[entry.place])
    return table


def print_repeats(
    axes: Sequence[Axis],
    runs: SettingRuns,
    item: str,
    ineffective_run_ids: Collection[str],
    console: Console,
) -> None:
    """Print mean and standard deviation over repeated runs at the same setting."""
    columns = [axis.column for axis in axes]
    table = make_table(
        *columns,
        "runs",
        f"{pluralize_item(item)}/s",
        "sd",
        "W per GPU",
        "sd",
        f"J/{item}",
        "sd",
    )
    for entry, results in runs.items():
        if len(results) == 1:
            continue
        # If the cap of one run was not enforced, the mean is not that of the cap.
        is_kept = not any(is_enforced(run, ineffective_run_ids) is False for run in results)
        figures = [
            text for name, digits in FIGURES for text in _format_spread(results, name, digits)
        ]
        settings = format_settings(axes, entry, results[0].cap_w, is_kept)
        table.add_row(*settings, str(len(results)), *figures)
    if table.row_count:
        console.print("over the repeats, mean and standard deviation:")
        console.print(table)


def _format_spread(results: Sequence[SweepRun], name: str, digits: int) -> tuple[str, str]:
    """Return mean and standard deviation of a figure over runs as text. Both are empty if a run
    lacks the figure."""
    estimates = [getattr(run.figures.headline, name) for run in results]
    if None in estimates:
        return "", ""
    over_runs = estimate_mean([estimate.mean for estimate in estimates])
    # `g` alone would print 120 with two digits as 1.2e+02.
    sd = float(f"{over_runs.sd:.2g}")
    return f"{over_runs.mean:.{digits}g}", f"{sd:g}"
