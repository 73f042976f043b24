"""The tables that a sweep prints at its end: its runs, and each cap against the default cap."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from harness.sweep.plan import Entry, Sweep
from rules.bundle_format.records import Json
from rules.metrics import sweeps
from rules.metrics.energy import MetricsError
from rules.metrics.figures import estimate_mean
from rules.metrics.figures_json import sweep_run_from_json
from rules.metrics.gains import compare
from rules.metrics.sweeps import SweepRun
from rules.workloads import pluralize_item, workloads

NO_CAP = "none"
"""The text for a run whose meter reports no power limit."""
FIGURES = (("items_per_s", 6), ("mean_power_w_per_accelerator", 4), ("joules_per_item", 4))
"""The printed figures of a run, with the number of significant digits."""


def print_line(text: str) -> None:
    """Print a line as it is, without markup, highlighting or wrapping."""
    Console().print(text, markup=False, highlight=False, soft_wrap=True)


def print_text(text: str) -> None:
    """Print a line, wrapped at the width of the terminal."""
    Console().print(text, markup=False, highlight=False)


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
    runs_table = build_runs_table(sweep.entries, finished_runs, failures, item, ineffective_run_ids)
    # On a narrow terminal the table is wider than the terminal, so that no id of a run is broken.
    needed = Measurement.get(console, console.options, runs_table).minimum
    console.print(runs_table, width=max(console.width, needed), crop=False, soft_wrap=False)
    runs_by_gpus: dict[int, list[SweepRun]] = {}
    for entry in sorted(sweep.entries, key=lambda e: e.gpus):
        if entry.place in finished_runs:
            runs_by_gpus.setdefault(entry.gpus, []).append(finished_runs[entry.place])
    # A sweep with the cap as found has a single cap, so there is nothing to compare.
    if any(e.cap_w is not None for e in sweep.entries):
        for gpus, results in runs_by_gpus.items():
            print_comparison(
                results, f"{gpus} GPU{'s' if gpus > 1 else ''}", item, ineffective_run_ids, console
            )
    if len({e.gpus for e in sweep.entries}) > 1:
        print_scaling(runs_by_gpus, ineffective_run_ids, console)
    print_repeats(runs_by_gpus, item, ineffective_run_ids, console)
    if any(
        is_enforced(r, ineffective_run_ids) is False
        for results in runs_by_gpus.values()
        for r in results
    ):
        console.print("(cap): not enforced")


def build_runs_table(
    entries: Sequence[Entry],
    finished_runs: Mapping[int, SweepRun],
    failures: Mapping[int, str],
    item: str,
    ineffective_run_ids: Collection[str],
) -> Table:
    """Return the table of all runs, sorted by accelerators, cap and repeat. A cap that was not
    enforced is in parentheses."""
    table = Table(box=None, header_style="", pad_edge=False)
    for name in ("GPUs", "cap, W", "repeat", f"{pluralize_item(item)}/s", "W per GPU", f"J/{item}"):
        table.add_column(name, justify="right", no_wrap=True)
    id_width = max((len(run.run_id) for run in finished_runs.values()), default=0)
    table.add_column("outcome", overflow="fold", min_width=id_width)
    # The sweep itself runs in random order.
    for entry in sorted(entries, key=lambda e: (e.gpus, e.cap_w or 0, e.repeat)):
        run, failure = finished_runs.get(entry.place), failures.get(entry.place)
        if run is None:
            cap = "as found" if entry.cap_w is None else f"{entry.cap_w:g}"
            outcome = "not run" if failure is None else f"failed: {failure.splitlines()[0]}"
            table.add_row(str(entry.gpus), cap, str(entry.repeat), "", "", "", outcome)
            continue
        estimates = [(getattr(run.figures.headline, name), digits) for name, digits in FIGURES]
        figures = ["" if e is None else f"{e.mean:.{digits}g}" for e, digits in estimates]
        cap = format_cap(run.cap_w, is_enforced(run, ineffective_run_ids))
        table.add_row(str(entry.gpus), cap, str(entry.repeat), *figures, run.run_id)
    return table


def print_comparison(
    results: Sequence[SweepRun],
    accelerators_text: str,
    item: str,
    ineffective_run_ids: Collection[str],
    console: Console,
) -> None:
    """Print the efficiency peak, then energy gain and extra time of each cap against the default
    cap. If the default cap was not run, the error is printed instead."""
    try:
        points = _make_points(results, ineffective_run_ids)
        if line := describe_peak(points, item):
            console.print(f"{accelerators_text}: {line}")
        reference = sweeps.find_reference(
            points,
            sweeps.common_default_cap_w(cap for run in results for cap in run.default_caps_w),
        )
    except MetricsError as error:
        console.print(f"{accelerators_text}: {error}")
        return
    table = Table(box=None, header_style="", pad_edge=False)
    for name in (
        "cap, W",
        "runs",
        f"{pluralize_item(item)}/J",
        "energy gain, %",
        "extra time, %",
        "EDP gain, %",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for point in points:
        comparison = compare(point, reference)
        gains = (
            comparison.energy_gain_percent.mean,
            comparison.extra_time_percent.mean,
            comparison.edp_gain_percent.mean,
        )
        cap = format_cap(point.cap_w, point.enforced)
        table.add_row(
            cap,
            str(point.n),
            f"{point.items_per_joule:.4g}",
            *(f"{round(gain, 1) + 0:.1f}" for gain in gains),
        )
    console.print(f"{accelerators_text}, against the default cap of {reference.cap_w:g} W:")
    console.print(table)


def print_scaling(
    runs_by_gpus: Mapping[int, Sequence[SweepRun]],
    ineffective_run_ids: Collection[str],
    console: Console,
) -> None:
    """Print speed-up, efficiency and energy of several GPUs against one GPU at the same cap."""
    table = Table(box=None, header_style="", pad_edge=False)
    for name in ("cap, W", "GPUs", "speed-up", "efficiency, %", "energy per item, ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    try:
        points = {
            gpus: {p.cap_w: p for p in _make_points(results, ineffective_run_ids)}
            for gpus, results in runs_by_gpus.items()
        }
    except MetricsError as error:
        console.print(f"scaling: {error}")
        return
    single_points = points.get(1, {})
    for cap_w in sorted(single_points, key=lambda cap_w: cap_w or 0):
        for gpus in [g for g in points if g > 1 and cap_w in points[g]]:
            point = points[gpus][cap_w]
            scaling = sweeps.compute_scaling(point, gpus, single_points[cap_w])
            is_kept = False if False in (point.enforced, single_points[cap_w].enforced) else None
            figures = (
                f"{scaling.speed_up.mean:.2f}",
                f"{scaling.efficiency_percent.mean:.1f}",
                f"{scaling.energy_per_item_ratio.mean:.3f}",
            )
            table.add_row(format_cap(cap_w, is_kept), str(gpus), *figures)
    if table.row_count:
        console.print("several GPUs against one at the same cap:")
        console.print(table)
    else:
        console.print("scaling: no cap was run both on one GPU and on several; include 1 in --gpus")


def print_repeats(
    runs_by_gpus: Mapping[int, Sequence[SweepRun]],
    item: str,
    ineffective_run_ids: Collection[str],
    console: Console,
) -> None:
    """Print mean and standard deviation over repeated runs at the same cap."""
    table = Table(box=None, header_style="", pad_edge=False)
    for name in (
        "GPUs",
        "cap, W",
        "runs",
        f"{pluralize_item(item)}/s",
        "sd",
        "W per GPU",
        "sd",
        f"J/{item}",
        "sd",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for gpus, results in runs_by_gpus.items():
        runs_by_cap: dict[float | None, list[SweepRun]] = {}
        for run in sorted(results, key=lambda r: r.cap_w or 0):
            runs_by_cap.setdefault(run.cap_w, []).append(run)
        for cap_w, cap_runs in runs_by_cap.items():
            if len(cap_runs) == 1:
                continue
            # If the cap of one run was not enforced, the mean is not that of the cap.
            is_kept = (
                False
                if any(is_enforced(r, ineffective_run_ids) is False for r in cap_runs)
                else None
            )
            figures = [
                text for name, digits in FIGURES for text in _format_spread(cap_runs, name, digits)
            ]
            table.add_row(
                str(gpus),
                format_cap(cap_w, is_kept),
                str(len(cap_runs)),
                *figures,
            )
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


def _make_points(
    results: Sequence[SweepRun], ineffective_run_ids: Collection[str]
) -> list[sweeps.Point]:
    """Return one point per cap, by ascending cap."""
    return sweeps.combine(
        [
            replace(sweeps.make_point(r), enforced=is_enforced(r, ineffective_run_ids))
            for r in results
        ]
    )


def describe_peak(points: Sequence[sweeps.Point], item: str) -> str | None:
    """Describe the cap of highest efficiency in a sentence; None for a single cap. Raises
    MetricsError if no run can be the peak."""
    measured_peak, quadratic_peak = (
        sweeps.find_measured_peak(points),
        sweeps.fit_quadratic_peak(points),
    )
    if measured_peak.edge == "only":
        return (
            None
            if len(points) == 1
            else f"no efficiency peak: no other cap than {measured_peak.cap_w:g} W is known to "
            "have held"
        )
    efficiency = f"{measured_peak.items_per_joule.mean:.4g}"
    if measured_peak.beyond:
        return (
            f"most efficient at {measured_peak.cap_w:g} W ({efficiency} "
            f"{pluralize_item(item)}/J), {measured_peak.beyond}"
        )
    interpolation = (
        f" (interpolated: {quadratic_peak.items_per_joule.mean:.4g} at "
        f"{quadratic_peak.cap_w:.0f} W)"
        if quadratic_peak
        else ""
    )
    return (
        f"efficiency peak {efficiency} {pluralize_item(item)}/J at "
        f"{measured_peak.cap_w:g} W{interpolation}"
    )


def is_enforced(run: SweepRun, ineffective_run_ids: Collection[str]) -> bool | None:
    """Return whether the cap of a run was enforced: False if it was not or had no effect, None if
    that is not known."""
    return False if run.run_id in ineffective_run_ids else sweeps.is_cap_enforced(run.figures)


def format_cap(cap_w: float | None, is_kept: bool | None) -> str:
    """Format a cap in W for a table, in parentheses if it was not enforced."""
    if cap_w is None:
        return NO_CAP
    return f"({cap_w:g})" if is_kept is False else f"{cap_w:g}"
