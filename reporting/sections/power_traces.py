"""The power over time of the fastest and of the most efficient run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reporting.quantities import describe_provenance
from reporting.report_table import ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import add_facet_columns, make_facet_cells
from reporting.sections.section import Section
from reporting.sections.shown_columns import ShownColumns
from reporting.traces import build_trace_table
from rules.bundle import Bundle


def build_trace_tables(
    rows: Sequence[ResultRow], id: str, read_bundle: Callable[[Path, str], Bundle]
) -> Iterator[ReportTable]:
    """The traces of the runs whose power is shown over time. Each row has the facets of its run.
    `read_bundle` reads the bundle at a path whose manifest has a digest."""
    for place, row in enumerate(_select_traced_rows(rows), start=1):
        if row.provenance:
            # Summaries do not hold the raw tables, so these are read again, for at most two
            # bundles.
            bundle = read_bundle(row.provenance.run.path, row.provenance.manifest_sha256)
            table = build_trace_table(
                bundle,
                f"{id}-trace-{place}",
                control_w=row.control.median_w if row.control else None,
                provenance=describe_provenance(row),
            )
            facets = make_facet_cells(row)
            yield replace(
                table,
                columns=add_facet_columns(*table.columns),
                rows=tuple({**facets, **trace_row} for trace_row in table.rows),
            )


def _select_traced_rows(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """The runs whose power is shown over time: the fastest, and the most efficient if it is
    another one."""
    candidates = [row for row in rows if row.may_win and row.provenance]
    if not candidates:
        return []
    fastest = max(candidates, key=lambda row: row.items_per_s_per_accelerator.value)
    efficient = max(
        candidates, key=lambda row: row.items_per_joule.value if row.items_per_joule else 0.0
    )
    return [fastest] if fastest is efficient else [fastest, efficient]


SECTION = Section(
    name="trace",
    place=190,
    build_of_workload=lambda part: build_trace_tables(part.runs, part.id, part.read_bundle),
    demo_place=190,
    drawn_by=("rows.spans.build_trace_chart",),
    charts={"power": ShownColumns(("low_w", "high_w", "cap_w"))},
    folds_charts=True,
)
