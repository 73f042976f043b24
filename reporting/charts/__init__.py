"""The charts of the page. Each chart is drawn from one table: its spec names the table and holds no
numbers.

The `Section` of a table names the functions that build its charts. `drawing` makes their static
pictures. The page draws the same specs again, interactively, when a reader scrolls to them.
"""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from checker.extras import advise_extra
from reporting.charts.chart import Chart
from reporting.charts.encoding import find_provenance
from reporting.report_table import ReportTable
from reporting.sections import find_section
from reporting.sentences.charts import ChartText


class ChartError(Exception):
    """Charts cannot be drawn. The message says what to install."""


def build_charts(table: ReportTable, texts: Mapping[str, ChartText] | None = None) -> list[Chart]:
    """Build the charts of a table. The list is empty if the table has no rows to draw. `texts` has
    generated titles and alternative texts by the id of the chart.

    Raises ChartError without the extra `report`.
    """
    altair = require_renderer()
    # The modules of charts import altair, which only the extra `report` installs.
    from reporting.charts.style import mark_simulated

    section = find_section(table)
    # The tests validate the specs, so a report need not.
    with altair.utils.schemapi.debug_mode(False):
        charts = [c for name in (section.drawn_by if section else ()) for c in _draw(name, table)]
    charts = [_apply_text(chart, (texts or {}).get(chart.id)) for chart in charts]
    if any(find_provenance(row) == "simulated" for row in table.rows):
        return [replace(chart, spec=mark_simulated(chart.spec)) for chart in charts]
    return charts


def _draw(name: str, table: ReportTable) -> Iterator[Chart]:
    module, _, function = name.rpartition(".")
    yield from getattr(importlib.import_module(f"{__name__}.{module}"), function)(table)


def _apply_text(chart: Chart, text: ChartText | None) -> Chart:
    if text is None:
        return chart
    if not text.title:
        return replace(chart, alt=text.alt)
    return replace(chart, title=text.title, neutral_title=chart.title, alt=text.alt)


def require_renderer() -> Any:
    """Import Altair and the renderer; return the module of Altair. Raises ChartError without the
    extra `report`."""
    try:
        import altair
        import vl_convert  # noqa: F401  the renderer must be installed too
    except ImportError as error:
        raise ChartError(f"charts need {error.name}: {advise_extra('report')}") from None
    return altair
