"""The tables that compare results with each other: against a baseline, the best at each cap, and
tuned against baseline.

Only like is compared with like: workload, precision, number of accelerators and scope. A difference
is called one where the 95 % intervals of the two do not touch
(`rules.metrics.comparison.told_apart`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from reporting.report_table import Column, ReportTable
from reporting.results_model import Figure, ResultRow
from reporting.sections.results import (
    MARK_COLUMNS,
    BundleLink,
    Cells,
    list_boards,
    make_figure_cells,
    make_figure_columns,
    make_mark_cells,
    name_line,
)
from rules.metrics.comparison import BOARD_SPREAD_PERCENT, relative_percent, told_apart
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
    """What a row must have in common with another to be compared, beside workload and scope, which
    is the same for all."""
    if row.provenance is None:
        return "published, precision unknown"
    return (
        f"{row.standing if row.standing == 'demo' else 'submitted'}, {row.precision}, "
        f"{row.count} \u00d7"
    )


def build_compare_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str
) -> ReportTable | None:
    """Each comparable row against the fastest of its like; None where there are not two. The page
    can pin another baseline."""
    counted = [row for row in rows if row.comparable]
    groups = [
        _sort_by_throughput(own)
        for _, own in groupby(
            sorted(counted, key=format_comparison_group), key=format_comparison_group
        )
    ]
    groups.sort(
        key=lambda own: (own[0].provenance is None, -own[0].items_per_s_per_accelerator.value)
    )
    if not any(len(own) > 1 for own in groups):
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
    found: list[Cells] = []
    for own, names in zip(groups, map(_number_repeats, groups), strict=True):
        found += [
            {**_make_comparison_cells(row, own[0], link), "result": called, "against": names[0]}
            for row, called in zip(own, names, strict=True)
        ]
    return ReportTable(
        id, f"{workload.title}: comparison with a baseline", columns, tuple(found), ABOUT
    )


def _sort_by_throughput(rows: Iterable[ResultRow]) -> list[ResultRow]:
    return sorted(rows, key=lambda row: -row.items_per_s_per_accelerator.value)


def _number_repeats(rows: Sequence[ResultRow]) -> list[str]:
    """A name for each row: its label, and for repeats a number behind it, or none of them could be
    pinned as the baseline."""
    met: Counter[str] = Counter()
    names = []
    for row in rows:
        met[format_label(row)] += 1
        names.append(
            format_label(row)
            if met[format_label(row)] == 1
            else f"{format_label(row)} ({met[format_label(row)]})"
        )
    return names


def format_label(row: ResultRow) -> str:
    """A row's line and cap."""
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
    same = list_boards(row) == list_boards(baseline)
    pairs = (
        ("rate", row.items_per_s_per_accelerator, baseline.items_per_s_per_accelerator),
        ("joules", row.joules_per_item, baseline.joules_per_item),
    )
    for key, own, other in pairs:
        if own is None or other is None:
            continue
        cells[f"{key}_percent"] = relative_percent(own.value, other.value)
        cells[f"{key}_told"] = "baseline" if row is baseline else compare_figures(own, other, same)
    return cells


def compare_figures(own: Figure, other: Figure, same_boards: bool) -> str:
    """What may be said of one figure against another."""
    return told_apart(own.value, own.ci95, other.value, other.ci95, same_boards)


def build_best_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str
) -> ReportTable | None:
    """The fastest and the most efficient result at each cap, among those alike; None where there
    are no caps."""
    counted = [
        row for row in rows if row.comparable and row.cap_w is not None and row.items_per_joule
    ]
    if not counted:
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
    found: list[Cells] = []

    def key(row: ResultRow) -> tuple[str, float]:
        return format_comparison_group(row), row.cap_w or 0

    for (alike, _), group in groupby(sorted(counted, key=key), key=key):
        own = list(group)
        found += [
            _make_best_cells(
                own,
                alike,
                by,
                link,
                per_joule.unit if by == "efficiency" else f"{workload.item}s/s",
            )
            for by in _METRICS
        ]
    about = f"Throughput is per accelerator. {ABOUT}"
    return ReportTable(id, f"{workload.title}: best at each cap", columns, tuple(found), about)


_METRICS = ("throughput", "efficiency")


def _make_best_cells(
    rows: Sequence[ResultRow], alike: str, by: str, link: BundleLink, unit: str
) -> Cells:
    def of(row: ResultRow) -> Figure:
        chosen = row.items_per_joule if by == "efficiency" else row.items_per_s_per_accelerator
        assert chosen is not None
        return chosen

    ordered = sorted(rows, key=lambda row: -of(row).value)
    first, second = ordered[0], ordered[1] if len(ordered) > 1 else None
    same = second is not None and list_boards(first) == list_boards(second)
    return {
        **make_mark_cells(first, link),
        "like": alike,
        "cap_w": first.cap_w,
        "n": len(rows),
        "by": by,
        **make_figure_cells("value", of(first)),
        "unit": unit,
        "told": compare_figures(of(first), of(second), same) if second else "only result",
    }


def build_tuned_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str
) -> ReportTable | None:
    """Each other variant of a system against its baseline at the same cap; None where there is no
    such pair.

    Precision may differ: it is what tuning changes. Of repeats the fastest stands for its variant.
    """
    found: list[Cells] = []
    for _, own in _group_by_system([row for row in rows if row.comparable and row.provenance]):
        baselines = [row for row in own if row.variant == "baseline"]
        if not baselines:
            continue
        base = max(baselines, key=lambda row: row.items_per_s_per_accelerator.value)
        others: dict[str, ResultRow] = {}
        for row in sorted(own, key=lambda r: r.items_per_s_per_accelerator.value):
            if row.variant != "baseline":
                others[f"{row.variant} {row.precision}"] = row
        found += [_make_tuned_cells(row, base, link) for row in others.values()]
    if not found:
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
        id, f"{workload.title}: tuned against baseline", columns, tuple(found), about
    )


def _group_by_system(rows: Iterable[ResultRow]) -> list[tuple[tuple[object, ...], list[ResultRow]]]:
    def key(row: ResultRow) -> tuple[str, str, int, float]:
        return row.system, row.model, row.count or 0, row.cap_w or 0

    return [(found, list(own)) for found, own in groupby(sorted(rows, key=key), key=key)]


def _make_tuned_cells(row: ResultRow, base: ResultRow, link: BundleLink) -> Cells:
    cells = _make_comparison_cells(row, base, link)
    for key in ("result", "like", "boards"):
        del cells[key]
    for key, value in (
        ("baseline_rate", base.items_per_s_per_accelerator),
        ("baseline_joules", base.joules_per_item),
    ):
        cells |= {k: v for k, v in make_figure_cells(key, value).items() if not k.endswith("_kind")}
    return cells
