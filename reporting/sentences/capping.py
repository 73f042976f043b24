"""What a lower cap saves and costs: measured by sweeps, and printed in papers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reporting.report_table import escape_invisible, format_signed
from reporting.results_model import ResultRow
from reporting.sections.repeats import JOULES, RATE, ReportSpread, make_setting
from reporting.sections.sweeps.caps import CapSweep, SweepPoint
from reporting.sentences.choice import find_published_peaks, group_published_series
from reporting.words import (
    capitalize,
    count_nouns,
    format_percent,
    format_percent_range,
    format_watts,
    join_unit,
    join_words,
)
from rules.metrics.comparison import relative_percent
from rules.metrics.figures import Estimate
from rules.metrics.uncertainty.between_runs import SettingDifference
from rules.metrics.uncertainty.propagation import excludes

_STATED_CAP_W = 500.0
"""The cap whose effects are stated by board. A series without it is stated at its cap of least
energy."""
_MAX_EFFECTS = 4
"""Measured effects in a sentence."""
_MAX_PAIRS = 3
"""Series whose savings a sentence names one by one."""


@dataclass(frozen=True)
class Change:
    """A change against a reference, in percent of it."""

    percent: float
    ci95: tuple[float, float] | None
    counts: bool
    """Whether its interval excludes zero."""


@dataclass(frozen=True)
class CapEffect:
    """What a cap of a measured sweep saves and costs against the reference cap of the sweep."""

    name: str
    cap_w: float
    reference_w: float
    energy_gain: Change
    """Positive: less energy per item."""
    extra_time: Change
    """Positive: more time for the same work."""
    is_best: bool
    """Whether it is the most efficient cap of the sweep."""


def find_point(sweeps: Sequence[CapSweep], row: ResultRow) -> tuple[CapSweep, SweepPoint] | None:
    """The sweep that a run belongs to and its point there; None if it belongs to none."""
    for sweep in sweeps:
        for point in sweep.caps:
            if any(run is row for run in point.rows):
                return sweep, point
    return None


def list_effects(sweep: CapSweep, spread: ReportSpread) -> list[CapEffect]:
    """The effect of each cap of a sweep, without caps whose runs may not win. Empty if its
    reference may not."""
    reference = next((p for p in sweep.caps if p.point.cap_w == sweep.reference_cap_w), None)
    if sweep.not_compared or reference is None or not _may_state(reference):
        return []
    effects = []
    for point in sweep.caps:
        if point is reference or not _may_state(point):
            continue
        assert point.comparison is not None and point.point.cap_w and reference.point.cap_w
        settings = make_setting(point.rows, spread), make_setting(reference.rows, spread)
        joules, rate = (settings[0].compare(settings[1], name) for name in (JOULES, RATE))
        assert joules is not None and rate is not None
        effects.append(
            CapEffect(
                name=_name_sweep(sweep),
                cap_w=point.point.cap_w,
                reference_w=reference.point.cap_w,
                energy_gain=_make_change(joules, lambda percent: -percent),
                extra_time=_make_change(rate, lambda percent: 100 * (100 / (100 + percent) - 1)),
                is_best=point.best,
            )
        )
    return effects


def _name_sweep(sweep: CapSweep) -> str:
    """The name of the sweep, with its standing if it is not closed."""
    standing = sweep.caps[0].rows[0].standing
    suffix = "" if standing == "closed" else f" ({standing})"
    return f"{escape_invisible(sweep.name)}{suffix}"


def _may_state(point: SweepPoint) -> bool:
    return all(row.may_win for row in point.rows)


def _make_change(difference: SettingDifference, convert: Callable[[float], float]) -> Change:
    """The change that follows from a difference, by a function that is monotonic."""
    low, high = sorted(convert(end) for end in difference.ci95)
    return Change(convert(difference.percent), (low, high), difference.counts)


def judge_change(estimate: Estimate) -> Change:
    """The change counts if its interval excludes zero."""
    return Change(estimate.mean, estimate.ci95, excludes(estimate.ci95, 0.0) is True)


def describe_effect(effect: CapEffect, item: str) -> str:
    """`24 % less energy per image (23.10 to 24.90) and 12 % more time than at 700 W`."""
    energy, time = effect.energy_gain, effect.extra_time
    reference = format_watts(effect.reference_w)
    if not energy.counts:
        return f"energy per {item} cannot be told apart from that at {reference}"
    direction = "less" if energy.percent > 0 else "more"
    text = f"{format_percent(energy.percent)} {direction} energy per {item}"
    if energy.ci95:
        low, high = sorted(abs(end) for end in energy.ci95)
        interval = f"{format_signed(low)} to {join_unit(format_signed(high), '%')}"
        text += f" ({join_unit('95', '%')} interval {interval})"
    if not time.counts:
        return f"{text} than at {reference}, in a time that cannot be told apart"
    direction = "more" if time.percent > 0 else "less"
    text += f" and {format_percent(time.percent)} {direction} time"
    return f"{text} than at {reference}"


def describe_default(
    row: ResultRow, sweeps: Sequence[CapSweep], spread: ReportSpread, item: str
) -> str:
    """What the default cap costs in comparison with the cap of a run, as one sentence."""
    if row.cap_w is None:
        return "The run had no cap."
    place = find_point(sweeps, row)
    if place is None:
        return f"{format_watts(row.cap_w)} is the only cap measured with this setting."
    sweep, point = place
    caps = f"{count_nouns(len(sweep.caps), 'cap')} measured"
    reference = "the reference cap" if sweep.has_declared_reference else "the default cap"
    if point.point.cap_w == sweep.reference_cap_w:
        return f"{format_watts(row.cap_w)} is {reference}; {caps}."
    effect = next((e for e in list_effects(sweep, spread) if e.cap_w == row.cap_w), None)
    if effect is None:
        return f"{capitalize(caps)}; no run at {reference} may be compared."
    return f"At {format_watts(effect.cap_w)}, {describe_effect(effect, item)}, {reference}; {caps}."


@dataclass(frozen=True)
class PrintedEffect:
    """What a cap of a published series saves and costs against its highest cap, with power assumed
    equal to the cap."""

    source: str
    model: str
    cap_w: float
    reference_w: float
    rate_percent: float
    """Change of throughput; negative if it is lower."""
    joules_percent: float
    """Change of energy per item; negative if it is less."""


def list_printed_effects(rows: Sequence[ResultRow]) -> list[PrintedEffect]:
    """The effects in each published series, by series and descending cap. Rows that do not count
    within their series are left out."""
    return [
        effect
        for name, members in group_published_series(rows).items()
        for effect in _compare_with_highest_cap(members, *name)
    ]


def _compare_with_highest_cap(
    rows: Sequence[ResultRow], source: str, model: str
) -> Iterator[PrintedEffect]:
    reference, *capped_rows = sorted(rows, key=lambda row: -(row.cap_w or 0))
    for row in capped_rows:
        assert row.cap_w and reference.cap_w and row.joules_per_item and reference.joules_per_item
        yield PrintedEffect(
            source=source,
            model=model,
            cap_w=row.cap_w,
            reference_w=reference.cap_w,
            rate_percent=relative_percent(
                row.items_per_s_per_accelerator.value, reference.items_per_s_per_accelerator.value
            ),
            joules_percent=relative_percent(
                row.joules_per_item.value, reference.joules_per_item.value
            ),
        )


def list_peak_effects(rows: Sequence[ResultRow]) -> list[PrintedEffect]:
    """The effect of each published series at its peak, without series whose peak is not known."""
    peaks_w = find_published_peaks(rows)
    return [
        effect
        for effect in list_printed_effects(rows)
        if peaks_w.get((effect.source, effect.model)) == effect.cap_w
    ]


def pair_peak_effects(effects: Sequence[PrintedEffect], energy: str, link: str) -> str:
    """What published series save and lose at their peaks: `52 % less energy with 11 % less
    throughput (H100) and 24 % with 25 % (H200)`, where `energy` is `less energy` and `link` is
    `with`. The ranges of both if the series are many."""
    if len(effects) > _MAX_PAIRS:
        saving = format_percent_range([effect.joules_percent for effect in effects])
        loss = format_percent_range([effect.rate_percent for effect in effects])
        return f"{saving} {energy} {link} {loss} less throughput ({name_boards(effects)})"
    pairs = []
    for effect in effects:
        saving, loss = format_percent(effect.joules_percent), format_percent(effect.rate_percent)
        pair = f"{saving} {link} {loss}"
        if effect is effects[0]:
            pair = f"{saving} {energy} {link} {loss} less throughput"
        pairs.append(f"{pair} ({effect.model})")
    return join_words(pairs)


def name_boards(effects: Sequence[PrintedEffect]) -> str:
    """The boards of published series. Other series may have no known peak, so a finding on peaks
    names those that it holds for."""
    return join_words(list(dict.fromkeys(effect.model for effect in effects)))


def describe_measured_effects(effects: Sequence[CapEffect], item: str) -> str:
    """The effects at the stated cap and at the most efficient caps, as one sentence."""
    stated = [effect for effect in effects if effect.cap_w == _STATED_CAP_W or effect.is_best]
    stated = sorted(stated or effects, key=lambda effect: effect.cap_w != _STATED_CAP_W)
    parts = [
        f"{effect.name} at {format_watts(effect.cap_w)}: {describe_effect(effect, item)}"
        for effect in stated[:_MAX_EFFECTS]
    ]
    if rest := len(effects) - len(parts):
        parts.append(f"the tables have {count_nouns(rest, 'more effect')}")
    return f"Measured: {'; '.join(parts)}."


def describe_printed_effects(rows: Sequence[ResultRow], item: str) -> str:
    """The effects in published series by board, and their range at the peaks, as one sentence;
    empty without any."""
    effects = list_printed_effects(rows)
    series: dict[tuple[str, str], list[PrintedEffect]] = {}
    for effect in effects:
        series.setdefault((effect.source, effect.model), []).append(effect)
    by_board = [_choose_stated(members) for members in series.values()]
    if not by_board:
        return ""
    sources = list(dict.fromkeys(effect.source for effect in by_board))
    parts = [
        f"{_name_series(effect, sources)} needs {_word_change(effect.joules_percent)} energy per "
        f"{item} at {format_watts(effect.cap_w)} than at {format_watts(effect.reference_w)}, with "
        f"{_word_change(effect.rate_percent)} throughput"
        for effect in by_board
    ]
    if len(peaks := list_peak_effects(rows)) > 1:
        pairs = pair_peak_effects(peaks, f"less energy per {item}", "with")
        parts.append(f"the curves peak at {pairs}")
    has_shapes = any(row.comparison == "shape" for row in rows)
    shape = " Only the shapes of these curves are compared, not their levels." if has_shapes else ""
    return (
        f"Published by {join_words(sources)}, with power assumed equal to the cap and no interval, "
        f"so of unknown uncertainty: {'; '.join(parts)}.{shape}"
    )


def _name_series(effect: PrintedEffect, sources: Sequence[str]) -> str:
    """The board, with its publication if there are several."""
    return f"{effect.model} in {effect.source}" if len(sources) > 1 else effect.model


def _choose_stated(effects: Sequence[PrintedEffect]) -> PrintedEffect:
    """The effect at the stated cap; without it, that of least energy."""
    return min(effects, key=lambda effect: (effect.cap_w != _STATED_CAP_W, effect.joules_percent))


def _word_change(percent: float) -> str:
    return f"{format_percent(percent)} {'less' if percent < 0 else 'more'}"
