"""Where the page shows its charts."""

import re
from collections.abc import Mapping, Sequence

from reporting.charts.chart import DrawnChart
from reporting.charts.encoding import find_look
from reporting.report_table import ReportTable

_SMALL_HILL = "-hill-small"
"""The end of the ids of the small charts of efficiency against performance."""
_FOLDED_KINDS = re.compile(r"-(power|trace-\d+)$")
"""The ends of the ids of tables whose charts are folded with them."""


class PageFigures:
    """The drawn charts of a page, by the id of their table."""

    def __init__(self, drawn_charts: Mapping[str, Sequence[DrawnChart]]) -> None:
        self.drawn_charts = drawn_charts

    def list_hills(self) -> list[DrawnChart]:
        """The small charts at the top of the page."""
        drawn = [chart for charts in self.drawn_charts.values() for chart in charts]
        return [chart for chart in drawn if chart.chart.id.endswith(_SMALL_HILL)]

    def list_hill_boards(self) -> list[tuple[str, str]]:
        """The boards in the small charts, each with its colour."""
        looks = {
            (look.board, look.colour)
            for drawn in self.list_hills()
            for look in map(find_look, drawn.chart.table.data)
        }
        return sorted(looks)

    def list_open(self, tables: Sequence[ReportTable]) -> list[DrawnChart]:
        """The charts of some tables that are shown without a click."""
        return [
            chart
            for table in tables
            if not _FOLDED_KINDS.search(table.id)
            for chart in self.drawn_charts[table.id]
            if not chart.chart.id.endswith(_SMALL_HILL)
        ]

    def list_folded(self, table: ReportTable) -> Sequence[DrawnChart]:
        """The charts that are folded with their table."""
        return self.drawn_charts[table.id] if _FOLDED_KINDS.search(table.id) else ()
