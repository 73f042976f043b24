"""The charts of the page. Each chart is drawn from one table: its spec names the table and holds no
numbers.

`build_charts(table)` selects the charts by the end of the table's id. `drawing` makes their static
pictures. The page draws the same specs again, interactively, when a reader scrolls to them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from reporting.charts.chart import Chart
from reporting.charts.encoding import find_provenance
from reporting.report_table import ReportTable
from reporting.sentences.chart_columns import get_kind
from reporting.sentences.charts import ChartText

AXIS_TABLES = ("batch", "concurrency", "clock", "gpus", "precision", "variant")
"""The ends of the ids of tables of sweeps over other settings than the cap."""


class ChartError(Exception):
    """Charts cannot be drawn. The message says what to install."""


def build_charts(table: ReportTable, texts: Mapping[str, ChartText] | None = None) -> list[Chart]:
    """Build the charts of a table. The list is empty if the table has no rows to draw. `texts` has
    generated titles and alternative texts by the id of the chart.

    Raises ChartError without the extra `report`.
    """
    altair = require_renderer()
    # These modules import altair, which only the extra `report` installs.
    from reporting.charts import caps, curves, fixed_work, fronts, hill, serving
    from reporting.charts.rows import bars, peaks, repeats, spans
    from reporting.charts.style import mark_simulated

    builders: Mapping[str, Callable[[ReportTable], list[Chart]]] = {
        "results": lambda t: [
            *hill.build_hill_charts(t),
            *caps.build_cap_charts(t),
            *bars.build_energy_chart(t),
        ],
        **dict.fromkeys(AXIS_TABLES, curves.build_axis_charts),
        "scaling": bars.build_scaling_chart,
        "factors": peaks.build_peak_charts,
        "epochs": repeats.build_repeats_chart,
        "serving": serving.build_serving_charts,
        "nodes": spans.build_node_charts,
        "tuned": bars.build_tuned_chart,
        "power": lambda t: [*spans.build_distribution_chart(t), *curves.build_clock_charts(t)],
        "front": fronts.build_front_chart,
        "trace": spans.build_trace_chart,
        "work": fixed_work.build_fixed_work_charts,
    }
    kind = get_kind(table)
    # The tests validate the specs, so a report need not.
    with altair.utils.schemapi.debug_mode(False):
        charts = builders[kind](table) if kind in builders else []
    charts = [_apply_text(chart, (texts or {}).get(chart.id)) for chart in charts]
    if any(find_provenance(row) == "simulated" for row in table.rows):
        return [replace(chart, spec=mark_simulated(chart.spec)) for chart in charts]
    return charts


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
        raise ChartError(f"charts need {error.name}: pip install 'wattmark[report]'") from None
    return altair
