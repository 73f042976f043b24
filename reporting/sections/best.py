"""The table of the fastest and the most efficient setting at each cap."""

from collections.abc import Hashable, Sequence
from itertools import groupby

from reporting.quantities import quantity
from reporting.report_table import Column, ReportTable
from reporting.results_model import Figure, ResultRow
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    make_figure_cells,
    make_figure_columns,
)
from reporting.sections.compare import (
    COMPARISON_ABOUT,
    format_about,
    format_comparison_group,
    tell_apart,
)
from reporting.sections.repeats import (
    JOULES,
    NO_REPEATS,
    RATE,
    RUN_COLUMNS,
    ReportSpread,
    Setting,
    join_repeats,
    make_repeat_cells,
    make_run_cells,
)
from reporting.sections.section import Section
from rules.workloads import Workload

_METRICS = ("throughput", "efficiency")


def build_best_table(
    workload: Workload,
    rows: Sequence[ResultRow],
    link: BundleLink,
    id: str,
    spread: ReportSpread = NO_REPEATS,
) -> ReportTable | None:
    """The fastest and the most efficient setting of each group at each cap; None if no row has a
    cap."""
    candidates = [
        row for row in rows if row.may_win and row.cap_w is not None and row.items_per_joule
    ]
    if not candidates:
        return None
    _, _, per_joule = make_figure_columns(workload.item)
    columns = add_mark_columns(
        Column("like", "comparison group"),
        quantity("cap_w"),
        Column("n", "settings", "", "count"),
        Column("by", "metric"),
        Column("line", "best configuration"),
        *RUN_COLUMNS,
        Column("value", "best value", "", "number", interval=True, kinds=True),
        Column("unit", "unit"),
        Column("told", "compared with second", about=COMPARISON_ABOUT),
    )
    cells: list[Cells] = []
    identities: list[Hashable] = []

    def key(row: ResultRow) -> tuple[str, float]:
        return format_comparison_group(row), row.cap_w or 0

    for (group_name, cap_w), group in groupby(sorted(candidates, key=key), key=key):
        settings = join_repeats(group, spread)
        identities += [(group_name, cap_w, metric) for metric in _METRICS]
        cells += [
            _make_best_cells(settings, metric, link)
            | {
                "like": group_name,
                "unit": per_joule.unit if metric == "efficiency" else f"{workload.item}s/s",
            }
            for metric in _METRICS
        ]
    about = format_about(
        spread,
        "Throughput is per accelerator. The best settings are those of all results; filters do not "
        "change them. ",
    )
    title = f"{workload.title}: best at each cap"
    return ReportTable(
        id,
        title,
        columns,
        tuple(cells),
        about,
        identities=tuple(identities),
        # The best setting of whole nodes can be another one.
        name_keys=frozenset(),
    )


def _make_best_cells(settings: Sequence[Setting], metric: str, link: BundleLink) -> Cells:
    def select_figure(setting: Setting) -> Figure:
        mean = setting.mean
        figure = (
            mean.items_per_joule if metric == "efficiency" else mean.items_per_s_per_accelerator
        )
        assert figure is not None
        return figure

    first, *others = sorted(settings, key=lambda setting: -select_figure(setting).value)
    name = JOULES if metric == "efficiency" else RATE
    # Less energy per item is more efficient, so the words of energy would be the wrong way round.
    verdicts = {"lower": "higher", "higher": "lower"} if metric == "efficiency" else {}
    verdict = tell_apart(first.compare(others[0], name)) if others else "only result"
    return {
        **make_repeat_cells(first, link),
        **make_run_cells(first),
        "n": len(settings),
        "by": metric,
        **make_figure_cells("value", select_figure(first)),
        "told": verdicts.get(verdict, verdict),
    }


SECTION = Section(
    name="best",
    place=20,
    build_of_workload=lambda part: [
        build_best_table(
            part.workload,
            (*part.runs, *part.published),
            part.link,
            f"{part.id}-best",
            part.spread or NO_REPEATS,
        )
    ],
    is_for_nodes=True,
)
