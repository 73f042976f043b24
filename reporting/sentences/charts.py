"""The titles of charts that state the finding, and their alternative texts.

A chart without a finding keeps its neutral title. Demo runs give no finding, because nothing is
compared with them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reporting.report_table import ReportTable, TableRow
from reporting.results_model import ResultRow
from reporting.sections.repeats import ReportSpread
from reporting.sections.sweeps.axes import AXES
from reporting.sections.sweeps.caps import CapSweep
from reporting.sentences.capping import CapEffect, list_effects, list_printed_effects
from reporting.sentences.choice import choose_setting, find_published_peaks, get_joules
from reporting.sentences.operating_points import describe_best_value, find_best_values
from reporting.sentences.table_findings import FINDINGS
from reporting.sentences.words import (
    capitalize,
    count_nouns,
    format_amount,
    format_cap,
    format_percent,
    format_percent_range,
    format_range,
    name_items,
    name_setting,
)
from rules.workloads import Workload

_RATE, _JOULES, _EFFICIENCY = "items_per_s_per_accelerator", "joules_per_item", "items_per_joule"


@dataclass(frozen=True)
class ChartText:
    """What a chart says."""

    title: str
    """The finding; empty if the figures allow none, and the neutral title then stays."""
    alt: str
    """The finding and the ranges of the values, for readers who do not see the chart."""


@dataclass(frozen=True)
class ShownColumns:
    """The columns that a chart shows. It shows the rows with a value in the first one."""

    keys: tuple[str, ...]
    needs_interval: bool = False
    """Whether it leaves out rows without an interval in the first column."""

    def select_rows(self, table: ReportTable) -> list[TableRow]:
        first_key = f"{self.keys[0]}_low" if self.needs_interval else self.keys[0]
        # The chart of fixed work shows only configurations with several batch sizes.
        return [
            row
            for row in table.rows
            if row.get(first_key) is not None and row.get("has_batches", True)
        ]


_AXIS_COLUMNS = {
    "efficiency": ShownColumns((_EFFICIENCY, "value")),
    "throughput": ShownColumns(("items_per_s", "value")),
    "energy": ShownColumns(("energy_gain_percent", "value")),
    "time": ShownColumns(("extra_time_percent", "value")),
}
_SHOWN_COLUMNS: Mapping[str, Mapping[str, ShownColumns]] = {
    "results": {
        "efficiency": ShownColumns((_EFFICIENCY, _RATE, "cap_w")),
        "throughput": ShownColumns((_RATE, "cap_w")),
        "energy": ShownColumns((_JOULES, "cap_w"), needs_interval=True),
    },
    "sweeps": {
        "efficiency": ShownColumns((_EFFICIENCY, "cap_w")),
        "energy": ShownColumns(("energy_gain_percent", "cap_w")),
        "time": ShownColumns(("extra_time_percent", "cap_w")),
        "edp": ShownColumns(("edp_gain_percent", "cap_w")),
        "eds15": ShownColumns(("eds_gain_k15_percent", "cap_w")),
        "eds2": ShownColumns(("eds_gain_k2_percent", "cap_w")),
        "balance": ShownColumns(("gain_minus_extra_time_points", "cap_w")),
    },
    **{axis.name.rpartition("-")[2]: _AXIS_COLUMNS for axis in AXES},
    "scaling": {"bars": ShownColumns(("speed_up", "count"))},
    "factors": {"marks": ShownColumns(("over_naive",))},
    "tuned": {"pairs": ShownColumns((_RATE, "baseline_rate"))},
    "power": {
        "spread": ShownColumns(("median_w", "min_w", "max_w", "cap_w")),
        "sm": ShownColumns(("sm_mhz", "cap_w")),
        "mem": ShownColumns(("mem_mhz", "cap_w")),
    },
    "trace": {"power": ShownColumns(("low_w", "high_w", "cap_w"))},
    "work": {"batch": ShownColumns(("node_kwh", "batch"))},
}
"""By the kind of a table and the end of a chart's id."""


def describe_charts(
    tables: Sequence[ReportTable], titles: Mapping[str, str], spread: ReportSpread
) -> dict[str, dict[str, ChartText]]:
    """The texts of the charts of the tables, by the ids of table and chart. `titles` are those that
    come from the rows of a workload (`list_titles`); others come from the tables."""
    texts: dict[str, dict[str, ChartText]] = {}
    for table in tables:
        for name, shown in _SHOWN_COLUMNS.get(get_kind(table), {}).items():
            chart_id = f"{table.id}-{name}"
            title = titles.get(chart_id, "")
            if not title and (find := FINDINGS.get((get_kind(table), name))):
                title = find(_select_compared(table), spread)
            if ranges := _describe_ranges(table, shown):
                alt = f"{title}. {ranges}" if title else ranges
                texts.setdefault(table.id, {})[chart_id] = ChartText(title, alt)
    return texts


def get_kind(table: ReportTable) -> str:
    """The end of the id of a table, such as `results`. Ids of traces end with a number."""
    return table.id.rstrip("0123456789-").rpartition("-")[2]


def _select_compared(table: ReportTable) -> list[TableRow]:
    """The measured rows of a table that findings may come from."""
    return [
        row
        for row in table.rows
        if row.get("standing") in ("closed", "open")
        and row.get("provenance") != "simulated"
        and _is_sound(row)
    ]


def _is_sound(row: TableRow) -> bool:
    return not any(row.get(key) for key in ("doubt", "implausible", "withheld"))


def _describe_ranges(table: ReportTable, shown: ShownColumns) -> str:
    """The ranges of the columns over the sound rows, by provenance, and how many points are not
    compared; empty without a value."""
    shown_rows = shown.select_rows(table)
    sound_rows = [row for row in shown_rows if _is_sound(row)]
    if not sound_rows:
        return ""
    sentences = []
    for noun, standings in _GROUPS.items():
        rows = [row for row in sound_rows if row.get("standing") in standings]
        if rows:
            ranges = "; ".join(_list_ranges(table, shown.keys, rows))
            sentences.append(f"{count_nouns(len(rows), noun)}: {ranges}.")
    if excluded := len(shown_rows) - len(sound_rows):
        verb = "is" if excluded == 1 else "are"
        sentences.append(f"{count_nouns(excluded, 'point')} {verb} not compared.")
    return " ".join((*sentences, "The table has the same values."))


_GROUPS: Mapping[str, tuple[str | None, ...]] = {
    "measured point": ("closed", "open"),
    "published point": ("published",),
    "demo point": ("demo",),
    "value": (None,),
}
"""Names of points by the standings of their rows. Rows of traces have no standing."""


def _list_ranges(
    table: ReportTable, keys: Sequence[str], rows: Sequence[TableRow]
) -> Iterator[str]:
    for key in keys:
        values = [v for row in rows if isinstance(v := row.get(key), int | float)]
        if values:
            column = table.get_column(key)
            sign = "≈ " if any(row.get(f"{key}_kind") == "assumed" for row in rows) else ""
            yield f"{column.title} {sign}{format_range(values, column.unit)}"


def list_titles(
    workload: Workload,
    rows: Sequence[ResultRow],
    sweeps: Sequence[CapSweep],
    spread: ReportSpread,
) -> dict[str, str]:
    """The titles of the charts of results and sweeps of a workload, by the ids of the charts."""
    submitted = [row for row in rows if row.standing in ("closed", "open")]
    titles = {
        f"{workload.id}-results-efficiency": _write_efficiency_title(workload, rows, spread),
        f"{workload.id}-results-throughput": _write_throughput_title(rows),
        f"{workload.id}-results-energy": _write_energy_title(workload, rows, spread),
    }
    effects = [effect for sweep in sweeps for effect in list_effects(sweep, spread)]
    for name, write_title in _SWEEP_TITLES.items():
        titles[f"{workload.id}-sweeps-{name}"] = write_title(effects, workload.item)
    for axis in AXES:
        best_values = find_best_values(axis, submitted, spread)
        if len(best_values) == 1:
            title = capitalize(describe_best_value(best_values[0], workload.item))
            titles[f"{workload.id}-{axis.name}-efficiency"] = title
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
        finding = (
            f"{name_setting(row)} is most efficient: {efficiency} {format_cap(row.cap_w)}"
            if len(settings) == 1
            else f"{len(settings)} settings cannot be told apart as most efficient: {efficiency}"
        )
        parts.append(_name_standing(rows) + finding)
    if peaks_w := list(find_published_peaks(rows).values()):
        verb = "curve peaks" if len(peaks_w) == 1 else "curves peak"
        parts.append(f"published {verb} at {format_range(peaks_w, 'W')}")
    return capitalize("; ".join(parts))


def _name_standing(rows: Sequence[ResultRow]) -> str:
    """The finding is on closed results. It must say so where the chart shows open ones too."""
    return "Closed: " if any(row.standing == "open" for row in rows) else ""


def _write_throughput_title(rows: Sequence[ResultRow]) -> str:
    """The throughput that published series lose at their peaks."""
    peaks_w = find_published_peaks(rows)
    losses = [
        -effect.rate_percent
        for effect in list_printed_effects(rows)
        if peaks_w.get(effect.model) == effect.cap_w
    ]
    if not losses:
        return ""
    loss = format_percent_range(losses)
    return f"Published: {loss} less throughput at the most efficient cap than at the highest"


def _write_energy_title(workload: Workload, rows: Sequence[ResultRow], spread: ReportSpread) -> str:
    """The closed setting of least energy, if there is another one to compare it with."""
    choice = choose_setting(rows, "closed", spread)
    if choice is None or not (choice.ties or choice.worse):
        return ""
    prefix, item = _name_standing(rows), workload.item
    if choice.ties:
        count = len(choice.ties) + 1
        return f"{prefix}{count} settings cannot be told apart as those of least energy per {item}"
    amount = format_amount(get_joules(choice.best), f"J/{item}", choice.best.runs)
    name = name_setting(choice.best.mean)
    return f"{prefix}{name} needs the least energy per {item}: {amount.text}"


def _write_gain_title(effects: Sequence[CapEffect], item: str) -> str:
    """The cap with the greatest saving that counts; of several sweeps, the greatest of all."""
    gains = [e for e in effects if e.energy_gain.counts and e.energy_gain.percent > 0]
    if gains:
        best = max(gains, key=lambda effect: effect.energy_gain.percent)
        return (
            f"{best.name} needs {format_percent(best.energy_gain.percent)} less energy per {item} "
            f"at {best.cap_w:g} W than at {best.reference_w:g} W"
        )
    if effects and not any(effect.energy_gain.counts for effect in effects):
        return f"Energy per {item} cannot be told apart from that at {effects[0].reference_w:g} W"
    return ""


def _write_time_title(effects: Sequence[CapEffect], item: str) -> str:
    """The cost in time of the cap with the greatest saving."""
    slower = [e for e in effects if e.extra_time.counts and e.extra_time.percent > 0]
    if not slower:
        return ""
    best = max(slower, key=lambda effect: (effect.is_best, effect.energy_gain.percent))
    return (
        f"{best.name} takes {format_percent(best.extra_time.percent)} more time at "
        f"{best.cap_w:g} W than at {best.reference_w:g} W"
    )


_SWEEP_TITLES: Mapping[str, Callable[[Sequence[CapEffect], str], str]] = {
    "efficiency": _write_gain_title,
    "energy": _write_gain_title,
    "time": _write_time_title,
}
