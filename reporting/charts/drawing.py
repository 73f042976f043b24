"""Draws charts and loads the scripts that draw them in the page, in processes beside this one."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import forkserver, get_context, resource_tracker

from checker.judging.cpu import count_cores
from checker.judging.workers import block_sigint
from checker.terminal import show_step
from reporting.charts import build_charts, require_renderer
from reporting.charts.chart import DrawnChart
from reporting.report_table import ReportTable
from reporting.sentences.charts import ChartText


class Drawing:
    """The charts and scripts of the pages, which a pool of processes draws and loads while this
    process goes on."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._charts: dict[str, Future[list[DrawnChart]]] = {}
        self._scripts: Future[tuple[str, str]]

    def load_scripts(self) -> None:
        """Begin to load the scripts."""
        with block_sigint():
            self._scripts = self._pool.submit(_load_scripts)

    def wait_for_scripts(self) -> tuple[str, str]:
        """The script that draws charts in the page, and the libraries that it calls.

        Raises ChartError without the extra `report`.
        """
        return self._scripts.result()

    def start(
        self,
        tables: Sequence[ReportTable],
        texts: Mapping[str, Mapping[str, ChartText]] | None = None,
    ) -> None:
        """Begin to draw the charts of the tables. `texts` has the generated titles and alternative
        texts by the ids of table and chart."""
        with block_sigint():
            for table in tables:
                # Each picture is drawn alone, so the result does not depend on the number of
                # processes.
                self._charts[table.id] = self._pool.submit(
                    _draw_table, table, (texts or {}).get(table.id)
                )

    def wait_for(self, tables: Sequence[ReportTable]) -> dict[str, list[DrawnChart]]:
        """The charts of tables that were started, by the id of their table. Shows on the terminal
        how many tables are done.

        Raises ChartError without the extra `report`.
        """
        charts_by_table = {}
        for table in tables:
            charts_by_table[table.id] = self._charts[table.id].result()
            show_step(f"drawing charts: {len(charts_by_table)} of {len(tables)} tables")
        return charts_by_table


@contextmanager
def open_drawing() -> Iterator[Drawing]:
    """Offer processes that draw. They start when they are first used, and end with the block."""
    # Fork would deadlock in a process that has drawn before: threads of the renderer are not
    # copied. The server imports Altair once for all processes.
    context = get_context("forkserver")
    context.set_forkserver_preload(["reporting.charts.render"])
    with ProcessPoolExecutor(count_cores(), mp_context=context) as pool:
        try:
            yield Drawing(pool)
        finally:
            # After an interruption, do not draw the rest.
            pool.shutdown(cancel_futures=True)


def start_server() -> None:
    """Start the process that imports Altair for the processes that draw, without waiting for it.
    Call it inside `open_drawing`."""
    # Python unblocks SIGINT when it starts the resource tracker, so the tracker comes first.
    resource_tracker.ensure_running()
    with block_sigint():
        forkserver.ensure_running()


def _draw_table(table: ReportTable, texts: Mapping[str, ChartText] | None) -> list[DrawnChart]:
    charts = build_charts(table, texts)
    if not charts:
        return []
    from reporting.charts.render import to_svg

    return [DrawnChart(chart, to_svg(chart)) for chart in charts]


def _load_scripts() -> tuple[str, str]:
    require_renderer()
    # This module imports altair and the renderer, which only the extra `report` installs.
    from reporting.charts import render

    return render.load_drawing_script(), render.load_libraries()
