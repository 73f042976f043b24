"""What a sweep shows at its end: a table of its runs, and each cap against the default cap."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from harness.sweep_plan import Entry, Sweep
from rules import sweeps
from rules.metrics import MetricsError
from rules.records import Json
from rules.workloads import workloads

NO_CAP = "none"
"""Of a run whose meter knows of no limit."""


def show(sweep: Sweep, outcomes: Mapping[int, Json | str], without_effect: Collection[str]) -> None:
    """Print the tables. An outcome is, by place, the result of a run or why it has none; `without_effect` are the ids of the
    runs whose cap changed nothing against another's.
    """
    item = workloads()[sweep.wish.workload].item
    console = Console(width=None if sys.stdout.isatty() else 200, markup=False, highlight=False)
    console.print(runs(sweep.entries, outcomes, item, without_effect))
    for gpus in sorted({e.gpus for e in sweep.entries}):
        of_these = [outcomes[e.place] for e in sweep.entries if e.gpus == gpus and e.cap_w is not None]
        results = [o for o in of_these if not isinstance(o, str)]
        if results:
            compare(results, f"{gpus} GPU{'s' if gpus > 1 else ''}", item, without_effect, console)


def runs(entries: Sequence[Entry], outcomes: Mapping[int, Json | str], item: str, without_effect: Collection[str]) -> Table:
    """Every run of the sweep, by accelerators, cap and repeat. A cap that was not enforced is in parentheses."""
    table = Table(box=None, header_style="", pad_edge=False)
    for name in ("GPUs", "cap, W", "repeat", f"{item}s/s", "W per GPU", f"J/{item}"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("outcome", overflow="fold")
    for entry in sorted(entries, key=lambda e: (e.gpus, e.cap_w or 0, e.repeat)):
        outcome = outcomes[entry.place]
        if isinstance(outcome, str):
            cap = "as found" if entry.cap_w is None else f"{entry.cap_w:g}"
            table.add_row(str(entry.gpus), cap, str(entry.repeat), "", "", "", f"failed: {outcome.splitlines()[0]}")
            continue
        head, cap_w = outcome["headline"], outcome["power"]["cap_w"]
        figures = [head[name] for name in ("items_per_s", "mean_power_w_per_accelerator", "joules_per_item")]
        shown = ["" if f is None else f"{f['mean']:.{digits}g}" for f, digits in zip(figures, (6, 4, 4), strict=True)]
        cap = NO_CAP if cap_w is None else marked(cap_w, enforced(outcome, without_effect))
        table.add_row(str(entry.gpus), cap, str(entry.repeat), *shown, outcome["run_id"])
    return table


def compare(results: Sequence[Json], on: str, item: str, without_effect: Collection[str], console: Console) -> None:
    """Print the efficiency peak, and what each cap saves and costs against the default cap where that was run."""
    try:
        points = sweeps.combine([replace(sweeps.point(r), enforced=enforced(r, without_effect)) for r in results])
        console.print(f"{on}: {peak(points, item)}")
        reference = sweeps.reference(points, sweeps.default_cap_w(results))
    except MetricsError as error:
        console.print(f"{on}: {error}")
        return
    table = Table(box=None, header_style="", pad_edge=False)
    for name in ("cap, W", "runs", f"{item}s/J", "energy gain, %", "performance loss, %", "EDP gain, %"):
        table.add_column(name, justify="right", no_wrap=True)
    for point in points:
        against = sweeps.compare(point, reference)
        gains = (against.energy_gain_percent, against.performance_loss_percent, against.edp_gain_percent)
        cap = marked(point.cap_w, point.enforced)
        table.add_row(cap, str(point.n), f"{point.items_per_joule:.4g}", *(f"{round(gain, 1) + 0:.1f}" for gain in gains))
    console.print(f"{on}, against the default cap of {reference.cap_w:g} W:")
    console.print(table)


def peak(points: Sequence[sweeps.Point], item: str) -> str:
    """Where the sweep is most efficient. Raises MetricsError where no run may be the peak."""
    measured, quadratic = sweeps.measured_peak(points), sweeps.quadratic_peak(points)
    between = f" (interpolated: {quadratic.items_per_joule:.4g} at {quadratic.cap_w:.0f} W)" if quadratic else ""
    return f"efficiency peak {measured.items_per_joule:.4g} {item}s/J at {measured.cap_w:g} W{between}"


def enforced(result: Json, without_effect: Collection[str]) -> bool | None:
    """Whether the cap of a run was kept, and did something."""
    return False if result["run_id"] in without_effect else sweeps.enforced(result)


def marked(cap_w: float, enforced: bool | None) -> str:
    """A cap as tables show it: in parentheses where it was not enforced."""
    return f"({cap_w:g})" if enforced is False else f"{cap_w:g}"
