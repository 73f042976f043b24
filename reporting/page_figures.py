"""Where the page shows its charts."""

import math
import re
from collections.abc import Mapping, Sequence

from reporting.charts.chart import DrawnChart
from reporting.charts.encoding import find_look, list_small_hill_rows
from reporting.report_table import ReportTable
from reporting.sections import find_section

_SMALL_HILL = "-hill-small"
"""The end of the ids of the small charts of efficiency against performance."""
_COLUMN_PX, _FRAME_PX, _LINE_PX, _LETTERS_PER_LINE = 670, 54, 19, 100
"""In one of two columns of a page of 1440 px: the width of a plot, the height of a figure without
plot and text, and height and length of a line of its title and its caption."""


def _estimate_height_px(figure: DrawnChart) -> float:
    chart = figure.chart
    (size,) = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure.svg[:500])
    width, height = map(float, size)
    caption = f"{chart.better} is better. {chart.about} Source: {chart.source}."
    lines = sum(math.ceil(len(text) / _LETTERS_PER_LINE) for text in (chart.title, caption))
    return _COLUMN_PX * height / width + _FRAME_PX + _LINE_PX * lines


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
            for look in map(find_look, list_small_hill_rows(drawn.chart.table.data))
        }
        return sorted(looks)

    def list_open(self, tables: Sequence[ReportTable]) -> list[DrawnChart]:
        """The charts of some tables that are shown without a click."""
        return [
            chart
            for table in tables
            if not _folds_charts(table)
            for chart in self.drawn_charts[table.id]
            if not chart.chart.id.endswith(_SMALL_HILL)
        ]

    def list_right(self, drawn: Sequence[DrawnChart]) -> set[str]:
        """The ids of the charts in the right one of two columns; none of up to two charts, which
        stand beside each other. A chart goes below the shorter column."""
        right: set[str] = set()
        left_px = right_px = 0.0
        for figure in drawn if len(drawn) > 2 else ():
            if right_px < left_px:
                right.add(figure.chart.id)
                right_px += _estimate_height_px(figure)
            else:
                left_px += _estimate_height_px(figure)
        return right

    def list_folded(self, table: ReportTable) -> Sequence[DrawnChart]:
        """The charts that are folded with their table."""
        return self.drawn_charts[table.id] if _folds_charts(table) else ()


def _folds_charts(table: ReportTable) -> bool:
    section = find_section(table)
    return section is not None and section.folds_charts
