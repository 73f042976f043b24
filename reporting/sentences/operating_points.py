"""Which batch size, number of requests in flight or precision needs the least energy per item, and
whether another one has more throughput."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reporting.report_table import escape_invisible
from reporting.results_model import ResultRow
from reporting.sections.cells import name_load, name_setting
from reporting.sections.repeats import JOULES, RATE, ReportSpread, make_setting
from reporting.sections.sweeps.axes import (
    AXES,
    AxisPoint,
    AxisSweep,
    SweptAxis,
    choose_least_energy,
    find_axis_sweeps,
)
from reporting.sections.sweeps.same_boards import estimate_changes
from reporting.sentences.capping import Change, judge_change
from reporting.sentences.choice import choose_least_setting, get_joules
from reporting.words import (
    format_percent,
    format_value_with_unit,
    join_words,
    limit_sentences,
)
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
    fastest: tuple[str, float] | None
    """The value with the highest throughput, and by how many percent this is above that of the best
    value; None if no value has measurably more."""


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
    energy_changes = _judge_changes(points, best, JOULES, spread)
    return BestValue(
        sweep=escape_invisible(sweep.name),
        axis=axis,
        value=escape_invisible(best.label),
        joules_per_item=best.point.joules_per_item,
        ties=tuple(value for value, change in energy_changes.items() if not change.counts),
        count=len(points),
        fastest=_find_fastest(_judge_changes(points, best, RATE, spread)),
    )


def _judge_changes(
    points: Sequence[AxisPoint], best: AxisPoint, figure: str, spread: ReportSpread
) -> dict[str, Change]:
    """The change of a figure, `RATE` or `JOULES`, at each other value against the best one: on the
    same boards where these connect the two, else as two settings are compared elsewhere on the
    page."""
    rows_by_value = {point.label: point.rows for point in points}
    changes = estimate_changes(rows_by_value, best.label, figure, spread)
    return {
        escape_invisible(point.label): judge_change(changes[point.label])
        if point.label in changes
        else _compare_settings(point, best, figure, spread)
        for point in points
        if point is not best
    }


def _compare_settings(
    point: AxisPoint, best: AxisPoint, figure: str, spread: ReportSpread
) -> Change:
    setting, best_setting = (make_setting(p.rows, spread) for p in (point, best))
    difference = setting.compare(best_setting, figure)
    assert difference is not None
    return Change(difference.percent, difference.ci95, difference.counts)


def _find_fastest(rate_changes: Mapping[str, Change]) -> tuple[str, float] | None:
    gains_percent = {
        value: change.percent
        for value, change in rate_changes.items()
        if change.counts and change.percent > 0
    }
    return max(gains_percent.items(), key=lambda item: item[1]) if gains_percent else None


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


def _describe_fastest(best: BestValue) -> str:
    if best.fastest is None:
        return ", without a measurable loss of throughput."
    value, gain_percent = best.fastest
    return f". Throughput is highest at {value}: {format_percent(gain_percent)} more."


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
    best_values = find_best_values(axis, rows, spread)
    sentences = _describe_best_values(axis, workload, rows, spread)
    least = choose_least_setting(rows, spread)
    if (
        sentences
        and least
        and get_joules(least).value < min(best.joules_per_item for best in best_values)
    ):
        joules = format_value_with_unit(get_joules(least).value, f"J/{workload.item}")
        sentences.append(
            f"Other settings differ in more than precision. Of all, {name_setting(least.mean)}, "
            f"{name_load(least.mean)}, needs the least energy: {joules}."
        )
    return sentences


def _describe_best_values(
    axis: SweptAxis, workload: Workload, rows: Sequence[ResultRow], spread: ReportSpread
) -> list[str]:
    sentences = [
        f"{best.sweep}: {describe_best_value(best, workload.item_name)}, "
        f"{format_value_with_unit(best.joules_per_item, f'J/{workload.item}')}"
        f"{_describe_fastest(best)}"
        for best in find_best_values(axis, rows, spread)
    ]
    return limit_sentences(sentences, "sweep")
