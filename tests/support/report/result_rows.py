"""Result rows without bundles behind them, for tests of the report's tables."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

from reporting.results_model import Figure, ResultRow
from reporting.run_record import Provenance, RunRecord
from reporting.sections.repeats import JOULES, RATE
from rules.declarations.system import Accelerator
from rules.metrics.figures import FIGURES, Estimate, Headline
from rules.metrics.uncertainty.within_run import Drift, EpochSeries, WithinRun


def make_figure(value: float, half_width: float = 0.0) -> Figure:
    return Figure(value, "measured", 10, (value - half_width, value + half_width))


def make_run_row(rate: float, *boards: str, **fields: Any) -> ResultRow:
    """A run at 700 W on boards with these UUIDs. Throughput and energy have narrow intervals. Rows
    with equal fields are repeats of one setting; `batch_size` makes another setting."""
    row: dict[str, Any] = {
        "workload": "resnet50-train",
        "standing": "closed",
        "system": "node",
        "accelerator": "NVIDIA H200",
        "model": "H200",
        "cap_w": 700.0,
        "cap_enforced": True,
        "items_per_s_per_accelerator": make_figure(rate, 0.1),
        "joules_per_item": make_figure(700 / rate, 0.0001),
        "items_per_joule": make_figure(rate / 700, 0.0001),
        "mfu": None,
        "implausible": None,
        "count": len(boards),
        "variant": "tuned",
        "precision": "bf16",
    } | fields
    kind = tuple(
        row.get(key)
        for key in ("system", "model", "standing", "variant", "precision", "count", "batch_size")
    )
    within_run = make_within_run(row["items_per_s_per_accelerator"], row["joules_per_item"])
    record = make_record(*boards, kind=kind, within_run=within_run)
    provenance = Provenance(record, "someone@example", ())
    return ResultRow(**{"provenance": provenance} | row)


def make_within_run(rate: Figure, joules: Figure | None) -> WithinRun:
    """Ten epochs with a standard deviation of 0.1 %; without the figures that no comparison
    reads."""
    estimates: dict[str, Any] = dict.fromkeys(FIGURES)
    for name, figure in ((RATE, rate), (JOULES, joules)):
        if figure is not None:
            estimates[name] = Estimate(figure.value, 10, 0.001 * figure.value, figure.ci95)
    series = EpochSeries(0.2, Drift(0.1, 0.3))
    return WithinRun(Headline(**estimates), series, series)


def make_record(*boards: str, kind: tuple[object, ...] = (), within_run: Any = None) -> RunRecord:
    """A record that only names its boards and its kind, and has the figures that comparisons
    read."""
    unread: Any = None
    return RunRecord(
        path=Path("submissions") / "-".join(boards),
        kind=kind,
        accelerators=tuple(
            Accelerator("", "node1", uuid, "NVIDIA H200", "NVIDIA", None, None, 700.0)
            for uuid in boards
        ),
        # Its settings tell whether the work was simulated and whether it was a server's.
        declaration=Mock(
            implementation=Mock(settings={}), settings=Mock(requests=None, options=None)
        ),
        system=unread,
        environment=unread,
        within_run=within_run,
        observed=(),
        energy_of_record="counter",
        serving=None,
        imbalance=None,
        clocks=unread,
        spread=None,
        nodes_within_run=None,
        node_spread=None,
        idle=None,
        activity=unread,
    )
