"""The charts of the page. Each chart is drawn from one table: its spec names the table and holds no
numbers.

`build_charts(table)` selects the charts by the end of the table's id. `draw` makes their static
pictures. The page draws the same specs again, interactively, when a reader scrolls to them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

from checker.judging.cpu import count_cores
from checker.judging.workers import block_sigint
from checker.terminal import show_step
from reporting.charts.chart import Chart, DrawnChart
from reporting.charts.encoding import find_provenance
from reporting.report_table import ReportTable
from reporting.sentences.chart_columns import get_kind
from reporting.sentences.charts import ChartText

AXIS_TABLES = ("batch", "concurrency", "clock", "gpus", "precision", "variant")
"""The ends of the ids of tables of sweeps over other settings than the cap."""
_MAX_SERIAL_TABLES = 3
"""So few tables are drawn faster than processes start."""


class ChartError(Exception):
    """Charts cannot be drawn. The message says what to install."""


def build_charts(table: ReportTable, texts: Mapping[str, ChartText] | None = None) -> list[Chart]:
    """Build the charts of a table. The list is empty if the table has no rows to draw. `texts` has
    generated titles and alternative texts by the id of the chart.

    Raises ChartError without the extra `report`.
    """
    altair = _import_altair()
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
        "work": fixed_work.build_fixed_work_chart,
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
    return chart if text is None else replace(chart, title=text.title or chart.title, alt=text.alt)


def _import_altair() -> Any:
    try:
        import altair
        import vl_convert  # noqa: F401  the renderer must be installed too
    except ImportError as error:
        raise ChartError(f"charts need {error.name}: pip install 'wattmark[report]'") from None
    return altair


def draw(
    tables: Sequence[ReportTable], texts: Mapping[str, Mapping[str, ChartText]] | None = None
) -> dict[str, list[DrawnChart]]:
    """Draw the charts of all tables and return them by the id of their table. `texts` has the
    generated titles and alternative texts by the ids of table and chart.

    Raises ChartError without the extra `report`.
    """
    texts = texts or {}
    _import_altair()  # fail here, and not in every process
    texts_of_tables = [texts.get(table.id) for table in tables]
    if len(tables) <= _MAX_SERIAL_TABLES:
        return _collect(tables, map(_draw_table, tables, texts_of_tables))
    # Fork would deadlock in a process that has drawn before: threads of the renderer are not
    # copied. The server imports Altair once for all processes.
    context = get_context("forkserver")
    context.set_forkserver_preload(["reporting.charts.render"])
    with ProcessPoolExecutor(count_cores(), mp_context=context) as pool:
        try:
            with block_sigint():
                # Each picture is drawn alone, so the result does not depend on the number of
                # processes.
                drawn = pool.map(_draw_table, tables, texts_of_tables)
            return _collect(tables, drawn)
        finally:
            # After an interruption, do not draw the rest.
            pool.shutdown(cancel_futures=True)


def _collect(
    tables: Sequence[ReportTable], drawn: Iterable[list[DrawnChart]]
) -> dict[str, list[DrawnChart]]:
    """The charts by the id of their table. Shows on the terminal how many tables are done."""
    charts_by_table = {}
    for table, charts in zip(tables, drawn, strict=True):
        charts_by_table[table.id] = charts
        show_step(f"drawing charts: {len(charts_by_table)} of {len(tables)} tables")
    return charts_by_table


def _draw_table(table: ReportTable, texts: Mapping[str, ChartText] | None) -> list[DrawnChart]:
    charts = build_charts(table, texts)
    if not charts:
        return []
    from reporting.charts.render import to_svg

    return [DrawnChart(chart, to_svg(chart)) for chart in charts]


def load_libraries() -> str:
    """The text of the libraries that draw charts in the page."""
    from reporting.charts import render

    return render.load_libraries()


def load_drawing_script() -> str:
    """The text of the script that draws charts in the page. The page must run the script that
    sets `window.wattmark` first."""
    from reporting.charts import render

    return render.load_drawing_script()
