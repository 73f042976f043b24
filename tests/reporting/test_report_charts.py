"""Charts draw what their tables hold and nothing else, in the page, without scripts, and in files
for papers."""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import altair
import pytest
from support.report.chart_tables import (
    CHART_TABLES,
    NODE,
    list_charts,
    make_result,
    make_results,
    make_table,
    mark_fronts,
    validate_spec,
)
from support.report.drawing import draw
from support.report.html import unpack_tables

from reporting.charts import build_charts, compact
from reporting.charts.chart import Chart, DrawnChart
from reporting.charts.encoding import GREEN
from reporting.charts.render import to_svg
from reporting.charts.style import ROW_NUMBER
from reporting.page_data import share_cells
from reporting.page_figures import PageFigures
from reporting.report_table import to_record
from rules.metrics.power.profile import with_node_overhead


@pytest.fixture(scope="module")
def charts() -> list[Chart]:
    return list(list_charts())


def test_drawing_shows_how_many_tables_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr("reporting.charts.drawing.show_step", steps.append)
    draw([make_table(f"unknown{letter}") for letter in "abc"])
    assert steps == [f"drawing charts: {n} of 3 tables" for n in (1, 2, 3)]


def test_every_kind_of_table_has_its_charts(charts: list[Chart]) -> None:
    ends = {chart.id.removeprefix("resnet50-train-") for chart in charts}
    assert ends == {
        *("results-caps", "results-saving", "results-efficiency", "results-energy"),
        *("hill-small", "scaling-bars", "tuned-pairs"),
        *("power-spread", "power-sm", "trace-1-power", "epochs-repeats"),
        *("course-1-whole", "course-1-boards", "course-1-utilisation"),
        *("llama3-8b-serve-serving-energy", "llama3-8b-serve-serving-throughput"),
        *("naive-factors-peak", "naive-factors-marks", "whole-nodes-8"),
        "fixed-work-batch-1",
    }
    assert build_charts(make_table("serving", {"cap_w": 700.0})) == []
    assert build_charts(make_table("system-1", {"cap_w": 700.0})) == []


def test_altair_infers_no_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a channel that is given as text or as a dictionary, Altair hashes its whole schema, which
    takes 13 ms."""
    monkeypatch.setattr(altair.utils.schemapi.SchemaBase, "from_dict", None)
    assert list(list_charts())


def test_specs_are_sound_vega_lite_and_name_their_table(charts: list[Chart]) -> None:
    for chart in charts:
        validate_spec(chart.spec)
        assert {"name": chart.table.id} in data_of(chart.spec), chart.id
        assert chart.title and chart.about and chart.alt, chart.id
        known = set(chart.table.keys)
        spec_text = json.dumps(chart.spec)
        drawn = set(re.findall(r'"field": "(\w+)"', spec_text))
        computed = set(re.findall(r'"as": "(\w+)"', spec_text))
        # The page numbers the rows, and labels refer to these numbers.
        unknown = drawn - known - {*computed, ROW_NUMBER, "label"}
        assert not unknown, f"{chart.id}: a field that no column has"
        # A tooltip would show the computed value as that of the column.
        assert not computed & {"place", "name"}, chart.id


def data_of(spec: Any) -> list[Any]:
    """All data that a spec names."""
    if isinstance(spec, dict):
        own = [spec["data"]] if "data" in spec else []
        return own + [d for inner in spec.values() for d in data_of(inner)]
    return [d for inner in spec for d in data_of(inner)] if isinstance(spec, list) else []


def test_specs_hold_no_figure_of_their_table(charts: list[Chart]) -> None:
    for chart in charts:
        inline = [row for rows in chart.spec.get("datasets", {}).values() for row in rows]
        # Only places of labels, by the number of the row.
        assert all(row.keys() <= {ROW_NUMBER, "label", "dx", "dy"} for row in inline), chart.id


def test_default_cap_has_no_label_where_the_lines_of_the_saving_chart_cross() -> None:
    (chart,) = (c for c in build_charts(make_results()) if c.id.endswith("-saving"))
    labels = {
        row["label"] for rows in chart.spec["datasets"].values() for row in rows if "label" in row
    }
    assert labels == {"300", "500"}


def points_of(svg: str, colour: str) -> list[tuple[float, float]]:
    """Where the shapes of a colour begin, from the left, in pixels of the plot."""
    points = []
    for path in Xml.fromstring(svg).iter("path"):
        if path.get("stroke") == colour and path.get("stroke-width") == "1.5":
            shift = re.fullmatch(
                r"translate\((-?[\d.]+),(-?[\d.]+)\)", path.get("transform", "translate(0,0)")
            )
            assert shift is not None
            for x, y in re.findall(r"M(-?[\d.]+),(-?[\d.]+)", path.get("d", "")):
                points.append((float(x) + float(shift[1]), float(y) + float(shift[2])))
    return sorted(points)


def test_points_of_the_picture_lie_where_the_rows_say() -> None:
    (chart,) = [c for c in build_charts(make_results()) if c.id.endswith("-caps")]
    (x0, y0), (x1, y1), (x2, y2) = points_of(to_svg(chart), GREEN)[-3:]
    # The figure is the cap over 100: caps of 300, 500 and 700 W are equally far apart on both axes.
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2)
    assert x1 > x0 and y1 < y0


def test_point_whose_cap_did_not_hold_is_hollow_at_its_requested_cap() -> None:
    doubted = make_result(500.0, 500.0, 2.0, line="b", power_w=560.0, doubt="It did not hold.")
    (chart,) = [c for c in build_charts(make_results(doubted)) if c.id.endswith("-caps")]
    svg = to_svg(chart)
    xs = [round(x) for x, _ in points_of(svg, GREEN)[-4:]]
    assert len(set(xs)) == 3, "two of the points are at 500 W"
    assert svg.count('fill-opacity="0"') == 1
    assert not re.search("<text[^>]*currentColor", svg), "the style sheet of the page sets it"


@pytest.mark.parametrize("shape", ["circle", "square", "diamond", "triangle-up", "cross"])
def test_short_picture_draws_the_same_shapes(shape: str) -> None:
    import vl_convert

    at = [(random.Random(n).uniform(0, 99), random.Random(-n).uniform(0, 99)) for n in range(1, 6)]
    chart = altair.Chart(altair.InlineData(values=[{"x": x, "y": y} for x, y in at])).mark_point(
        shape=shape, strokeWidth=1.5
    )
    spec = chart.encode(x="x:Q", y="y:Q").properties(width=300, height=200).to_dict()
    whole = vl_convert.vegalite_to_svg(spec)
    short = compact.shorten_svg(whole)
    assert len(short) < len(whole) / 2
    assert area(whole) == pytest.approx(area(short), abs=1.0)


def area(svg: str) -> list[float]:
    """Left, top, right and bottom of all the points of a picture together: the pen is followed
    through every command."""
    xs, ys = [], []
    for path in Xml.fromstring(svg.replace(' xmlns="http://www.w3.org/2000/svg"', "")).iter("path"):
        if path.get("stroke-width") != "1.5":
            continue
        shift = re.fullmatch(
            r"translate\((-?[\d.]+),(-?[\d.]+)\)", path.get("transform", "translate(0,0)")
        )
        assert shift is not None
        x = y = 0.0
        for command, numbers in re.findall(r"([MLAlahvHV])([-\d.,]*)", path.get("d", "")):
            values = [float(v) for v in numbers.split(",")]
            if command in "MLA":
                x, y = values[-2:]
            elif command in "la":
                x, y = x + values[-2], y + values[-1]
            elif command in "hv":
                x, y = (x + values[0], y) if command == "h" else (x, y + values[0])
            xs.append(x + float(shift[1]))
            ys.append(y + float(shift[2]))
    return [min(xs), min(ys), max(xs), max(ys)]


@pytest.mark.parametrize("directory", ["short", "d" * 90])
def test_charts_are_drawn_in_processes_by_one_that_has_drawn_before(
    directory: str, tmp_path: Path
) -> None:
    """A path of a socket has at most 107 bytes, and a job may have a deep directory."""
    (tmp_path / directory).mkdir()
    # The path of a short one must not depend on the name of this test.
    with tempfile.TemporaryDirectory() as short:
        place = short if directory == "short" else str(tmp_path / directory)
        done = _draw_twice(place)
    assert done.stdout.split() == [b"5", b"5", b"True"]


def _draw_twice(temporary: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-c", _DRAW_TWICE],
        env={**os.environ, "TMPDIR": temporary},
        cwd=Path(__file__).parent,
        capture_output=True,
        timeout=300,
        check=True,
    )


_DRAW_TWICE = """
import sys
import tempfile
sys.path[:0] = ["../..", "..", "."]
if __name__ == "__main__":
    from support.report.chart_tables import CHART_TABLES
    from reporting.charts import build_charts
    from reporting.charts import drawing as drawing_module
    from reporting.charts.drawing import open_drawing
    from reporting.charts.render import to_svg
    from dataclasses import replace
    to_svg(build_charts(CHART_TABLES[0])[0])
    ids = [f"w{n}-" + table.id.rpartition("-")[2] for n, table in enumerate(CHART_TABLES)]
    tables = [replace(table, id=name) for table, name in zip(CHART_TABLES, ids, strict=True)]
    drawing_module._FEW_TABLES = 0
    with open_drawing() as drawing:
        drawing.start(tables)
        drawn = drawing.wait_for(tables)
    same = all(one.svg == to_svg(one.chart) for of in drawn.values() for one in of)
    print(len(drawn), sum(bool(of) for of in drawn.values()), same)
"""


@pytest.mark.parametrize(
    ("heights", "right"), [((900, 99, 99, 99), {1, 2, 3}), ((99, 99, 99), {1}), ((900, 99), set())]
)
def test_chart_goes_below_the_shorter_of_two_columns(heights: list[int], right: set[int]) -> None:
    chart = build_charts(CHART_TABLES[0])[0]
    drawn = [
        DrawnChart(replace(chart, id=str(number)), f'<svg viewBox="0 0 400 {height}">')
        for number, height in enumerate(heights)
    ]
    assert PageFigures({}).list_right(drawn) == {str(number) for number in right}


def test_text_of_strangers_is_no_markup_in_a_picture() -> None:
    hostile = "<script>alert(1)</script>&amp;"
    table = make_results(make_result(400.0, 100.0, 1.0, line=hostile, model=hostile))
    named = set()
    for drawn in draw([table])[table.id]:
        assert "<script" not in drawn.svg
        texts = [text.text or "" for text in Xml.fromstring(drawn.svg).iter("text")]
        named |= {drawn.chart.id.rpartition("-")[2]} if any(hostile in t for t in texts) else set()
    assert {"efficiency", "caps"} <= named, "the legends name the board"


def test_peak_and_front_leave_out_what_is_in_doubt() -> None:
    rows = [
        make_result(300.0, 100.0, 5.0, line="a", standing="closed"),
        make_result(400.0, 200.0, 4.0, line="a", standing="closed"),
        make_result(500.0, 150.0, 3.0, line="a", standing="closed"),
        make_result(200.0, 300.0, 9.0, line="a", standing="closed", doubt="The cap did not hold."),
        make_result(
            700.0, 900.0, 8.0, line="p", standing="published", implausible="exceeds the peak"
        ),
        make_result(600.0, 900.0, 1.0, line="p", standing="published"),
        make_result(700.0, 50.0, 1.5, line="alone", standing="closed"),
    ]
    marked = mark_fronts(rows)
    assert [row["peak"] for row in marked] == [True, False, False, False, False, False, False]
    assert [row["front"] for row in marked] == [True, True, False, False, False, True, False]


def test_switch_of_the_node_can_move_the_peak() -> None:
    low = {**make_result(200.0, 100.0, 0.50), NODE: with_node_overhead(100.0, 200.0)}
    high = {**make_result(400.0, 190.0, 0.475), NODE: with_node_overhead(190.0, 400.0)}
    marked = mark_fronts([{"line": "a", "standing": "closed", **row} for row in (low, high)])
    assert [row["peak"] for row in marked] == [True, False]
    assert [row["peak_node"] for row in marked] == [False, True]


def test_node_adds_a_quarter_of_100_w_per_accelerator() -> None:
    assert with_node_overhead(1000.0, 475.0) == pytest.approx(2.0)


def test_shared_cells_are_restored_with_their_types() -> None:
    records = [to_record(table) for table in (*CHART_TABLES, *CHART_TABLES)]
    short = share_cells(records)
    assert unpack_tables(short) == records
    text, restored_text = (
        json.dumps(tables, sort_keys=True)
        for tables in (records, unpack_tables(json.loads(json.dumps(short))))
    )
    assert restored_text == text, "True is no 1, and 1 is no 1.0"
