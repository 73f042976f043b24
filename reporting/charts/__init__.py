"""The charts of the page. Each is drawn from one table: its spec names the table and holds none of
its numbers.

`charts(table)` finds those that belong to a table by the end of its id. `draw` makes their static
pictures, and the page draws the same specs again when a reader scrolls to them.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from checker.engine import cores
from rules.bundle_format.records import Json

if TYPE_CHECKING:
    from reporting.report_table import Table


_FEW = 3
"""As many tables are drawn sooner than processes start."""


class ChartError(Exception):
    """Charts cannot be drawn; the message says what to install."""


@dataclass(frozen=True)
class Chart:
    """One chart. `spec` is Vega-Lite without its rows and without the look that all charts
    share."""

    id: str
    title: str
    about: str
    """What the reader must know to read it: the caption."""
    alt: str
    table: "Table"
    spec: Json


@dataclass(frozen=True)
class Drawn:
    """A chart and its static picture, an SVG element in the colour of the text around it."""

    chart: Chart
    svg: str


def charts(table: "Table") -> list[Chart]:
    """The charts of a table; none where it has no rows for them. Raises ChartError without the
    extra `report`."""
    altair = _altair()
    from reporting.charts import bars, curves, spans

    of: Mapping[str, Callable[[Table], list[Chart]]] = {
        "results": lambda t: [*curves.of_results(t), *bars.energy(t)],
        "sweeps": curves.of_sweeps,
        "scaling": bars.scaling,
        "best": bars.best,
        "tuned": bars.tuned,
        "power": lambda t: [*spans.distribution(t), *curves.of_power(t)],
        "trace": spans.trace,
    }
    kind = table.id.rstrip("0123456789-").rpartition("-")[2]
    with altair.utils.schemapi.debug_mode(
        False
    ):  # the specs are checked in the tests, not in every report
        return of[kind](table) if kind in of else []


def _altair() -> Any:
    try:
        import altair
        import vl_convert  # noqa: F401  what draws must be there too
    except ImportError as error:
        raise ChartError(f"charts need {error.name}: pip install 'wattmark[report]'") from None
    return altair


def draw(tables: "Sequence[Table]") -> "dict[str, list[Drawn]]":
    """The charts of all tables, drawn, by the id of the table. Raises ChartError without the extra
    `report`."""
    _altair()  # before there are processes that each would miss it
    if len(tables) <= _FEW:
        return {table.id: _drawn(table) for table in tables}
    # A forked copy of a process that has drawn before would wait for the renderer's threads, which
    # are not copied.
    with ProcessPoolExecutor(cores(), mp_context=get_context("forkserver")) as pool:
        return dict(zip((table.id for table in tables), pool.map(_drawn, tables), strict=True))


def _drawn(table: "Table") -> list[Drawn]:
    found = charts(table)
    if not found:
        return []
    from reporting.charts.render import to_svg

    return [Drawn(chart, to_svg(chart)) for chart in found]


def scripts() -> tuple[str, ...]:
    """The texts of the page's scripts that draw charts, in their order. They come after the one
    that sets `window.wattmark`."""
    from reporting.charts import render

    return render.scripts()


def pack(drawn: "Mapping[str, Sequence[Drawn]]") -> Json:
    """The specs of all charts, short, for the script that draws them in the page."""
    from reporting.charts import compact

    return compact.pack({one.chart.id: one.chart.spec for of in drawn.values() for one in of})
