"""Draws charts: as SVG for the page, and as the scripts that draw them in the page."""

import json
from functools import cache
from importlib.resources import files

import vl_convert

from reporting.charts import compact
from reporting.charts.chart import Chart
from reporting.charts.style import CONFIG, HOVER_LAYER, ROW_NUMBER
from rules.bundle_format.records import Json


def to_svg(chart: Chart) -> str:
    """Draw the chart as a short SVG element. The renderer escapes text from the data, so the
    result is safe markup."""
    return compact.shorten_svg(
        str(vl_convert.vegalite_to_svg(fill_spec(chart, chart.width_px), config=CONFIG))
    )


@cache
def load_libraries() -> str:
    """The text of the libraries that the drawing script calls."""
    # The renderer brings the libraries in the versions that it draws with, so the static and the
    # live picture agree, and nothing is downloaded.
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


@cache
def load_drawing_script() -> str:
    """The text of the script that draws charts in the page."""
    templates = files("reporting") / "templates"
    script, *parts = (
        (templates / f"{name}.js").read_text(encoding="utf-8")
        for name in ("charts", "chart_marks", "chart_views")
    )
    script = script.replace("PARTS\n", "\n".join(parts))
    return script.replace("CHART_CONFIG", json.dumps(CONFIG, ensure_ascii=False))


def fill_spec(chart: Chart, width_px: float) -> Json:
    """The spec with the rows of its table, `width_px` wide."""
    spec_text = json.dumps(chart.spec)
    # The renderer copies the rows, so it gets the columns that the spec names.
    keys = [key for key in chart.table.keys if key in spec_text]
    rows = [
        {**{key: row[key] for key in keys}, ROW_NUMBER: number}
        for number, row in enumerate(chart.table.rows)
    ]
    spec = {
        **chart.spec,
        "width": width_px,
        # The spec refers to the table by name. The page has the rows once for tables and charts.
        "datasets": {**chart.spec.get("datasets", {}), chart.table.id: rows},
    }
    if "layer" in spec:
        # Static pictures have no tooltips.
        spec["layer"] = [layer for layer in spec["layer"] if layer.get("name") != HOVER_LAYER]
    return spec
