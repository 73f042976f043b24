"""Which batch size, or number of requests in flight, needs the least energy per item."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reporting.report_table import escape_invisible
from reporting.results_model import ResultRow
from reporting.sections.repeats import JOULES, ReportSpread, Setting
from reporting.sections.sweeps.axes import (
    AXES,
    AxisPoint,
    AxisSweep,
    SweptAxis,
    choose_least_energy,
    find_axis_sweeps,
)
from reporting.sections.sweeps.same_boards import estimate_changes
from reporting.sentences.capping import judge_change
from reporting.sentences.words import format_value_with_unit, join_words, limit_sentences
from rules.metrics.sweeps.gains import compare
from rules.metrics.uncertainty.propagation import excludes
from rules.workloads import Workload


@dataclass(frozen=True)
class BestValue:
    """The value of an axis with the least energy per item in a sweep."""

    sweep: str
    axis: SweptAxis
    value: str
    joules_per_item: float
    ties: tuple[str, ...]
    """Values that cannot be told apart from it."""
    count: int
    """The number of compared values."""


def get_axis(workload: Workload) -> SweptAxis:
    """The axis that the load of a workload is swept over."""
    name = "concurrency" if workload.mode == "inference" else "batch"
    return next(axis for axis in AXES if axis.name == name)


def find_best_values(
    axis: SweptAxis, rows: Sequence[ResultRow], spread: ReportSpread
) -> list[BestValue]:
    """The best value of each sweep over an axis, from runs that may win. Sweeps with one such value
    are left out."""
    best_values = (_find_best(axis, sweep, spread) for sweep in find_axis_sweeps(axis, rows))
    return [best_value for best_value in best_values if best_value is not None]


def _find_best(axis: SweptAxis, sweep: AxisSweep, spread: ReportSpread) -> BestValue | None:
    points = [point for point in sweep.points if all(row.may_win for row in point.rows)]
    if len(points) < 2:
        return None
    best = choose_least_energy(points, spread)
    return BestValue(
        sweep=escape_invisible(sweep.name),
        axis=axis,
        value=escape_invisible(best.label),
        joules_per_item=best.point.joules_per_item,
        ties=tuple(_list_ties(points, best, spread)),
        count=len(points),
    )


def _list_ties(points: Sequence[AxisPoint], best: AxisPoint, spread: ReportSpread) -> Iterator[str]:
    rows_by_value = {point.label: point.rows for point in points}
    changes = estimate_changes(rows_by_value, best.label, JOULES, spread)
    for point in points:
        if point is best:
            continue
        # Without shared boards, the difference between boards counts too.
        if not (
            excludes(changes[point.label].ci95, 0.0)
            if point.label in changes
            else _exceeds_board_spread(point, best, spread)
        ):
            yield escape_invisible(point.label)


def _exceeds_board_spread(point: AxisPoint, best: AxisPoint, spread: ReportSpread) -> bool:
    limit = spread.by_figure[JOULES].get_limit_percent(Setting(point.rows), Setting(best.rows))
    return judge_change(compare(point.point, best.point).energy_gain_percent, limit).counts


def describe_best_value(best: BestValue, item: str) -> str:
    """The finding of a sweep as a title, without its name."""
    values = join_words([best.value, *best.ties])
    is_plural = bool(best.ties) or best.axis.name == "concurrency"
    subject = (
        f"{values} requests in flight"
        if best.axis.name == "concurrency"
        else f"{best.axis.title} {values}"
    )
    end = "and cannot be told apart" if best.ties else f"of {best.count} values"
    return f"{subject} {'need' if is_plural else 'needs'} the least energy per {item} {end}"


def describe_operating_point(
    workload: Workload, rows: Sequence[ResultRow], spread: ReportSpread
) -> list[str]:
    """The best load of each sweep, or that there is no sweep."""
    axis = get_axis(workload)
    sentences = _describe_best_values(axis, workload, rows, spread)
    return sentences or [f"No sweep over {axis.title} of this workload has been submitted."]


def describe_best_precision(
    workload: Workload, rows: Sequence[ResultRow], spread: ReportSpread
) -> list[str]:
    """The best precision of each sweep over precision; empty without one."""
    axis = next(axis for axis in AXES if axis.name == "precision")
    return _describe_best_values(axis, workload, rows, spread)


def _describe_best_values(
    axis: SweptAxis, workload: Workload, rows: Sequence[ResultRow], spread: ReportSpread
) -> list[str]:
    sentences = [
        f"{best.sweep}: {describe_best_value(best, workload.item_name)}, "
        f"{format_value_with_unit(best.joules_per_item, f'J/{workload.item}')}."
        for best in find_best_values(axis, rows, spread)
    ]
    return limit_sentences(sentences, "sweep") if sentences else []
