"""Rows and sweeps without bundles behind them, for the tests of sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from support.report.result_rows import make_figure, make_run_row

from reporting.results_model import Figure, ResultRow
from reporting.sections.repeats import Setting, measure_spread
from reporting.sections.sweeps.axes import AxisPoint, AxisSweep
from reporting.sections.sweeps.caps import CapSweep, SweepPoint
from reporting.sentences.findings import build_findings
from rules.metrics.sweeps.gains import compare
from rules.metrics.sweeps.points import Point
from rules.metrics.uncertainty.propagation import Spread
from rules.workloads import workloads

RESNET = workloads()["resnet50-train"]
NARROW = Spread(1e-8, 1e-8, 0.0, 9, "epochs")


def make_printed_row(
    cap_w: float, rate: float, *, model: str = "H200", system: str = "Paper 2026", **fields: Any
) -> ResultRow:
    """A published figure with power assumed equal to the cap, and without intervals."""
    return make_run_row(
        rate,
        **{
            "standing": "published",
            "provenance": None,
            "variant": None,
            "precision": None,
            "count": None,
            "cap_w": cap_w,
            "model": model,
            "accelerator": model,
            "system": system,
            "items_per_s_per_accelerator": Figure(rate, "printed"),
            "joules_per_item": Figure(cap_w / rate, "assumed"),
            "items_per_joule": Figure(rate / cap_w, "assumed"),
            "mean_power_w": None,
        }
        | fields,
    )


def make_h100_row(rate: float, *boards: str, **fields: Any) -> ResultRow:
    """A run at 700 W on boards of H100."""
    return make_run_row(rate, *boards, **{"model": "H100", "accelerator": "NVIDIA H100"} | fields)


def make_capped_row(cap_w: float, rate: float, **fields: Any) -> ResultRow:
    """A run on board `a` that draws its cap."""
    energy = {
        "joules_per_item": make_figure(cap_w / rate, 0.0001),
        "items_per_joule": make_figure(rate / cap_w, 0.0001),
    }
    return make_run_row(rate, "a", **{"cap_w": cap_w, **energy} | fields)


def make_sweep(rows: Sequence[ResultRow], relative_error: float | None = 0.001) -> CapSweep:
    """The sweep of these rows, one per cap, against the highest cap. Energy and time of each point
    have this relative standard error; with None no point has an interval."""
    spread = (
        None
        if relative_error is None
        else Spread(relative_error**2, relative_error**2, 0.0, 9, "epochs")
    )
    points = [_make_point(row, spread) for row in rows]
    reference = max(points, key=lambda point: point.cap_w or 0)
    best = min(points, key=lambda point: point.joules_per_item)
    return CapSweep(
        kind=(),
        name="node · tuned bf16",
        model=rows[0].model,
        caps=tuple(
            SweepPoint(point, (row,), compare(point, reference), point is best)
            for point, row in zip(points, rows, strict=True)
        ),
        reference_cap_w=reference.cap_w,
        has_declared_reference=False,
        not_compared=None,
        peak=None,
        quadratic=None,
    )


def _make_point(row: ResultRow, spread: Spread | None) -> Point:
    assert row.joules_per_item is not None
    return Point(
        row.cap_w,
        row.items_per_s_per_accelerator.value,
        row.joules_per_item.value,
        enforced=True,
        spread=spread,
    )


def make_axis_sweep(rows: Sequence[ResultRow], spread: Spread = NARROW) -> AxisSweep:
    """The sweep over the batch size of these rows. `spread` is that of each point."""
    rows_by_batch: dict[int | None, list[ResultRow]] = {}
    for row in rows:
        rows_by_batch.setdefault(row.batch_size, []).append(row)
    points = tuple(
        AxisPoint(batch, _make_point(Setting(repeats).mean, spread), tuple(repeats))
        for batch, repeats in rows_by_batch.items()
    )
    return AxisSweep((), "node · tuned bf16", points, points[0].point, points[0].value)


def answer(rows: Sequence[ResultRow], *sweeps: CapSweep) -> Mapping[str, tuple[str, ...]]:
    """The sentences on ResNet-50 by the id of their question."""
    findings = build_findings(RESNET, rows, sweeps, measure_spread(rows))
    return {question.id: question.sentences for question in findings.questions}
