"""The table that compares the other variants of a system with its variant `baseline`."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from reporting.quantities import quantity
from reporting.report_table import Column, ReportTable, TableRow, escape_invisible
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    make_estimate_cells,
    make_figure_columns,
)
from reporting.sections.compare import (
    COMPARISON_ABOUT,
    SHARED_BOARDS_COLUMN,
    compare_setting,
    format_about,
    make_comparison_cells,
    sort_by_throughput,
)
from reporting.sections.repeats import (
    BOARD_LIMIT_COLUMN,
    JOULES,
    NO_REPEATS,
    RATE,
    RUN_COLUMNS,
    RUNS_BY_BOARD_COLUMN,
    ReportSpread,
    Setting,
    join_repeats,
    make_limit_cells,
)
from reporting.sections.section import Section
from reporting.sections.shown_columns import ShownColumns, get_number
from reporting.words import count_nouns, format_percent, format_percent_range
from rules.workloads import Workload


def build_tuned_table(
    workload: Workload,
    rows: Sequence[ResultRow],
    link: BundleLink,
    id: str,
    spread: ReportSpread = NO_REPEATS,
) -> ReportTable | None:
    """Each other variant of a system compared with its baseline at the same cap; None without
    such a pair.

    Precision may differ, because tuning may change it. The mean over its repeats stands for a
    setting. Where a variant has several settings, such as batch sizes, the fastest one counts.
    """
    cells: list[Cells] = []
    for _, system_rows in _group_by_system([row for row in rows if row.may_win and row.provenance]):
        settings = sort_by_throughput(join_repeats(system_rows, spread))
        baselines = [setting for setting in settings if setting.mean.variant == "baseline"]
        if not baselines:
            continue
        tuned: dict[str, Setting] = {}
        for setting in settings:
            if setting.mean.variant != "baseline":
                tuned.setdefault(f"{setting.mean.variant} {setting.mean.precision}", setting)
        cells += [
            _make_tuned_cells(setting, baselines[0], link, spread) for setting in tuned.values()
        ]
    if not cells:
        return None
    rate, joules, _ = make_figure_columns(workload.item)
    columns = add_mark_columns(
        quantity("line"),
        *RUN_COLUMNS,
        quantity("cap_w"),
        rate,
        Column("baseline_rate", "baseline throughput", rate.unit, "number", interval=True),
        Column("rate_percent", "throughput change", "%", "signed"),
        Column("rate_told", "throughput comparison", about=COMPARISON_ABOUT),
        joules,
        Column("baseline_joules", "baseline energy", joules.unit, "number", interval=True),
        Column("joules_percent", "energy change", "%", "signed"),
        Column("joules_told", "energy comparison", about=COMPARISON_ABOUT),
        Column("against", "baseline configuration"),
        SHARED_BOARDS_COLUMN,
        BOARD_LIMIT_COLUMN,
    )
    about = format_about(
        spread,
        "Both settings have the same system, number of accelerators and cap. Precision may differ, "
        "because tuning may change it. ",
    )
    return ReportTable(
        id, f"{workload.title}: variants against the baseline variant", columns, tuple(cells), about
    )


def _group_by_system(rows: Iterable[ResultRow]) -> list[tuple[tuple[object, ...], list[ResultRow]]]:
    def key(row: ResultRow) -> tuple[str, str, int, float]:
        return row.system, row.model, row.count or 0, row.cap_w or 0

    return [
        (group_key, list(group)) for group_key, group in groupby(sorted(rows, key=key), key=key)
    ]


def _make_tuned_cells(
    setting: Setting, baseline: Setting, link: BundleLink, spread: ReportSpread
) -> Cells:
    cells = make_comparison_cells(setting, baseline, link) | compare_setting(setting, baseline)
    for key in ("result", "like", RUNS_BY_BOARD_COLUMN.key):
        del cells[key]
    for key, value in (
        ("baseline_rate", baseline.mean.items_per_s_per_accelerator),
        ("baseline_joules", baseline.mean.joules_per_item),
    ):
        cells |= make_estimate_cells(key, value)
    return cells | make_limit_cells(spread, RATE, setting.mean.model)


def _describe_variants(rows: Sequence[TableRow]) -> str:
    """How much faster the variants are than their baseline."""
    verdicts = [str(row.get("rate_told")) for row in rows if row.get("rate_told") is not None]
    if not verdicts:
        return ""
    changes = [
        change
        for row in rows
        if row.get("rate_told") == "higher"
        and (change := get_number(row, "rate_percent")) is not None
    ]
    if not changes:
        return (
            "No variant has more throughput than its baseline"
            if "lower" in verdicts
            else "Variants and baseline cannot be told apart in throughput"
        )
    if len(rows) == 1:
        variant = escape_invisible(str(rows[0].get("variant") or "other"))
        return (
            f"The {variant} variant has {format_percent(changes[0])} more throughput than the "
            "baseline"
        )
    verb = "has" if len(changes) == 1 else "have"
    return (
        f"{len(changes)} of {count_nouns(len(rows), 'variant')} {verb} "
        f"{format_percent_range(changes)} more throughput than the baseline"
    )


SECTION = Section(
    name="tuned",
    place=40,
    build_of_workload=lambda part: [
        build_tuned_table(
            part.workload, part.runs, part.link, f"{part.id}-tuned", part.spread or NO_REPEATS
        )
    ],
    is_for_nodes=True,
    drawn_by=("rows.bars.build_tuned_chart",),
    charts={"pairs": ShownColumns((RATE, "baseline_rate"), find=_describe_variants)},
    paper_keys=(
        *("line", "cap_w", RATE, "baseline_rate", "rate_percent"),
        *(JOULES, "baseline_joules", "joules_percent", "rate_told", "joules_told"),
    ),
)
