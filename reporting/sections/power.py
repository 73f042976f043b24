"""The section of clocks and power."""

from collections.abc import Sequence

from reporting.report_table import TableRow
from reporting.sections.results import build_power_table
from reporting.sections.section import Section
from reporting.sections.shown_columns import ShownColumns, get_number
from reporting.words import capitalize, format_range, format_watts


def _describe_power(rows: Sequence[TableRow]) -> str:
    """The range of median power under each cap."""
    powers_w: dict[float, list[float]] = {}
    for row in rows:
        cap_w, median_w = get_number(row, "cap_w"), get_number(row, "median_w")
        if cap_w is not None and median_w is not None:
            powers_w.setdefault(cap_w, []).append(median_w)
    parts = [
        f"{format_range(medians_w, 'W')} under a cap of {format_watts(cap_w)}"
        for cap_w, medians_w in sorted(powers_w.items())
    ]
    # A longer list is no title.
    return capitalize(f"median power is {', '.join(parts)}") if 0 < len(parts) <= 2 else ""


SECTION = Section(
    name="power",
    place=180,
    build_of_workload=lambda part: [
        build_power_table(*part.describe_runs("power", "clocks and power")) if part.runs else None
    ],
    demo_place=180,
    drawn_by=("rows.spans.build_distribution_chart", "curves.build_clock_charts"),
    charts={
        "spread": ShownColumns(("median_w", "min_w", "max_w", "cap_w"), find=_describe_power),
        "sm": ShownColumns(("sm_mhz", "cap_w")),
        "mem": ShownColumns(("mem_mhz", "cap_w")),
    },
    folds_charts=True,
    paper_keys=(
        *("line", "cap_w", "mean_w", "median_w", "max_w", "sm_mhz", "p5_w", "p95_w", "p25_w"),
        *("p75_w", "max_60s_w", "rated_w", "active_percent"),
    ),
)
