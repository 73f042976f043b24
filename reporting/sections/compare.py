"""The tables that compare results: with a baseline, the best at each cap, and tuned against
baseline.

Results are compared only if workload, precision, number of accelerators and scope are equal. A
difference counts only if the two 95 % intervals do not overlap
(`rules.metrics.comparison.compare_with_baseline`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from reporting.report_table import Column, ReportTable
from reporting.results_model import Figure, ResultRow
from reporting.sections.cells import (
    MARK_COLUMNS,
    BundleLink,
    Cells,
    list_boards,
    make_figure_cells,
    make_figure_columns,
    make_mark_cells,
    name_line,
)
from rules.metrics.comparison import BOARD_SPREAD_PERCENT, compare_with_baseline, relative_percent
from rules.workloads import Workload

ABOUT = (
    "Power is that of the accelerators only. "
    "A difference counts only if the two 95 % intervals do not overlap; published figures have "
    "no interval. Two boards of one model differed by "
    f"{BOARD_SPREAD_PERCENT:g} %: a smaller difference between different boards is within the "
    "board spread."
)
COMPARISON_ABOUT = "higher or lower if the 95 % intervals do not overlap"


def format_comparison_group(row: ResultRow) -> str:
    """The name of the group within which a row is compared. Rows of one group have the same
    standing, precision and number of accelerators; workload and scope are equal on a table."""
    if row.provenance is None:
        return "published, precision unknown"
    return f"{row.standing}, {row.precision}, {row.count} \u00d7"


def build_compare_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str
) -> ReportTable | None:
    """Each row that may win against the fastest of its group; None unless a group has two rows. The
    page lets the reader choose another baseline."""
    compared_rows = [row for row in rows if row.may_win]
    groups = [
        _sort_by_throughput(group)
        for _, group in groupby(
            sorted(compared_rows, key=format_comparison_group), key=format_comparison_group
        )
    ]
    # Submitted groups come first, the group with the fastest result before the others.
    groups.sort(
        key=lambda group: (group[0].provenance is None, -group[0].items_per_s_per_accelerator.value)
    )
    if not any(len(group) > 1 for group in groups):
        return None
    rate, joules, _ = make_figure_columns(workload.item)
    columns = (
        Column("result", "result"),
        rate,
        Column(
            "rate_percent",
            "throughput change",
            "%",
            "signed",
            about="100 (throughput / throughput of the baseline - 1)",
        ),
        Column("rate_told", "throughput comparison", about=COMPARISON_ABOUT),
        joules,
        Column(
            "joules_percent",
            "energy change",
            "%",
            "signed",
            about="100 (energy per item / energy per item of the baseline - 1)",
        ),
        Column("joules_told", "energy comparison", about=COMPARISON_ABOUT),
        Column("against", "baseline", about="result that this one is compared with"),
        Column(
            "like",
            "comparison group",
            about="precision and number of accelerators of all results of the group",
        ),
        *MARK_COLUMNS,
        Column("cap_w", "cap", "W per accelerator", "count", hidden=True),
        Column("boards", "boards", hidden=True),
    )
    cells: list[Cells] = []
    for group, names in zip(groups, map(_number_repeats, groups), strict=True):
        cells += [
            {**_make_comparison_cells(row, group[0], link), "result": name, "against": names[0]}
            for row, name in zip(group, names, strict=True)
        ]
    return ReportTable(
        id, f"{workload.title}: comparison with a baseline", columns, tuple(cells), ABOUT
    )


def _sort_by_throughput(rows: Iterable[ResultRow]) -> list[ResultRow]:
    return sorted(rows, key=lambda row: -row.items_per_s_per_accelerator.value)


def _number_repeats(rows: Sequence[ResultRow]) -> list[str]:
    """A unique name for each row: its label, with a number if the label repeats. Without the
    number, a reader could not choose a repeated run as the baseline."""
    repeats: Counter[str] = Counter()
    names = []
    for label in map(format_label, rows):
        repeats[label] += 1
        names.append(label if repeats[label] == 1 else f"{label} ({repeats[label]})")
    return names


def format_label(row: ResultRow) -> str:
    """Configuration and cap of a row."""
    return name_line(row) if row.cap_w is None else f"{name_line(row)} · {row.cap_w:g} W"


def _make_comparison_cells(row: ResultRow, baseline: ResultRow, link: BundleLink) -> Cells:
    cells: Cells = {
        "result": format_label(row),
        "against": format_label(baseline),
        "like": format_comparison_group(row),
        "cap_w": row.cap_w,
        "boards": list_boards(row),
        **make_figure_cells("items_per_s_per_accelerator", row.items_per_s_per_accelerator),
        **make_figure_cells("joules_per_item", row.joules_per_item),
        **make_mark_cells(row, link),
    }
    same_boards = list_boards(row) == list_boards(baseline)
    figure_pairs = (
        ("rate", row.items_per_s_per_accelerator, baseline.items_per_s_per_accelerator),
        ("joules", row.joules_per_item, baseline.joules_per_item),
    )
    for key, figure, baseline_figure in figure_pairs:
        if figure is None or baseline_figure is None:
            continue
        cells[f"{key}_percent"] = relative_percent(figure.value, baseline_figure.value)
        cells[f"{key}_told"] = (
            "baseline" if row is baseline else compare_figures(figure, baseline_figure, same_boards)
        )
    return cells


def compare_figures(figure: Figure, baseline: Figure, same_boards: bool) -> str:
    """The verdict of `rules.metrics.comparison.compare_with_baseline` on two figures."""
    return compare_with_baseline(
        figure.value, figure.ci95, baseline.value, baseline.ci95, same_boards
    )


def build_best_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str
) -> ReportTable | None:
    """The fastest and the most efficient result of each group at each cap; None if no row has a
    cap."""
    candidates = [
        row for row in rows if row.may_win and row.cap_w is not None and row.items_per_joule
    ]
    if not candidates:
        return None
    _, _, per_joule = make_figure_columns(workload.item)
    columns = (
        Column("like", "comparison group"),
        Column("cap_w", "cap", "W per accelerator", "count"),
        Column("n", "results", "", "count"),
        Column("by", "metric"),
        Column("line", "best configuration"),
        Column("value", "best value", "", "number", interval=True, kinds=True),
        Column("unit", "unit"),
        Column("told", "compared with second", about=COMPARISON_ABOUT),
        *(column for column in MARK_COLUMNS if column.key != "line"),
    )
    cells: list[Cells] = []

    def key(row: ResultRow) -> tuple[str, float]:
        return format_comparison_group(row), row.cap_w or 0

    for (group_name, _), group in groupby(sorted(candidates, key=key), key=key):
        group_rows = list(group)
        cells += [
            _make_best_cells(
                group_rows,
                group_name,
                metric,
                link,
                per_joule.unit if metric == "efficiency" else f"{workload.item}s/s",
            )
            for metric in _METRICS
        ]
    about = f"Throughput is per accelerator. {ABOUT}"
    return ReportTable(id, f"{workload.title}: best at each cap", columns, tuple(cells), about)


_METRICS = ("throughput", "efficiency")


def _make_best_cells(
    rows: Sequence[ResultRow], group_name: str, metric: str, link: BundleLink, unit: str
) -> Cells:
    def select_figure(row: ResultRow) -> Figure:
        figure = row.items_per_joule if metric == "efficiency" else row.items_per_s_per_accelerator
        assert figure is not None
        return figure

    ordered = sorted(rows, key=lambda row: -select_figure(row).value)
    first, second = ordered[0], ordered[1] if len(ordered) > 1 else None
    same_boards = second is not None and list_boards(first) == list_boards(second)
    return {
        **make_mark_cells(first, link),
        "like": group_name,
        "cap_w": first.cap_w,
        "n": len(rows),
        "by": metric,
        **make_figure_cells("value", select_figure(first)),
        "unit": unit,
        "told": compare_figures(select_figure(first), select_figure(second), same_boards)
        if second
        else "only result",
    }


def build_tuned_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str
) -> ReportTable | None:
    """Each other variant of a system compared with its baseline at the same cap; None without
    such a pair.

    Precision may differ, because tuning may change it. The fastest of repeated runs represents
    its variant.
    """
    cells: list[Cells] = []
    for _, system_rows in _group_by_system([row for row in rows if row.may_win and row.provenance]):
        baselines = [row for row in system_rows if row.variant == "baseline"]
        if not baselines:
            continue
        baseline = max(baselines, key=lambda row: row.items_per_s_per_accelerator.value)
        tuned_rows: dict[str, ResultRow] = {}
        # In ascending order, so that the fastest repeat replaces the others.
        for row in sorted(system_rows, key=lambda r: r.items_per_s_per_accelerator.value):
            if row.variant != "baseline":
                tuned_rows[f"{row.variant} {row.precision}"] = row
        cells += [_make_tuned_cells(row, baseline, link) for row in tuned_rows.values()]
    if not cells:
        return None
    rate, joules, _ = make_figure_columns(workload.item)
    columns = (
        Column("line", "tuned configuration"),
        Column("cap_w", "cap", "W per accelerator", "count"),
        rate,
        Column("baseline_rate", "baseline throughput", rate.unit, "number", interval=True),
        Column("rate_percent", "throughput change", "%", "signed"),
        Column("rate_told", "throughput comparison", about=COMPARISON_ABOUT),
        joules,
        Column("baseline_joules", "baseline energy", joules.unit, "number", interval=True),
        Column("joules_percent", "energy change", "%", "signed"),
        Column("joules_told", "energy comparison", about=COMPARISON_ABOUT),
        Column("against", "baseline configuration"),
        *(column for column in MARK_COLUMNS if column.key != "line"),
    )
    about = (
        "Both runs have the same system, number of accelerators and cap. Precision may differ, "
        f"because tuning may change it. {ABOUT}"
    )
    return ReportTable(
        id, f"{workload.title}: tuned against baseline", columns, tuple(cells), about
    )


def _group_by_system(rows: Iterable[ResultRow]) -> list[tuple[tuple[object, ...], list[ResultRow]]]:
    def key(row: ResultRow) -> tuple[str, str, int, float]:
        return row.system, row.model, row.count or 0, row.cap_w or 0

    return [
        (group_key, list(group)) for group_key, group in groupby(sorted(rows, key=key), key=key)
    ]


def _make_tuned_cells(row: ResultRow, baseline: ResultRow, link: BundleLink) -> Cells:
    cells = _make_comparison_cells(row, baseline, link)
    for key in ("result", "like", "boards"):
        del cells[key]
    for key, value in (
        ("baseline_rate", baseline.items_per_s_per_accelerator),
        ("baseline_joules", baseline.joules_per_item),
    ):
        cells |= {k: v for k, v in make_figure_cells(key, value).items() if not k.endswith("_kind")}
    return cells
