"""The table that compares results with a baseline, and how settings are compared.

Results are compared only if workload, precision, number of accelerators and scope are equal. Two
settings are told apart if the 95 % interval of their difference excludes zero
(`rules.metrics.uncertainty.between_runs.compare_settings`). The mean over its repeats stands for a
setting.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from reporting.quantities import name_line
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    distinguish_names,
    make_figure_cells,
    make_figure_columns,
)
from reporting.sections.repeats import (
    JOULES,
    NO_REPEATS,
    RATE,
    RUN_COLUMNS,
    RUNS_BY_BOARD_COLUMN,
    ReportSpread,
    Setting,
    join_repeats,
    make_repeat_cells,
    make_run_cells,
    make_runs_by_board_cells,
)
from reporting.sections.section import Section
from rules.metrics.comparison import relative_percent
from rules.metrics.uncertainty.between_runs import SettingDifference
from rules.workloads import Workload

ABOUT = (
    "Energy is that of the accelerators, or that of whole nodes in their scope. Each setting is "
    "the mean over its runs. Its 95 % interval says what another run on another board of this kind "
    "gives. Two settings are told apart if the 95 % interval of their difference excludes zero. "
    "Where both ran on the same boards, they are compared on these alone if that is more certain. "
    "{} Published figures have no interval."
)
COMPARISON_ABOUT = "higher or lower if the 95 % interval of the difference excludes zero"
ONLY_ONE, NO_INTERVAL = "only one of its group", "no interval"


def format_about(spread: ReportSpread, prefix: str = "") -> str:
    """The note below a table of comparisons."""
    return prefix + ABOUT.format(describe_limits(spread))


def describe_limits(spread: ReportSpread) -> str:
    """How far two single runs must be apart, as a sentence."""
    kind = spread.most_known
    rate, joules = (kind.get_least_difference_percent(name) for name in (RATE, JOULES))
    return (
        f"Two single runs on different {kind.kind} boards are told apart from {rate:.2g} % in "
        f"throughput and {joules:.2g} % in energy on."
    )


def format_comparison_group(row: ResultRow) -> str:
    """The name of the group within which a row is compared. Rows of one group have the same
    standing, precision and number of accelerators; workload and scope are equal on a table."""
    if row.provenance is None:
        return "published, precision unknown"
    return f"{row.standing}, {row.precision}, {row.count} \u00d7"


def build_compare_table(
    workload: Workload,
    rows: Sequence[ResultRow],
    link: BundleLink,
    id: str,
    spread: ReportSpread = NO_REPEATS,
) -> ReportTable | None:
    """Each setting that may win against the fastest of its group; None unless a group has two. The
    page lets the reader choose another baseline."""
    comparisons = compare_with_fastest(rows, spread)
    if not comparisons:
        return None
    cells = tuple(
        {
            **make_comparison_cells(comparison.setting, comparison.baseline, link),
            **compare_in_group(comparison),
            "result": comparison.name,
            "against": comparison.baseline_name,
        }
        for comparison in comparisons
    )
    title = f"{workload.title}: comparison with a baseline"
    columns = _make_compare_columns(workload.item)
    return ReportTable(id, title, columns, cells, format_about(spread), COMPACT_KEYS)


@dataclass(frozen=True)
class GroupComparison:
    """A setting that may win, and the fastest setting of its comparison group."""

    setting: Setting
    name: str
    baseline: Setting
    baseline_name: str
    is_alone: bool
    """Whether its group has no other setting."""


def compare_with_fastest(rows: Sequence[ResultRow], spread: ReportSpread) -> list[GroupComparison]:
    """Each setting that may win, with the fastest one of its group; empty unless a group has
    two."""
    compared_rows = [row for row in rows if row.may_win]
    groups = [
        sort_by_throughput(join_repeats(group, spread))
        for _, group in groupby(
            sorted(compared_rows, key=format_comparison_group), key=format_comparison_group
        )
    ]
    if not any(len(group) > 1 for group in groups):
        return []
    # Submitted groups come first, the group with the fastest setting before the others.
    groups.sort(key=lambda group: (group[0].runs is None, -_get_throughput(group[0])))
    pairs = [(setting, group) for group in groups for setting in group]
    names = name_settings([setting for setting, _ in pairs])
    names_by_setting = {id(setting): name for (setting, _), name in zip(pairs, names, strict=True)}
    return [
        GroupComparison(
            setting, name, group[0], names_by_setting[id(group[0])], is_alone=len(group) == 1
        )
        for (setting, group), name in zip(pairs, names, strict=True)
    ]


def compare_in_group(comparison: GroupComparison) -> Cells:
    """The cells of a setting against the fastest one of its group. A setting that is alone is
    compared with none."""
    if comparison.is_alone:
        return {"rate_told": ONLY_ONE, "joules_told": ONLY_ONE}
    return compare_setting(comparison.setting, comparison.baseline)


SHARED_BOARDS_COLUMN = Column(
    "shared_boards",
    "shared boards",
    "",
    "count",
    about="the changes are those on so many boards that both settings ran on; empty if they are "
    "those over all runs",
)

COMPACT_KEYS = (
    "result",
    RATE,
    "rate_percent",
    "rate_told",
    JOULES,
    "joules_percent",
    "joules_told",
    "evidence",
)


def _make_compare_columns(item: str) -> tuple[Column, ...]:
    rate, joules, _ = make_figure_columns(item)
    return add_mark_columns(
        Column("result", "result"),
        *RUN_COLUMNS,
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
        SHARED_BOARDS_COLUMN,
        RUNS_BY_BOARD_COLUMN,
    )


def sort_by_throughput(settings: Iterable[Setting]) -> list[Setting]:
    return sorted(settings, key=lambda setting: -_get_throughput(setting))


def _get_throughput(setting: Setting) -> float:
    return setting.mean.items_per_s_per_accelerator.value


def name_settings(settings: Sequence[Setting]) -> list[str]:
    """A unique name for each setting. With equal names, a reader could not choose the second as the
    baseline."""
    means = [setting.mean for setting in settings]
    return distinguish_names([format_label(mean) for mean in means], means)


def format_label(row: ResultRow) -> str:
    """Configuration and cap of a row."""
    return name_line(row) if row.cap_w is None else f"{name_line(row)} · {row.cap_w:g} W"


def make_comparison_cells(setting: Setting, baseline: Setting, link: BundleLink) -> Cells:
    mean, baseline_mean = setting.mean, baseline.mean
    return {
        "result": format_label(mean),
        "against": format_label(baseline_mean),
        "like": format_comparison_group(mean),
        **make_runs_by_board_cells(setting),
        **make_run_cells(setting),
        **make_figure_cells(RATE, mean.items_per_s_per_accelerator),
        **make_figure_cells(JOULES, mean.joules_per_item),
        **make_repeat_cells(setting, link),
    }


def compare_setting(setting: Setting, baseline: Setting, on_shared_boards: bool = True) -> Cells:
    """The changes of throughput and energy per item, and whether they are told apart."""
    cells: Cells = {}
    for prefix, name in (("rate", RATE), ("joules", JOULES)):
        figure, baseline_figure = getattr(setting.mean, name), getattr(baseline.mean, name)
        if figure is None or baseline_figure is None:
            continue
        difference = setting.compare(baseline, name, on_shared_boards)
        if setting is baseline:
            percent, verdict = 0.0, "baseline"
        elif difference is None:
            percent = relative_percent(figure.value, baseline_figure.value)
            verdict = NO_INTERVAL
        else:
            percent, verdict = difference.percent, tell_apart(difference)
            if difference.boards:
                cells[SHARED_BOARDS_COLUMN.key] = difference.boards
        cells |= {f"{prefix}_percent": percent, f"{prefix}_told": verdict}
    return cells


def tell_apart(difference: SettingDifference | None) -> str:
    """Whether a figure is `higher` or `lower` than another one, `not told apart` from it, or has
    `no interval`."""
    if difference is None:
        return NO_INTERVAL
    if not difference.counts:
        return "not told apart"
    return "higher" if difference.percent > 0 else "lower"


SECTION = Section(
    name="compare",
    place=30,
    build_of_workload=lambda part: [
        build_compare_table(
            part.workload,
            (*part.runs, *part.published),
            part.link,
            f"{part.id}-compare",
            part.spread or NO_REPEATS,
        )
    ],
    is_for_nodes=True,
    paper_keys=(
        *("result", JOULES, "joules_percent", RATE, "rate_percent", "joules_told", "rate_told"),
        *("runs", "boards_n", "like"),
    ),
)
