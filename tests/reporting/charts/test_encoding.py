"""Charts show board, setting and provenance by colour, shape and line, and mark doubtful points."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from support.report.chart_tables import list_charts, make_result, make_results, make_table

from reporting.charts import build_charts
from reporting.charts.chart import CROSSED, HOLLOW, PUBLISHED, WITHHELD, explain_marks
from reporting.charts.encoding import GREEN, PALETTE, Look, find_look
from reporting.charts.render import to_svg
from reporting.charts.style import assign_styles
from reporting.report_table import Value
from rules.workloads import Workload, workloads


def test_doubtful_points_are_hollow_and_implausible_ones_crossed() -> None:
    held, doubted, crossed = (
        to_svg(build_charts(table)[0])
        for table in (
            make_results(),
            make_results(make_result(400.0, 500.0, 2.0, line="b", doubt="no")),
            make_results(make_result(400.0, 500.0, 2.0, line="b", implausible="no")),
        )
    )
    assert "fill-opacity" not in held and 'fill-opacity="0"' in doubted
    # A cross is two strokes in the colour of the text.
    crosses = [
        p
        for p in Xml.fromstring(crossed).iter("path")
        if p.get("stroke-width") == "1.4" and p.get("opacity") == "0.9"
    ]
    assert (
        len(crosses) == 1
        and "Crossed"
        in build_charts(make_results(make_result(400.0, 500.0, 2.0, line="b", implausible="no")))[
            0
        ].about
    )
    assert "Hollow" not in build_charts(make_results())[0].about


_BF16 = {"variant": "tuned", "precision": "bf16"}


def test_setups_of_studies_on_one_board_differ_in_shape() -> None:
    settings = ("cudagraph bf16", "cudagraph tf32", "cudagraph fp32", "compile bf16")
    assert len({Look("H200", setting, "measured").shape for setting in settings}) == len(settings)
    assert Look("H200", "", "published").label == "H200 · published"


@pytest.mark.parametrize(
    "workload", [w for w in workloads().values() if not w.is_control], ids=lambda w: w.id
)
def test_variants_of_a_workload_differ_in_shape(workload: Workload) -> None:
    looks = [
        find_look({"model": "H200", "variant": variant, "precision": precision})
        for variant, precision in workload.variants.items()
    ]
    assert len({look.shape for look in looks}) == len(looks) >= 2


def test_line_has_the_look_of_its_board_setting_and_provenance_whatever_else_is_drawn() -> None:
    rows = [
        {"line": "tuned", "model": "H200", "standing": "closed", **_BF16},
        {"line": "baseline", "model": "H200", "standing": "closed", **_BF16, "variant": "baseline"},
        {"line": "paper", "model": "H200", "standing": "published"},
        {"line": "demo", "model": "H200", "standing": "demo", **_BF16, "provenance": "simulated"},
        {"line": "other", "model": "H100", "standing": "closed", **_BF16},
    ]
    styles = assign_styles(rows)
    colour, shape, dash = (
        dict(zip(scale.domain, scale.range, strict=True))
        for scale in (styles.colour, styles.shape, styles.dash)
    )
    assert len({colour[line] for line in ("tuned", "baseline", "paper", "demo")}) == 1
    assert colour["other"] != colour["tuned"]
    assert shape["tuned"] == shape["demo"] == shape["other"] != shape["baseline"]
    assert dash["tuned"] == dash["baseline"] == (1, 0)
    assert len({dash[line] for line in ("tuned", "paper", "demo")}) == 3
    for row in rows:
        alone = assign_styles([row])
        assert (alone.colour.range, alone.shape.range) == (
            [colour[str(row["line"])]],
            [shape[str(row["line"])]],
        )


@pytest.mark.parametrize(
    ("fields", "is_faint"),
    [
        ({}, False),
        ({"standing": "published"}, True),
        ({"standing": "demo", "provenance": "simulated"}, True),
    ],
)
def test_points_are_faint_unless_measured(fields: dict[str, Any], is_faint: bool) -> None:
    (chart,) = [
        chart
        for chart in build_charts(
            make_table("results", *(make_result(c, c, 900 / c, **fields) for c in (300.0, 700.0)))
        )
        if chart.id.endswith("-caps")
    ]
    opacities = [
        path.get("fill-opacity", "1")
        for path in Xml.fromstring(to_svg(chart)).iter("path")
        if path.get("fill") == GREEN
    ]
    # The last one is the symbol of the legend.
    assert len(opacities) >= 2 and set(opacities) == {"0.3" if is_faint else "1"}


def test_lines_of_one_look_share_an_entry_of_the_legend() -> None:
    rows = [{"line": line, "model": "H200", "standing": "closed", **_BF16} for line in ("a", "b")]
    legend = assign_styles(rows).legend
    assert legend.values == ["a"] and "H200 · tuned bf16" in legend.labelExpr


def test_colours_of_charts_stand_out_on_paper_and_card_in_both_themes() -> None:
    css = (Path(__file__).parents[3] / "reporting/templates/report.css").read_text()
    backgrounds = [
        "#" + "".join(2 * c for c in name) if len(name) == 3 else f"#{name}"
        for name in re.findall(r"--(?:paper|card): #([0-9a-f]+)", css)
    ]
    drawn = {
        colour.casefold()
        for chart in list_charts()
        for colour in re.findall(r"#[0-9A-Fa-f]{6}", json.dumps(without_areas(chart.spec)))
    }
    assert len(backgrounds) >= 4 and drawn
    for colour in {*drawn, *(colour.casefold() for colour in PALETTE)}:
        ratios = [contrast(colour, background) for background in backgrounds]
        assert min(ratios) >= 3, f"{colour} on {backgrounds[ratios.index(min(ratios))]}"


def without_areas(spec: Any) -> Any:
    """The spec without the shades of epochs, which are areas behind the marks."""
    if isinstance(spec, dict):
        if spec.get("encoding", {}).get("x2", {}).get("field") == "end":
            return {}
        return {key: without_areas(value) for key, value in spec.items()}
    return [without_areas(value) for value in spec] if isinstance(spec, list) else spec


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours (WCAG 2.2, section 1.4.11)."""
    darker, lighter = sorted(map(luminance, (first, second)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_simulated_results_say_so_across_the_plot() -> None:
    def count_words(**fields: Any) -> float:
        table = make_table(
            "results", *(make_result(cap, cap, 900 / cap, **fields) for cap in (300.0, 700.0))
        )
        svgs = [to_svg(chart) for chart in build_charts(table)]
        assert svgs
        return [text.text or "" for svg in svgs for text in Xml.fromstring(svg).iter("text")].count(
            "simulated"
        ) / len(svgs)

    assert count_words(provenance="simulated") == 1 and count_words(provenance="measured") == 0


def test_marks_that_occur_are_explained() -> None:
    row = {"doubt": "", "implausible": "", "standing": "closed"}
    marks: dict[str, dict[str, Value]] = {
        HOLLOW: {"doubt": "The cap did not hold."},
        WITHHELD: {"withheld": "not reviewed yet"},
        CROSSED: {"implausible": "exceeds the peak"},
        PUBLISHED: {"standing": "published"},
    }
    assert explain_marks([row]) == ""
    for text, mark in marks.items():
        assert explain_marks([row, row | mark]) == text
