"""Runs with the settings of a paper beside the figures that the paper prints."""

from collections.abc import Iterator, Sequence

from reporting.quantities import format_accelerators, quantity
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    make_figure_cells,
    make_mark_cells,
)
from reporting.sections.section import Section
from rules.workloads import Workload

PAPERS = {"mayr": "mayr2026"}
"""By variant, the id of the paper whose settings it has."""

ABOUT = (
    "A run with the settings of the paper, on a board of the same kind at the same cap. The ratio "
    "is left out where the note forbids a comparison, and for demo runs. docs/mayr.md names what "
    "the stack of the paper has and this one lacks."
)


def build_like_table(
    workload: Workload,
    submitted: Sequence[ResultRow],
    published: Sequence[ResultRow],
    link: BundleLink,
    id: str,
    prefix: str = "",
) -> ReportTable | None:
    """One row for each run of a paper's variant whose board and cap the paper has too. Then one
    for each printed figure that lacks such a run, of the boards and caps of `submitted`. None
    without any."""
    pairs = [(run, printed) for run in submitted for printed in _find_printed(run, published)]
    # A printed figure may be that of a whole node, as its note says.
    has_several = any(run.count != 1 for run, _ in pairs)
    cells = tuple(
        _make_cells(run, printed, link) | (_make_total(run) if has_several else {})
        for run, printed in pairs
    )
    measured = [printed for _, printed in pairs]
    cells += tuple(
        _make_open_cells(workload, printed, link)
        for printed in _select_printed(submitted, published)
        if not any(printed is row for row in measured)
    )
    if not cells:
        return None
    unit = f"{workload.item}s/s"
    total = (Column("total", "measured in total", unit, "number"),) if has_several else ()
    columns = add_mark_columns(
        quantity("line"),
        quantity("accelerators", key="accelerator"),
        quantity("cap_w"),
        quantity("batch", unit=""),
        Column("printed", "printed", f"{unit} per accelerator", "number"),
        Column(
            "measured", "measured", f"{unit} per accelerator", "number", interval=True, kinds=True
        ),
        *total,
        Column("ratio", "measured / printed", "", "number"),
        Column("note", "note on the printed figure"),
    )
    title = f"{workload.title}: {prefix}printed figures, and runs with their settings"
    return ReportTable(id, title, columns, cells, ABOUT)


def _select_printed(
    submitted: Sequence[ResultRow], published: Sequence[ResultRow]
) -> Iterator[ResultRow]:
    """Yield the figures of papers with known settings, of the boards and caps of the runs."""
    settings = {(run.model, run.cap_w) for run in submitted}
    for printed in published:
        if printed.paper in PAPERS.values() and (printed.model, printed.cap_w) in settings:
            yield printed


def _find_printed(run: ResultRow, published: Sequence[ResultRow]) -> Iterator[ResultRow]:
    """Yield the figures of the paper whose settings the run has, for its board and cap."""
    assert run.provenance is not None
    record = run.provenance.run
    # The settings of a variant are known of the reference implementation, and simulated work stands
    # for it.
    is_other_code = record.declaration.implementation.sha256 is not None
    if run.variant not in PAPERS or (is_other_code and not record.is_simulated):
        return
    for printed in published:
        if (printed.paper, printed.model, printed.cap_w) == (
            PAPERS[run.variant],
            run.model,
            run.cap_w,
        ):
            yield printed


def _make_cells(run: ResultRow, printed: ResultRow, link: BundleLink) -> Cells:
    printed_per_s = printed.items_per_s_per_accelerator.value
    measured = run.items_per_s_per_accelerator
    is_compared = printed.may_win and run.comparable and run.standing != "demo"
    return {
        **make_mark_cells(run, link),
        "accelerator": format_accelerators(run),
        "batch": run.batch_size,
        "printed": printed_per_s,
        **make_figure_cells("measured", measured),
        "ratio": measured.value / printed_per_s if is_compared else None,
        "note": printed.caution,
    }


def _make_total(run: ResultRow) -> Cells:
    return {"total": run.items_per_s.value if run.items_per_s else None}


def _make_open_cells(workload: Workload, printed: ResultRow, link: BundleLink) -> Cells:
    """The cells of a printed figure without a run."""
    (variant,) = (variant for variant, paper in PAPERS.items() if paper == printed.paper)
    return {
        **make_mark_cells(printed, link),
        "line": f"no run yet: bench-submit run {workload.id} --like {variant}",
        "accelerator": printed.accelerator,
        "printed": printed.items_per_s_per_accelerator.value,
        "note": printed.caution,
    }


SECTION = Section(
    name="like",
    place=70,
    build_of_workload=lambda part: [
        build_like_table(
            part.workload,
            [row for row in part.runs if not part.is_demo or row.variant in PAPERS],
            part.published,
            part.link,
            f"{part.id}-like",
            part.prefix,
        )
    ],
    demo_place=70,
)
