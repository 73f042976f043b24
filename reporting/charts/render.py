"""Draws charts: as SVG for the page, as SVG and PDF for papers, and as the scripts that draw them
in the page."""

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

import vl_convert

from reporting.charts import compact
from reporting.charts.chart import Chart
from reporting.charts.style import CONFIG, HOVER_LAYER, ROW_NUMBER
from rules.bundle_format.records import Json


def to_svg(chart: Chart) -> str:
    """Draw the chart as a short SVG element. The renderer escapes text from the data, so the
    result is safe markup."""
    return compact.shorten_svg(str(vl_convert.vegalite_to_svg(_fill_spec(chart), config=CONFIG)))


def write_figures(charts: Iterable[Chart], directory: Path) -> list[Path]:
    """Write each chart as SVG and PDF into `directory` and return the files. The directory is
    created. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for chart in charts:
        # Outside the page, currentColor has no value.
        svg = str(vl_convert.vegalite_to_svg(_fill_spec(chart), config=CONFIG)).replace(
            "currentColor", "#000"
        )
        # The PDF is made of the SVG, so both show the same.
        for suffix, content in ((".svg", svg.encode()), (".pdf", vl_convert.svg_to_pdf(svg))):
            path = directory / f"{chart.id}{suffix}"
            path.write_bytes(content)
            paths.append(path)
    return paths


@cache
def load_libraries() -> str:
    """The text of the libraries that the drawing script calls."""
    # The renderer brings the libraries in the versions that it draws with, so the static and the
    # live picture agree, and nothing is downloaded.
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


@cache
def load_drawing_script() -> str:
    """The text of the script that draws charts in the page."""
    script = (files("reporting") / "templates" / "charts.js").read_text(encoding="utf-8")
    return script.replace("CHART_CONFIG", json.dumps(CONFIG, ensure_ascii=False))


def _fill_spec(chart: Chart) -> Json:
    """The spec with the rows of its table, in the width of a static picture."""
    rows = [{**row, ROW_NUMBER: number} for number, row in enumerate(chart.table.rows)]
    spec = {
        **chart.spec,
        "width": chart.width_px,
        # The spec refers to the table by name. The page has the rows once for tables and charts.
        "datasets": {**chart.spec.get("datasets", {}), chart.table.id: rows},
    }
    if "layer" in spec:
        # Static pictures have no tooltips.
        spec["layer"] = [layer for layer in spec["layer"] if layer.get("name") != HOVER_LAYER]
    return spec
