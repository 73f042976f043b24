"""Charts as figures for papers: SVG and PDF of one or two columns of IEEEtran, with text of 7 to
8 pt. A figure has no title, because the paper gives it a caption."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import vl_convert

from reporting.charts.chart import Chart
from reporting.charts.render import fill_spec
from reporting.charts.style import CONFIG

PX_PER_PT = 1.5
"""Pixels of a chart in a point of the paper: 12 px become 8 pt. Lines and symbols shrink with the
text."""
LEAST_TEXT_PX, GREATEST_TEXT_PX = 7 * PX_PER_PT, 8 * PX_PER_PT
_PDF_POINTS = 72 / 72.27
"""Points of PDF and SVG in a point of TeX."""
_FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Fonts whose letters have equal widths, so that an SVG looks the same everywhere."""
_TEXT_SIZES = frozenset({"fontSize", "labelFontSize", "titleFontSize"})
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)" viewBox="0 0 [\d.]+ [\d.]+"')
_SIZE_PT = re.compile(r'width="([\d.]+)pt" height="([\d.]+)pt"')


def write_figures(charts: Iterable[Chart], directory: Path, width_pt: int) -> list[Path]:
    """Write each chart as SVG and PDF into `directory` and return the files. The directory is
    created. `width_pt` is in points of TeX. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for chart in charts:
        picture = draw_figure(chart, width_pt)
        # The PDF is made of the SVG, so both show the same. The converter writes a point for each
        # unit without a name.
        pdf = vl_convert.svg_to_pdf(_SIZE_PT.sub(r'width="\1" height="\2"', picture, count=1))
        for suffix, content in ((".svg", picture.encode()), (".pdf", pdf)):
            path = directory / f"{chart.id}{suffix}"
            path.write_bytes(content)
            paths.append(path)
    return paths


def draw_figure(chart: Chart, width_pt: int) -> str:
    """The chart as an SVG document that is `width_pt` points of TeX wide."""
    spec = fit_text(fill_spec(chart, width_pt * PX_PER_PT))
    config = fit_text(CONFIG | {"font": _FONT})
    # Outside the page, currentColor has no value.
    svg = str(vl_convert.vegalite_to_svg(spec, config=config)).replace("currentColor", "#000")

    def write_size(match: re.Match[str]) -> str:
        width_px, height_px = map(float, match.groups())
        # A chart of several parts has a width of its own.
        scale = width_pt * _PDF_POINTS / width_px
        return (
            f'width="{width_px * scale:.3f}pt" height="{height_px * scale:.3f}pt" '
            f'viewBox="0 0 {width_px:g} {height_px:g}"'
        )

    return _SIZE.sub(write_size, svg, count=1)


def fit_text(part: Any) -> Any:
    """The part of a spec with all sizes of text between 7 and 8 pt."""
    if isinstance(part, dict):
        return {
            key: _fit_size(value) if key in _TEXT_SIZES else fit_text(value)
            for key, value in part.items()
        }
    if isinstance(part, list):
        return [fit_text(item) for item in part]
    return part


def _fit_size(size: Any) -> float:
    # An expression is for the widths of screens.
    px = size if isinstance(size, float | int) else LEAST_TEXT_PX
    return min(max(px, LEAST_TEXT_PX), GREATEST_TEXT_PX)
