"""Draws charts and loads the scripts that draw them in the page, in processes beside this one, or
takes them from a cache."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from multiprocessing import forkserver, get_context, resource_tracker
from pathlib import Path
from tempfile import gettempdir
from typing import TypeVar

from checker.command_line.user_cache import (
    read_entry,
    remove_old,
    write_entry,
)
from checker.judging.cpu import count_cores
from checker.judging.workers import block_sigint
from checker.terminal import show_step
from reporting.charts import build_charts, require_renderer
from reporting.charts.chart import Chart, DrawnChart
from reporting.report_table import ReportTable, to_record
from reporting.sections import find_section
from reporting.sentences.charts import ChartText

_T = TypeVar("_T")
_SCRIPTS = "scripts"
_KEPT_ENTRIES = 1000
"""So many entries are kept. A page has about a hundred."""


_FEW_TABLES = 8
"""So many are drawn at once: starting other processes takes longer."""


class Drawing:
    """The charts and scripts of the pages, which a pool of processes draws and loads while this
    process goes on. The directory `cache`, that of one version of the code, has those that were
    drawn before."""

    def __init__(self, pool: Executor, cache: Path | None = None) -> None:
        self._pool = pool
        self._cache = cache
        self._charts: dict[str, Future[list[DrawnChart]]] = {}
        self._scripts: Future[tuple[str, str]]

    def start_server(self) -> None:
        """Start the process that imports Altair, unless this code has drawn before: then most
        charts are in the cache."""
        if not (self._cache and (self._cache / _SCRIPTS).exists()):
            start_server()

    def load_scripts(self) -> None:
        """Begin to load the scripts."""
        if content := self._read(_SCRIPTS):
            script, libraries = json.loads(content)
            self._scripts = _finish((script, libraries))
            return
        with block_sigint():
            self._scripts = self._pool.submit(_load_scripts)
        self._keep(_SCRIPTS, self._scripts, json.dumps)

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
        texts by the ids of table and chart. Raises ChartError without the extra `report`."""
        missing = []
        for table in tables:
            section, own_texts = find_section(table), (texts or {}).get(table.id)
            if section is None or not section.drawn_by:
                self._charts[table.id] = _finish([])
            elif content := self._read(_name_entry(table, own_texts)):
                self._charts[table.id] = _finish(_decode(content, table))
            else:
                missing.append((table, own_texts))
        for table, own_texts in missing:
            if len(missing) > _FEW_TABLES:
                # Each picture is drawn alone, so the result does not depend on the number of
                # processes.
                with block_sigint():
                    drawn = self._pool.submit(_draw_table, table, own_texts)
            else:
                drawn = _finish(_draw_table(table, own_texts))
            self._charts[table.id] = drawn
            self._keep(_name_entry(table, own_texts), drawn, _encode)

    def _read(self, name: str) -> bytes | None:
        return read_entry(self._cache / name) if self._cache else None

    def _keep(self, name: str, result: Future[_T], encode: Callable[[_T], str]) -> None:
        """Write what a process returns into the cache."""
        if self._cache is None:
            return
        path = self._cache / name

        def write(done: Future[_T]) -> None:
            if not done.cancelled() and done.exception() is None:
                write_entry(path, encode(done.result()).encode())

        result.add_done_callback(write)

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
def open_drawing(cache: Path | None = None) -> Iterator[Drawing]:
    """Offer processes that draw. They start when they are first used, and end with the block.
    `cache` is the directory of what was drawn before; None to draw all charts."""
    # Fork would deadlock in a process that has drawn before: threads of the renderer are not
    # copied. The server imports Altair once for all processes.
    context = get_context("forkserver" if _has_room_for_sockets() else "spawn")
    context.set_forkserver_preload(["reporting.charts.render"])
    with ProcessPoolExecutor(count_cores(), mp_context=context) as pool:
        try:
            yield Drawing(pool, cache)
        finally:
            # After an interruption, do not draw the rest.
            pool.shutdown(cancel_futures=True)
            if cache:
                remove_old(cache, _KEPT_ENTRIES)


def start_server() -> None:
    """Start the process that imports Altair for the processes that draw, without waiting for it.
    Call it inside `open_drawing`."""
    if not _has_room_for_sockets():
        return
    # Python unblocks SIGINT when it starts the resource tracker, so the tracker comes first.
    resource_tracker.ensure_running()
    with block_sigint():
        forkserver.ensure_running()


def _has_room_for_sockets() -> bool:
    """Whether the server can have its sockets in the directory of temporary files. That of a job
    may be deep, and Linux takes paths of sockets up to 107 bytes."""
    return len(os.fsencode(gettempdir())) + len("/pymp-12345678/listener-12345678") <= 107


def _name_entry(table: ReportTable, texts: Mapping[str, ChartText] | None) -> str:
    """The name of the entry of the charts of a table: a hash of all that they show."""
    shown = (to_record(table), table.compact_keys, sorted(table.name_keys), table.node_rows, texts)
    return sha256(repr(shown).encode()).hexdigest()


def _encode(drawn_charts: Sequence[DrawnChart]) -> str:
    return json.dumps(
        [{**vars(drawn.chart), "table": None, "svg": drawn.svg} for drawn in drawn_charts]
    )


def _decode(content: bytes, table: ReportTable) -> list[DrawnChart]:
    records = json.loads(content)
    return [DrawnChart(svg=r.pop("svg"), chart=Chart(**{**r, "table": table})) for r in records]


def _finish(result: _T) -> Future[_T]:
    future: Future[_T] = Future()
    future.set_result(result)
    return future


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
