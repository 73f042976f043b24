"""The titles of charts that state the finding, and their alternative texts.

A chart without a finding keeps its neutral title. Demo runs give no finding, because nothing is
compared with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reporting.report_table import ReportTable
from reporting.results_model import ResultRow
from reporting.sections import find_section
from reporting.sections.cells import name_setting
from reporting.sections.repeats import ReportSpread, join_repeats
from reporting.sections.shown_columns import describe_ranges
from reporting.sections.sweeps.axes import AXES
from reporting.sections.sweeps.caps import CapSweep
from reporting.sections.sweeps.scaling import estimate_speed_up, find_reference_runs
from reporting.sentences.capping import (
    CapEffect,
    list_effects,
    list_peak_effects,
    name_boards,
    pair_peak_effects,
)
from reporting.sentences.choice import choose_setting, find_published_peaks, get_joules
from reporting.sentences.operating_points import describe_best_value, find_best_values
from reporting.words import (
    capitalize,
    format_amount,
    format_cap,
    format_percent,
    format_percent_range,
    format_range,
    format_watts,
    name_items,
)
from rules.metrics.uncertainty.propagation import excludes
from rules.workloads import Workload

_SMALL_HILL = "-hill-small"
"""The end of the ids of charts whose title is the workload. Their finding is in the alternative
text."""


@dataclass(frozen=True)
class ChartText:
    """What a chart says."""

    title: str
    """The finding; empty if the figures allow none, and the neutral title then stays."""
    alt: str
    """The finding and the ranges of the values, for readers who do not see the chart."""


def describe_charts(
    tables: Sequence[ReportTable], titles: Mapping[str, str]
) -> dict[str, dict[str, ChartText]]:
    """The texts of the charts of the tables, by the ids of table and chart. `titles` are those that
    come from the rows of a workload (`list_titles`); others come from the tables."""
    texts: dict[str, dict[str, ChartText]] = {}
    for table in tables:
        section = find_section(table)
        for chart_id, columns in (section.list_charts(table) if section else {}).items():
            finding = titles.get(chart_id) or columns.describe(table)
            if chart_id.endswith(_SMALL_HILL):
                finding = titles.get(f"{table.id}-efficiency", "")
            if ranges := describe_ranges(table, columns):
                alt = f"{finding}. {ranges}" if finding else ranges
                title = "" if chart_id.endswith(_SMALL_HILL) else finding
                texts.setdefault(table.id, {})[chart_id] = ChartText(title, alt)
    return texts


def list_titles(
    workload: Workload,
    rows: Sequence[ResultRow],
    sweeps: Sequence[CapSweep],
    spread: ReportSpread,
) -> dict[str, str]:
    """The titles of the charts of results and axes of a workload, by the ids of the charts."""
    submitted = [row for row in rows if row.standing in ("closed", "open")]
    titles = {
        f"{workload.id}-results-efficiency": _write_efficiency_title(workload, rows, spread),
        f"{workload.id}-results-energy": _write_energy_title(workload, rows, spread),
        f"{workload.id}-scaling-bars": _write_scaling_title(submitted, spread),
    }
    effects = [effect for sweep in sweeps for effect in list_effects(sweep, spread)]
    titles |= {
        f"{workload.id}-results-caps": _write_cap_title(effects, workload.item_name)
        or _write_printed_cap_title(rows, workload.item_name)
        or _write_one_cap_title(rows, submitted),
        f"{workload.id}-results-saving": _write_saving_title(effects)
        or _write_printed_saving_title(rows),
    }
    for axis in AXES:
        best_values = find_best_values(axis, submitted, spread)
        if len(best_values) == 1:
            title = capitalize(describe_best_value(best_values[0], workload.item_name))
            titles[f"{workload.id}-{axis.name}-efficiency"] = title
            # The chart of servers shows the same runs over their requests in flight.
            if axis.name == "concurrency":
                titles[f"{workload.id}-serving-energy"] = title
    return {chart_id: title for chart_id, title in titles.items() if title}


def _write_efficiency_title(
    workload: Workload, rows: Sequence[ResultRow], spread: ReportSpread
) -> str:
    """The most efficient closed setting, and where published series peak."""
    parts = []
    if choice := choose_setting(rows, "closed", spread):
        settings = (choice.best, *choice.ties)
        figures = [setting.mean.items_per_joule for setting in settings]
        values = [figure.value for figure in figures if figure]
        efficiency = format_range(values, f"{name_items(workload)}/J")
        row = choice.best.mean
        cap = format_cap(row.cap_w)
        if choice.is_alone:
            finding = f"{name_setting(row)} is the only compared setting: {efficiency} {cap}"
        elif len(settings) == 1:
            finding = f"{name_setting(row)} is most efficient: {efficiency} {cap}"
        else:
            finding = (
                f"{len(settings)} settings cannot be told apart as most efficient: {efficiency}"
            )
        parts.append(_name_standing(rows) + finding)
    if peaks_w := list(find_published_peaks(rows).values()):
        verb = "curve peaks" if len(peaks_w) == 1 else "curves peak"
        parts.append(f"published {verb} at {format_range(peaks_w, 'W')}")
    return capitalize("; ".join(parts))


def _name_standing(rows: Sequence[ResultRow]) -> str:
    """The finding is on closed results. It must say so where the chart shows open ones too."""
    return "Closed: " if any(row.standing == "open" for row in rows) else ""


def _write_printed_cap_title(rows: Sequence[ResultRow], item: str) -> str:
    """What published series save at their peaks."""
    effects = list_peak_effects(rows)
    if not effects:
        return ""
    saving = format_percent_range([effect.joules_percent for effect in effects])
    return (
        f"Published {name_boards(effects)}: {saving} less energy per {item} at the most efficient "
        "cap than at the highest"
    )


def _write_one_cap_title(rows: Sequence[ResultRow], submitted: Sequence[ResultRow]) -> str:
    """That the submitted runs have one cap, where no published figure may be compared."""
    caps_w = {row.cap_w for row in submitted if row.may_win and row.cap_w}
    if len(caps_w) != 1 or any(row.provenance is None and row.comparable for row in rows):
        return ""
    return f"Only {format_watts(caps_w.pop())} was measured; published figures are not compared"


def _write_printed_saving_title(rows: Sequence[ResultRow]) -> str:
    """What published series save and lose at their peaks."""
    effects = list_peak_effects(rows)
    if not effects:
        return ""
    caps = "cap saves" if len(effects) == 1 else "caps save"
    pairs = pair_peak_effects(effects, "of the energy", "for")
    return f"Published: the most efficient {caps} {pairs}"


def _write_energy_title(workload: Workload, rows: Sequence[ResultRow], spread: ReportSpread) -> str:
    """The closed setting of least energy."""
    choice = choose_setting(rows, "closed", spread)
    if choice is None:
        return ""
    prefix, item = _name_standing(rows), workload.item_name
    if choice.ties:
        count = len(choice.ties) + 1
        return f"{prefix}{count} settings cannot be told apart as those of least energy per {item}"
    amount = format_amount(get_joules(choice.best), f"J/{workload.item}")
    name = name_setting(choice.best.mean)
    if choice.is_alone:
        return f"{prefix}{name} is the only compared setting: {amount.text}"
    return f"{prefix}{name} needs the least energy per {item}: {amount.text}"


def _write_scaling_title(submitted: Sequence[ResultRow], spread: ReportSpread) -> str:
    """The speed-up of the setting on the most accelerators, the fastest of several, as the mean
    over its runs."""
    settings = [
        setting
        for setting in join_repeats(row for row in submitted if row.may_win)
        if (setting.rows[0].count or 1) > 1 and find_reference_runs(setting.rows[0], submitted)
    ]
    if not settings:
        return ""
    setting = max(
        settings,
        key=lambda s: (s.rows[0].count or 1, s.mean.items_per_s_per_accelerator.value),
    )
    count, runs = setting.rows[0].count or 1, len(setting.rows)
    references = find_reference_runs(setting.rows[0], submitted)
    speed_up = estimate_speed_up(setting.rows, references, spread)
    mean = f" in the mean of {runs} runs" if runs > 1 else ""
    if excludes(speed_up.ci95, count):
        return f"{count} accelerators have {speed_up.mean:.2f} times the throughput of one{mean}"
    return (
        f"The speed-up of {count} accelerators, {speed_up.mean:.2f}{mean}, cannot be told apart "
        "from perfect scaling"
    )


def _find_greatest_saving(effects: Sequence[CapEffect]) -> CapEffect | None:
    """The effect with the greatest saving that counts, of all sweeps."""
    gains = [e for e in effects if e.energy_gain.counts and e.energy_gain.percent > 0]
    return max(gains, key=lambda effect: effect.energy_gain.percent, default=None)


def _is_saving_unclear(effects: Sequence[CapEffect]) -> bool:
    return bool(effects) and not any(effect.energy_gain.counts for effect in effects)


def _write_cap_title(effects: Sequence[CapEffect], item: str) -> str:
    """The cap with the greatest saving."""
    if best := _find_greatest_saving(effects):
        return (
            f"{best.name} needs {format_percent(best.energy_gain.percent)} less energy per {item} "
            f"at {format_watts(best.cap_w)} than at {format_watts(best.reference_w)}"
        )
    if _is_saving_unclear(effects):
        reference = format_watts(effects[0].reference_w)
        return f"Energy per {item} cannot be told apart from that at {reference}"
    return ""


def _write_saving_title(effects: Sequence[CapEffect]) -> str:
    """The greatest saving, and its cost in time if that counts."""
    if best := _find_greatest_saving(effects):
        cost = (
            f" for {format_percent(best.extra_time.percent)} more time"
            if best.extra_time.counts and best.extra_time.percent > 0
            else ""
        )
        return (
            f"{best.name} saves {format_percent(best.energy_gain.percent)} of the energy at "
            f"{format_watts(best.cap_w)}{cost}"
        )
    if _is_saving_unclear(effects):
        reference = format_watts(effects[0].reference_w)
        return f"No cap saves energy against {reference} that can be told apart from none"
    return ""
