"""The columns that each chart shows, and their ranges for the alternative text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reporting.report_table import ReportTable, TableRow
from reporting.sections.cells import IN_CHART
from reporting.sections.nodes.fixed_work import list_charted_work
from reporting.sections.sweeps.axes import AXES
from reporting.sentences.words import count_nouns, format_range

_RATE, _JOULES, _EFFICIENCY = "items_per_s_per_accelerator", "joules_per_item", "items_per_joule"


@dataclass(frozen=True)
class ShownColumns:
    """The columns that a chart shows. It shows the rows with a value in the first one; a chart of
    nodes, those with a value in any."""

    keys: tuple[str, ...]
    only_measured: bool = False
    """Whether it leaves out rows whose first column is not measured."""
    prefers_measured: bool = False
    """Whether it leaves out published rows where others are."""
    only_repeats: bool = False
    """Whether it leaves out settings with one run."""
    only: tuple[str, object] | None = None
    """The column and the value of the rows that it shows; None if it shows all rows."""

    def select_rows(self, table: ReportTable) -> list[TableRow]:
        keys = self.keys if table.id == "whole-nodes" else self.keys[:1]
        rows = [row for row in table.rows if row.get("standing") != "published"]
        return [
            row
            for row in (rows if self.prefers_measured and rows else table.rows)
            if any(row.get(key) is not None for key in keys)
            and row.get(IN_CHART, True)
            and (not self.only_measured or row.get(f"{keys[0]}_kind") == "measured")
            and (not self.only_repeats or int(row.get("runs") or 0) > 1)
            and (self.only is None or row.get(self.only[0]) == self.only[1])
        ]

    def select_compared(self, table: ReportTable) -> list[TableRow]:
        """The shown rows that findings may come from, published ones too."""
        standings = ("closed", "open", "control", "published")
        return [
            row
            for row in self.select_rows(table)
            if row.get("standing") in standings
            and row.get("provenance") != "simulated"
            and _is_sound(row)
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
        "hill-small": ShownColumns((_EFFICIENCY, _RATE, "cap_w"), prefers_measured=True),
        "caps": ShownColumns((_JOULES, _RATE, "cap_w")),
        "saving": ShownColumns(("energy_gain_percent", "extra_time_percent", "cap_w")),
        "energy": ShownColumns((_JOULES, "cap_w"), only_measured=True),
    },
    **{axis.name.rpartition("-")[2]: _AXIS_COLUMNS for axis in AXES},
    "scaling": {"bars": ShownColumns(("speed_up", "count"))},
    "factors": {
        "peak": ShownColumns(("achieved_tflops", "peak_tflops", "mfu_percent")),
        "marks": ShownColumns(("over_naive",)),
    },
    "epochs": {"repeats": ShownColumns(("off_mean_percent",), only_repeats=True)},
    "serving": {
        "throughput": ShownColumns((_RATE, "user_tokens_per_s", "concurrency")),
        "energy": ShownColumns((_JOULES, "user_tokens_per_s", "concurrency")),
    },
    "tuned": {"pairs": ShownColumns((_RATE, "baseline_rate"))},
    "power": {
        "spread": ShownColumns(("median_w", "min_w", "max_w", "cap_w")),
        "sm": ShownColumns(("sm_mhz", "cap_w")),
        "mem": ShownColumns(("mem_mhz", "cap_w")),
    },
    "trace": {"power": ShownColumns(("low_w", "high_w", "cap_w"))},
}
"""By the kind of a table and the end of a chart's id."""


def get_kind(table: ReportTable) -> str:
    """The end of the id of a table, such as `results`. Ids of traces end with a number."""
    return table.id.rstrip("0123456789-").rpartition("-")[2]


def list_shown_columns(table: ReportTable) -> dict[str, ShownColumns]:
    """The columns of each chart of a table, by the id of the chart."""
    if table.id == "whole-nodes":
        # One chart for each number of accelerators.
        counts = {n for row in table.rows if isinstance(n := row["accelerators"], int)}
        keys = ("median_w", "max_w", "mean_w", "rated_w")
        return {
            f"{table.id}-{n}": ShownColumns(keys, only=("accelerators", n)) for n in sorted(counts)
        }
    if table.id == "fixed-work":
        return {
            chart_id: ShownColumns(("node_kwh", "batch"), only=("work", work))
            for chart_id, work in list_charted_work(table).items()
        }
    charts = _SHOWN_COLUMNS.get(get_kind(table), {})
    return {_name_chart(table, name): columns for name, columns in charts.items()}


def _name_chart(table: ReportTable, name: str) -> str:
    # The small hill is named after the workload, at the top of the page.
    return f"{table.id.removesuffix('-results') if name == 'hill-small' else table.id}-{name}"


def select_compared(table: ReportTable) -> list[TableRow]:
    """The measured rows of a table that findings on its charts may come from."""
    return [
        row
        for row in table.rows
        if row.get("standing") in ("closed", "open")
        and row.get("provenance") != "simulated"
        and row.get(IN_CHART, True)
        and _is_sound(row)
    ]


def _is_sound(row: TableRow) -> bool:
    return not any(row.get(key) for key in ("doubt", "implausible", "withheld"))


def describe_ranges(table: ReportTable, columns: ShownColumns) -> str:
    """The ranges of the columns over the sound rows, by provenance, and how many points are not
    compared; empty without a point."""
    shown_rows = columns.select_rows(table)
    if not shown_rows:
        return ""
    sound_rows = [row for row in shown_rows if _is_sound(row)]
    sentences = []
    for noun, standings in _GROUPS.items():
        rows = [row for row in sound_rows if row.get("standing") in standings]
        if rows:
            ranges = "; ".join(_list_ranges(table, columns.keys, rows))
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
