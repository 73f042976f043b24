"""What a sweep shows at its end: a table of its runs, and each cap against the default cap."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from harness.sweep.plan import Entry, Sweep
from rules.bundle_format.records import Json
from rules.metrics import sweeps
from rules.metrics.energy import MetricsError
from rules.metrics.figures import estimate_mean
from rules.metrics.figures_json import sweep_run_from_json
from rules.metrics.sweeps import SweepRun
from rules.workloads import workloads

NO_CAP = "none"
"""Of a run whose meter knows of no limit."""
FIGURES = (("items_per_s", 6), ("mean_power_w_per_accelerator", 4), ("joules_per_item", 4))
"""Of the headline, and with how many digits they are shown."""


def say(text: str) -> None:
    """A line for the reader."""
    Console().print(text, markup=False, highlight=False, soft_wrap=True)


def show(sweep: Sweep, outcomes: Mapping[int, Json | str], without_effect: Collection[str]) -> None:
    """Print the tables. An outcome is, by place, the result of a run or why it has none;
    `without_effect` are the ids of the runs whose cap changed nothing against another's.
    """
    item = workloads()[sweep.run_request.workload].item
    # Without a terminal rich assumes 80 columns and would fold the rows of a redirected table.
    console = Console(width=None if sys.stdout.isatty() else 200, markup=False, highlight=False)
    finished = {
        place: sweep_run_from_json(outcome)
        for place, outcome in outcomes.items()
        if not isinstance(outcome, str)
    }
    failures = {p: outcome for p, outcome in outcomes.items() if isinstance(outcome, str)}
    console.print(runs(sweep.entries, finished, failures, item, without_effect))
    by_gpus: dict[int, list[SweepRun]] = {}
    for entry in sorted(sweep.entries, key=lambda e: e.gpus):
        if entry.place in finished:
            by_gpus.setdefault(entry.gpus, []).append(finished[entry.place])
    # As found, all runs have one cap, so there is nothing to compare.
    if any(e.cap_w is not None for e in sweep.entries):
        for gpus, results in by_gpus.items():
            compare(results, f"{gpus} GPU{'s' if gpus > 1 else ''}", item, without_effect, console)
    if len({e.gpus for e in sweep.entries}) > 1:
        scale(by_gpus, without_effect, console)
    repeats(by_gpus, item, without_effect, console)
    if any(enforced(r, without_effect) is False for results in by_gpus.values() for r in results):
        console.print("(cap): not enforced")


def runs(
    entries: Sequence[Entry],
    finished: Mapping[int, SweepRun],
    failures: Mapping[int, str],
    item: str,
    without_effect: Collection[str],
) -> Table:
    """Every run of the sweep, by accelerators, cap and repeat. A cap that was not enforced is in
    parentheses."""
    table = Table(box=None, header_style="", pad_edge=False)
    for name in ("GPUs", "cap, W", "repeat", f"{item}s/s", "W per GPU", f"J/{item}"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("outcome", overflow="fold")
    # Sorted for the reader. The sweep itself runs in random order.
    for entry in sorted(entries, key=lambda e: (e.gpus, e.cap_w or 0, e.repeat)):
        run, failure = finished.get(entry.place), failures.get(entry.place)
        if run is None:
            cap = "as found" if entry.cap_w is None else f"{entry.cap_w:g}"
            outcome = "not run" if failure is None else f"failed: {failure.splitlines()[0]}"
            table.add_row(str(entry.gpus), cap, str(entry.repeat), "", "", "", outcome)
            continue
        estimates = [(getattr(run.figures.headline, name), digits) for name, digits in FIGURES]
        shown = ["" if e is None else f"{e.mean:.{digits}g}" for e, digits in estimates]
        cap = NO_CAP if run.cap_w is None else format_cap(run.cap_w, enforced(run, without_effect))
        table.add_row(str(entry.gpus), cap, str(entry.repeat), *shown, run.run_id)
    return table


def compare(
    results: Sequence[SweepRun],
    accelerators: str,
    item: str,
    without_effect: Collection[str],
    console: Console,
) -> None:
    """Print the efficiency peak, and what each cap saves and costs against the default cap where
    that was run."""
    try:
        points = _make_points(results, without_effect)
        if line := peak(points, item):
            console.print(f"{accelerators}: {line}")
        reference = sweeps.find_reference(
            points,
            sweeps.common_default_cap_w(cap for run in results for cap in run.default_caps_w),
        )
    except MetricsError as error:
        console.print(f"{accelerators}: {error}")
        return
    table = Table(box=None, header_style="", pad_edge=False)
    for name in (
        "cap, W",
        "runs",
        f"{item}s/J",
        "energy gain, %",
        "performance loss, %",
        "EDP gain, %",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for point in points:
        against = sweeps.compare(point, reference)
        gains = (
            against.energy_gain_percent,
            against.performance_loss_percent,
            against.edp_gain_percent,
        )
        cap = format_cap(point.cap_w, point.enforced)
        table.add_row(
            cap,
            str(point.n),
            f"{point.items_per_joule:.4g}",
            *(f"{round(gain, 1) + 0:.1f}" for gain in gains),
        )
    console.print(f"{accelerators}, against the default cap of {reference.cap_w:g} W:")
    console.print(table)


def scale(
    by_gpus: Mapping[int, Sequence[SweepRun]], without_effect: Collection[str], console: Console
) -> None:
    """Print what several GPUs do against one at the same cap."""
    table = Table(box=None, header_style="", pad_edge=False)
    for name in ("cap, W", "GPUs", "speed-up", "efficiency, %", "energy per item, ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    try:
        points = {
            gpus: {p.cap_w: p for p in _make_points(results, without_effect)}
            for gpus, results in by_gpus.items()
        }
    except MetricsError as error:
        console.print(f"scaling: {error}")
        return
    single = points.get(1, {})
    for cap_w in sorted(single):
        for gpus in [g for g in points if g > 1 and cap_w in points[g]]:
            several = points[gpus][cap_w]
            scaling = sweeps.compute_scaling(several, gpus, single[cap_w])
            held = False if False in (several.enforced, single[cap_w].enforced) else None
            figures = (
                f"{scaling.speed_up:.2f}",
                f"{100 * scaling.efficiency:.1f}",
                f"{scaling.energy_per_item_ratio:.3f}",
            )
            table.add_row(format_cap(cap_w, held), str(gpus), *figures)
    if table.row_count:
        console.print("several GPUs against one at the same cap:")
        console.print(table)
    else:
        console.print(
            "scaling: there are no runs on one GPU and on several at the same cap; have 1 "
            "among the --gpus"
        )


def repeats(
    by_gpus: Mapping[int, Sequence[SweepRun]],
    item: str,
    without_effect: Collection[str],
    console: Console,
) -> None:
    """Print mean and standard deviation of the runs that were repeated at a cap."""
    table = Table(box=None, header_style="", pad_edge=False)
    for name in (
        "GPUs",
        "cap, W",
        "runs",
        f"{item}s/s",
        "sd",
        "W per GPU",
        "sd",
        f"J/{item}",
        "sd",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for gpus, results in by_gpus.items():
        by_cap: dict[float | None, list[SweepRun]] = {}
        for run in sorted(results, key=lambda r: r.cap_w or 0):
            by_cap.setdefault(run.cap_w, []).append(run)
        for cap_w, runs_of_it in by_cap.items():
            if len(runs_of_it) == 1:
                continue
            # One run whose cap was not enforced marks the mean over all of them.
            held = False if any(enforced(r, without_effect) is False for r in runs_of_it) else None
            shown = [
                text
                for name, digits in FIGURES
                for text in _format_spread(runs_of_it, name, digits)
            ]
            table.add_row(
                str(gpus),
                NO_CAP if cap_w is None else format_cap(cap_w, held),
                str(len(runs_of_it)),
                *shown,
            )
    if table.row_count:
        console.print("over the repeats, mean and standard deviation:")
        console.print(table)


def _format_spread(results: Sequence[SweepRun], name: str, digits: int) -> tuple[str, str]:
    """Mean and standard deviation of a figure of several runs, both empty where one of them has
    none."""
    estimates = [getattr(run.figures.headline, name) for run in results]
    if None in estimates:
        return "", ""
    over_runs = estimate_mean([estimate.mean for estimate in estimates])
    # `g` alone would print 120 with two digits as 1.2e+02.
    sd = float(f"{over_runs.sd:.2g}")
    return f"{over_runs.mean:.{digits}g}", f"{sd:g}"


def _make_points(
    results: Sequence[SweepRun], without_effect: Collection[str]
) -> list[sweeps.Point]:
    """One point per cap."""
    return sweeps.combine(
        [replace(sweeps.make_point(r), enforced=enforced(r, without_effect)) for r in results]
    )


def peak(points: Sequence[sweeps.Point], item: str) -> str | None:
    """Where the sweep is most efficient; None of a single cap. Raises MetricsError where no run may
    be the peak."""
    measured, quadratic = sweeps.find_measured_peak(points), sweeps.fit_quadratic_peak(points)
    if measured.edge == "only":
        return (
            None
            if len(points) == 1
            else f"no efficiency peak: no other cap than {measured.cap_w:g} W is known to have held"
        )
    if measured.beyond:
        return (
            f"most efficient at {measured.cap_w:g} W ({measured.items_per_joule:.4g} "
            f"{item}s/J), {measured.beyond}"
        )
    between = (
        f" (interpolated: {quadratic.items_per_joule:.4g} at {quadratic.cap_w:.0f} W)"
        if quadratic
        else ""
    )
    return (
        f"efficiency peak {measured.items_per_joule:.4g} {item}s/J at {measured.cap_w:g} W{between}"
    )


def enforced(run: SweepRun, without_effect: Collection[str]) -> bool | None:
    """Whether the cap of a run was kept, and did something."""
    return False if run.run_id in without_effect else sweeps.is_cap_enforced(run.figures)


def format_cap(cap_w: float, enforced: bool | None) -> str:
    """A cap as tables show it: in parentheses where it was not enforced."""
    return f"({cap_w:g})" if enforced is False else f"{cap_w:g}"
