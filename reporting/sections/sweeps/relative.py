"""Each result against the result of its line at the default cap, for the charts over caps.

The table of a sweep has the same comparison with intervals, for submitted results.
"""

from collections.abc import Sequence

from reporting.report_table import Column
from reporting.results_model import ResultRow
from reporting.sections.cells import Cells
from reporting.sections.sweeps.caps import find_sweeps
from reporting.sections.sweeps.points import make_point
from rules.boards import find_board
from rules.metrics.comparison import relative_percent
from rules.metrics.energy import MetricsError
from rules.metrics.sweeps.gains import EDS_K, compare
from rules.metrics.sweeps.points import Point, find_reference

_BY_K = {k: f"eds_gain_k{k:g}_percent".replace(".", "") for k in EDS_K}

RELATIVE_COLUMNS = tuple(
    Column(key, title, "%", "signed", about="relative to the default cap", hidden=True)
    for key, title in (
        ("relative_rate_percent", "throughput relative to the default cap"),
        ("relative_efficiency_percent", "efficiency relative to the default cap"),
        ("energy_gain_percent", "energy saved"),
        ("extra_time_percent", "extra time"),
        ("edp_gain_percent", "decrease of EDP"),
        *((_BY_K[k], f"decrease of EDS, k = {k:g}") for k in EDS_K),
    )
)


def make_relative_cells(rows: Sequence[ResultRow]) -> list[Cells]:
    """The cells of `RELATIVE_COLUMNS` for each row, in the order of `rows`. A row has none if its
    line has no comparable result at the default cap, or no other cap."""
    references = {**_find_submitted_references(rows), **_find_published_references(rows)}
    return [_compare(row, references.get(id(row))) for row in rows]


def _find_submitted_references(rows: Sequence[ResultRow]) -> dict[int, Point]:
    """The reference of the sweep of each row, by the identity of the row."""
    references: dict[int, Point] = {}
    for sweep in find_sweeps(rows):
        settings = sweep.compared_settings
        if settings is not None:
            references |= {id(row): settings.reference for cap in sweep.caps for row in cap.rows}
    return references


def _find_published_references(rows: Sequence[ResultRow]) -> dict[int, Point]:
    """The published point at the default cap of the board, by the identity of the row."""
    lines: dict[tuple[str, str], list[ResultRow]] = {}
    for row in rows:
        if row.standing == "published" and _make_point(row):
            lines.setdefault((row.system, row.accelerator), []).append(row)
    references: dict[int, Point] = {}
    for (_, accelerator), line in lines.items():
        board = find_board(accelerator)
        points = [point for row in line if (point := _make_point(row))]
        if board is None or board.default_power_w is None or len(points) < 2:
            continue
        try:
            reference = find_reference(points, board.default_power_w)
        except MetricsError:  # the paper has no comparable result there, or several
            continue
        references |= {id(row): reference for row in line}
    return references


def _make_point(row: ResultRow) -> Point | None:
    """The point of a row with a cap. A paper prints the throughput per accelerator alone, which is
    enough for a comparison within its line, unless its caution forbids all comparison."""
    if row.cap_w is None or row.joules_per_item is None or row.comparison == "none":
        return None
    if row.provenance:
        return make_point(row)
    return Point(
        row.cap_w,
        row.items_per_s_per_accelerator.value,
        row.joules_per_item.value,
        row.cap_enforced,
        row.implausible is None,
    )


def _compare(row: ResultRow, reference: Point | None) -> Cells:
    point = _make_point(row)
    if point is None or reference is None:
        return {}
    comparison = compare(point, reference)
    return {
        "relative_rate_percent": 100 + relative_percent(point.items_per_s, reference.items_per_s),
        "relative_efficiency_percent": 100
        + relative_percent(point.items_per_joule, reference.items_per_joule),
        "energy_gain_percent": comparison.energy_gain_percent.mean,
        "extra_time_percent": comparison.extra_time_percent.mean,
        "edp_gain_percent": comparison.edp_gain_percent.mean,
        **{_BY_K[k]: gain.mean for k, gain in comparison.eds_gain_percent.items()},
    }
