"""Figures for papers have the width of the paper, text of 7 to 8 pt, and their fonts."""

import re
import zlib
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from support.report.chart_tables import make_result, make_results

from reporting.charts import build_charts
from reporting.papers.figures import draw_figure, write_figures

_PDF_POINTS = 72 / 72.27
RESULTS = make_results(
    make_result(200.0, 100.0, 0.50), make_result(300.0, 150.0, 0.55), make_result(400.0, 190.0, 0.4)
)


def check_svg(svg: str, width_pt: int) -> None:
    root = Xml.fromstring(svg)
    width, unit = float(root.attrib["width"][:-2]), root.attrib["width"][-2:]
    assert (width, unit) == (pytest.approx(width_pt * _PDF_POINTS, abs=0.01), "pt")
    points_per_px = width / float(root.attrib["viewBox"].split()[2]) / _PDF_POINTS
    sizes = [
        float(text.attrib["font-size"].removesuffix("px")) * points_per_px
        for text in root.iter("{http://www.w3.org/2000/svg}text")
        if text.text
    ]
    assert sizes and min(sizes) >= 6.99 and max(sizes) <= 8.01


@pytest.mark.parametrize("width_pt", [252, 516])
def test_svg_has_the_width_of_the_paper_and_text_of_7_to_8_pt(width_pt: int) -> None:
    charts = build_charts(RESULTS)
    assert charts
    for chart in charts:
        check_svg(draw_figure(chart, width_pt), width_pt)


@pytest.mark.xdist_group("whole-report")  # one test process builds it, once
def test_figures_of_the_submissions_have_text_of_7_to_8_pt(whole_report: Path) -> None:
    paths = list((whole_report / "figures").glob("*.svg"))
    assert len(paths) > 20
    for path in paths:
        check_svg(path.read_text(encoding="utf-8"), 516)


def test_pdf_has_the_size_of_the_svg_and_its_fonts(tmp_path: Path) -> None:
    (chart, *_) = build_charts(RESULTS)
    svg, pdf = write_figures([chart], tmp_path / "figures", 252)
    root = Xml.parse(svg).getroot()
    size = [float(root.attrib[key].removesuffix("pt")) for key in ("width", "height")]
    content = pdf.read_bytes()
    (box,) = re.findall(rb"/MediaBox\s*\[([^\]]+)\]", content)
    assert [float(n) for n in box.split()] == pytest.approx([0, 0, *size], abs=0.01)
    objects = b"".join(
        zlib.decompress(stream)
        for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
        if stream[:1] == b"x"
    )
    fonts = content + objects
    assert b"/FontFile" in fonts and not re.search(rb"/Subtype\s*/Image", fonts)
    assert (svg.name, pdf.name) == (f"{chart.id}.svg", f"{chart.id}.pdf")
    text = svg.read_text(encoding="utf-8")
    assert "currentColor" not in text and "items_per_joule, unit" in text
