"""Charts drawn in the process of the tests."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reporting.charts import drawing
from reporting.charts.chart import DrawnChart
from reporting.report_table import ReportTable
from reporting.sentences.charts import ChartText


class InThisProcess(Executor):
    """Calls a function when it is submitted."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **options))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def open_drawing_here(cache: Path | None = None) -> Iterator[drawing.Drawing]:
    """As `reporting.charts.drawing.open_drawing`, without processes and without what an earlier
    test drew."""
    yield drawing.Drawing(InThisProcess())


def draw(
    tables: Sequence[ReportTable], texts: Mapping[str, Mapping[str, ChartText]] | None = None
) -> dict[str, list[DrawnChart]]:
    """The charts of the tables, by the id of their table."""
    with open_drawing_here() as in_this_process:
        in_this_process.start(tables, texts)
        return in_this_process.wait_for(tables)
