"""What the tables of sweeps share: the point of a row, and columns and cells of the runs at one
setting."""

from collections.abc import Sequence

from reporting.quantities import quantity
from reporting.report_table import Column
from reporting.results_model import ResultRow
from reporting.sections.cells import MARK_COLUMNS, BundleLink, Cells, make_facet_cells, pluralize
from rules.metrics.figures import estimate_mean
from rules.metrics.sweeps.points import Point
from rules.metrics.uncertainty.propagation import estimate_spread_within_run


def has_point(row: ResultRow) -> bool:
    """Whether a row has throughput and energy, so that `make_point` gives a point."""
    return row.items_per_s is not None and row.joules_per_item is not None


def make_point(row: ResultRow) -> Point | None:
    """The point of a row; None if it has no throughput or no energy."""
    if row.items_per_s is None or row.joules_per_item is None:
        return None
    return Point(
        row.cap_w,
        row.items_per_s.value,
        row.joules_per_item.value,
        row.cap_enforced,
        row.implausible is None,
        spread=estimate_spread_within_run(row.provenance.run.headline) if row.provenance else None,
    )


def make_point_columns(item: str) -> tuple[Column, ...]:
    """Power, throughput, energy and efficiency of the runs at one setting."""
    return (
        quantity("power_w"),
        quantity("items_per_s", title="throughput", unit=f"{item}s/s, all accelerators"),
        quantity("joules_per_item", unit=f"J/{item}", interval=False, kinds=False),
        quantity("items_per_joule", unit=f"{item}s/J", interval=False, kinds=False),
    )


POINT_MARK_COLUMNS = (
    Column("note", "note"),
    Column("n", "runs", "", "count", hidden=True),
    Column("evidence", "evidence", form="evidence"),
    *(
        column
        for column in MARK_COLUMNS
        if column.key in ("doubt", "implausible", "withheld", "bundle")
    ),
)
"""Note, evidence and marks of the runs at one setting."""


def make_point_cells(point: Point, rows: Sequence[ResultRow], link: BundleLink) -> Cells:
    """The cells of `make_point_columns`, `POINT_MARK_COLUMNS` and `FACET_COLUMNS` for the runs at
    one setting; without the note."""
    row = rows[0]
    doubts = (doubt for run in rows if (doubt := run.doubt or run.implausible))
    powers_w = [run.mean_power_w.value for run in rows if run.mean_power_w]
    return {
        **make_facet_cells(row),
        "status": "compared" if all(run.may_win for run in rows) else "excluded",
        "implausible": row.implausible,
        "withheld": next((reason for run in rows if (reason := run.withheld)), None),
        "bundle": " ".join(link(run.provenance.run.path) for run in rows if run.provenance),
        "evidence": pluralize(point.n, "run"),
        "power_w": estimate_mean(powers_w).mean,
        "items_per_s": point.items_per_s,
        "joules_per_item": point.joules_per_item,
        "items_per_joule": point.items_per_joule,
        "n": point.n,
        # The reason must not appear twice in one row.
        "doubt": next(doubts, None) if row.implausible is None else row.doubt,
    }
