"""The charts of the page in a browser: their points, tooltips, switch and keyboard."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.report.browser import (
    JOULES,
    RATE,
    download,
    draw_figure,
    open_address,
    read_address,
    read_rows,
    wait_for_script,
)
from support.report.html import Element, Tree, read_lines, read_tables

from reporting.report_table import Column

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")


pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once


def told(page: Any, figure: Any, place: int) -> dict[str, str]:
    """What the tooltip of a point says, by its heads."""
    page.evaluate(_POINT_AT, [figure.get_attribute("id"), place])
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    values = [without_n(value) for value in tip.locator("td").all_inner_texts()]
    return dict(zip(tip.locator("th").all_inner_texts(), values, strict=True))


def without_n(text: str) -> str:
    """A tooltip says the n of every interval, a table that of one in each row."""
    return text.partition(", n\u202f")[0]


_POINTS = ".live .role-mark.mark-symbol path[stroke-width='1.5']"
"""Rings of the front and crosses are drawn with other strokes."""
_LABELS = ".live .role-mark.mark-text text"
_POINT_AT = """([id, place]) => {
  const point = document.querySelectorAll(`#${id} POINTS`)[place];
  const at = { bubbles: true, clientX: 200, clientY: 200 };
  document.querySelector(`#${id} .live svg`).dispatchEvent(new PointerEvent("pointerout", at));
  for (const type of ["pointerover", "pointermove"]) {
    point.dispatchEvent(new PointerEvent(type, at));
  }
}""".replace("POINTS", _POINTS)
_AXES = """figure => {
  const at = (element) => element.getAttribute("transform").match(/-?[\\d.]+/g).map(Number);
  const own = [...figure.querySelectorAll(".live .role-axis")]
    .filter((axis) => axis.querySelector(".role-axis-label text"));
  return own.map((axis) => ({
    labels: [...axis.querySelectorAll(".role-axis-label text")].map((label) => label.textContent),
    ticks: [...axis.querySelectorAll(".role-axis-tick line")].map(at),
  }));
}"""


def on_axis(axis: dict[str, Any], way: int, pixel: float) -> float:
    """The value at a pixel of a linear axis, by its first and last tick; `way` is 0 for x and 1 for
    y."""
    low, high = (float(axis["labels"][n].replace("\u202f", "")) for n in (0, -1))
    begin, end = (axis["ticks"][n][way] for n in (0, -1))
    return low + (high - low) * (pixel - begin) / (end - begin)


def in_tooltip(cell: Element, column: Column) -> str:
    """What a tooltip is to say of a cell of the table: its value with the unit, and the interval
    below."""
    value = cell.main_text.strip("()") if column.form == "number" else cell.main_text
    return "\n".join(
        [f"{value} {column.unit}".strip(), *(without_n(small.text) for small in cell.find("small"))]
    )


def test_points_titles_tooltips_table_and_download_of_a_chart_hold_the_same(
    page: Any, whole_report: Path
) -> None:
    id = "vitl16-train-results"
    figure = draw_figure(page, f"{id}-caps")
    saved = download(page, page.locator(f"#{id} .tools").get_by_role("button", name="as CSV"))
    downloaded = list(csv.DictReader(io.StringIO(Path(saved.path()).read_text(encoding="utf-8"))))
    parsed = Tree((whole_report / "report.html").read_text(encoding="utf-8")).open[0]
    (table,) = [one for one in read_tables(parsed) if one.id == id]
    shown = [one for one in table.columns if not one.hidden and one.form != "evidence"]
    cells = [
        {c.title: in_tooltip(line.cells[c.key], c) for c in shown if line[c.key] is not None}
        for line in read_lines(parsed, id)
    ]
    cap, joules = table.get_column("cap_w"), table.get_column(JOULES)
    axes = page.evaluate(_AXES, figure.element_handle())
    titles = figure.locator(".role-axis-title text, .role-title text").all_text_contents()
    assert titles == [cap.label, f"{joules.label} (lower is better)"]
    met = []
    for place, point in enumerate(figure.locator(_POINTS).all()):
        said = told(page, figure, place)
        assert said.pop("evidence")
        (row,) = [n for n, wanted in enumerate(cells) if said == wanted]
        at = [float(v) for v in re.findall(r"-?[\d.]+", point.get_attribute("transform"))]
        for way, column in enumerate((cap, joules)):
            value, beside = (on_axis(axes[way], way, at[way] + pixel) for pixel in (0, 1))
            assert value == pytest.approx(
                float(downloaded[row][column.key]), abs=abs(beside - value)
            ), "to a pixel"
        met.append(row)
    assert sorted(met) == list(range(len(table.rows))), "each row is a point, and once"


def test_switch_moves_the_points_to_the_figures_with_node_share_and_is_in_the_address(
    page: Any, browser: Any
) -> None:
    id = "resnet50-train-results"
    figure = draw_figure(page, f"{id}-efficiency")

    def heights(figure: Any) -> list[float]:
        transforms = [point.get_attribute("transform") for point in figure.locator(_POINTS).all()]
        return [float(re.findall(r"-?[\d.]+", at)[1]) for at in transforms if at]

    rows = read_rows(page, id)
    alone, with_node = (
        np.log([row[key] for row in rows])
        for key in ("items_per_joule", "node_items_per_joule_assumed")
    )
    before = heights(figure)
    scale = np.polyfit(alone, before, 1)
    assert list(np.polyval(scale, alone)) == pytest.approx(before, abs=0.5)
    figure.locator("input[type=checkbox]").focus()
    page.keyboard.press("Space")
    stands = (
        "([figure, of, from]) => "
        "figure.querySelector(of).getAttribute('transform').endsWith(`${from})`)"
    )
    page.wait_for_function(
        f"args => !({stands})(args)", arg=[figure.element_handle(), _POINTS, before[0]]
    )
    after = heights(figure)
    assert after == pytest.approx(list(np.polyval(scale, with_node)), abs=0.5)
    assert f"{id}-efficiency.node=1" in read_address(page)

    second_page = browser.new_page(viewport={"width": 1440, "height": 1000})
    open_address(second_page, read_address(page))
    again = draw_figure(second_page, f"{id}-efficiency")
    assert heights(again) == after and again.locator("input[type=checkbox]").is_checked()
    second_page.evaluate("location.hash = 'price=0.4'")
    second_page.wait_for_function(stands, arg=[again.element_handle(), _POINTS, before[0]])
    assert heights(again) == before and not again.locator("input[type=checkbox]").is_checked()
    second_page.close()


def test_marks_of_a_chart_answer_the_keyboard_and_say_their_row(page: Any) -> None:
    figure = draw_figure(page, "vitl16-train-results-caps")
    marks = figure.locator(".live path[aria-label]")
    assert marks.count() == len(read_rows(page, "vitl16-train-results")) > 2
    assert figure.locator(".live [tabindex='0']").count() == 1, "one stop of the Tab key a chart"
    marks.first.focus()
    tip = page.locator("#vg-tooltip-element.visible")
    for place, key in enumerate(["", "ArrowRight", "ArrowDown", "ArrowLeft"]):
        if key:
            page.keyboard.press(key)
        now = marks.nth((0, 1, 2, 1)[place])
        sync_api.expect(now).to_be_focused()
        sync_api.expect(tip).to_be_visible()
        said = [line.inner_text().split("\t") for line in tip.locator("tr").all()]
        assert now.get_attribute("aria-label") == "; ".join(
            f"{head} {value}".replace("\n", " ") for head, value in said
        )
    page.keyboard.press("Escape")
    sync_api.expect(tip).to_be_hidden()
    assert figure.locator(".live [tabindex='0']").count() == 1


def test_selector_of_the_cap_panel_moves_the_points_and_is_in_the_address(page: Any) -> None:
    id = "resnet50-train-results"
    figure = draw_figure(page, f"{id}-caps")
    figure.get_by_label("show").select_option(label="throughput")
    assert f"{id}-caps.metric={RATE}" in read_address(page)
    sync_api.expect(figure.locator(".role-title text")).to_have_text(re.compile("higher is better"))
    rows = read_rows(page, id)
    heights = [
        float(re.findall(r"-?[\d.]+", point.get_attribute("transform") or "")[1])
        for point in figure.locator(_POINTS).all()
    ]
    scale = np.polyfit([row[RATE] for row in rows], heights, 1)
    assert list(np.polyval(scale, [row[RATE] for row in rows])) == pytest.approx(heights, abs=0.5)
    page.reload()
    wait_for_script(page)
    again = draw_figure(page, f"{id}-caps")
    assert again.get_by_label("show").input_value() == RATE


def test_labels_of_the_hills_overlap_no_label_and_no_point_at_any_width(page: Any) -> None:
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for workload in ("resnet50-train", "llama3-8b-pretrain"):
            figure = draw_figure(page, f"{workload}-results-efficiency")
            page.wait_for_function(_FITS, arg=figure.element_handle())
            boxes = figure.evaluate(_LABELS_AND_POINTS)
            assert len(boxes["labels"]) >= 10
            for n, label in enumerate(boxes["labels"]):
                for neighbour in (*boxes["labels"][:n], *boxes["points"]):
                    assert not overlap(label, neighbour), f"{workload} at {width} px"


_FITS = "f => f.querySelector('.live svg').getBoundingClientRect().width <= f.clientWidth"
"""A chart follows the width of the screen some time after it changes."""
_LABELS_AND_POINTS = """figure => {
  const box = (node) => {
    const { x, y, width, height } = node.getBoundingClientRect();
    return [x, y, x + width, y + height];
  };
  const shown = (node) => node.getAttribute("opacity") !== "0";
  // The boxes of letters are higher than the letters, which have no parts below the line.
  const cut = ([x, y, right, bottom], end) => [x, y + end, right, bottom - end];
  const labels = [...figure.querySelectorAll("LABELS")].filter(shown).map(box);
  return {
    labels: labels.map((label) => cut(label, (label[3] - label[1]) / 5)),
    points: [...figure.querySelectorAll("POINTS")].map(box),
  };
}""".replace("POINTS", _POINTS).replace("LABELS", _LABELS)


def overlap(first: list[float], second: list[float]) -> bool:
    """Whether two boxes have more than half a pixel in common, both ways."""
    return all(
        min(first[way + 2], second[way + 2]) - max(first[way], second[way]) > 0.5 for way in (0, 1)
    )


def test_figure_shows_and_saves_what_it_draws(page: Any) -> None:
    id = "resnet50-train-results"
    figure = draw_figure(page, f"{id}-saving")
    rows = [row for row in read_rows(page, id) if row.get("energy_gain_percent") is not None]
    figure.get_by_role("tab", name="Table").click()
    lines = figure.locator(".rows tbody tr")
    assert lines.count() == len(rows) > 2
    assert lines.first.locator("th").inner_text() == rows[0]["line"]
    page.keyboard.press("ArrowRight")
    contents = {}
    for end in ("SVG", "PNG", "CSV"):
        saved = download(page, figure.get_by_role("button", name=end))
        assert saved.suggested_filename == f"{id}-saving.{end.lower()}"
        contents[end] = Path(saved.path()).read_bytes()
    assert b"currentColor" not in contents["SVG"] and b"energy saved" in contents["SVG"]
    assert contents["PNG"].startswith(b"\x89PNG")
    downloaded = list(csv.DictReader(io.StringIO(contents["CSV"].decode())))
    assert [float(row["energy_gain_percent"]) for row in downloaded] == [
        pytest.approx(row["energy_gain_percent"]) for row in rows
    ]


def test_printing_a_figure_prints_it_alone_on_a_page_of_its_size(page: Any) -> None:
    page.evaluate("() => { window.print = () => {}; }")
    figure = draw_figure(page, "resnet50-train-results-efficiency")
    figure.get_by_role("tab", name="Download").click()
    figure.get_by_role("button", name="PDF").click()
    page.emulate_media(media="print")
    assert page.locator("main, header").filter(visible=True).count() == 0
    assert page.locator("#figure-alone svg").is_visible()
    assert page.locator("#figure-alone h3").inner_text() == figure.locator("h3").text_content()
    assert "Higher is better." in page.locator("#figure-alone figcaption").inner_text()
    rows = read_rows(page, "resnet50-train-results")
    bundles = len({row["bundle"] for row in rows if row["bundle"]})
    caption = figure.locator("figcaption").text_content()
    assert f"Source: {bundles} bundles; Mayr et al. 2026" in caption
    pdf = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
    assert page.locator("#figure-alone").count() == 0, "removed after the dialogue"


def test_tooltip_of_a_touched_point_stays_on_a_narrow_screen(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    figure = draw_figure(page, "resnet50-train-results-efficiency")
    tip = page.locator("#vg-tooltip-element")
    for place in (0, -1):
        box = figure.locator(_POINTS).all()[place].bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] + 6, box["y"] + box["height"] / 2)
        sync_api.expect(tip).to_be_visible()
        shown = tip.bounding_box()
        assert shown is not None
        assert shown["x"] >= 0 and shown["x"] + shown["width"] <= 390


def test_filter_draws_the_visible_rows_alone(page: Any) -> None:
    id = "resnet50-train-results"
    figure = draw_figure(page, f"{id}-efficiency")
    page.evaluate(
        """id => {
          window.wattmark.visible = (table) => window.wattmark.objects(table)
            .filter((row) => table !== id || row.model === "MI300X");
          document.dispatchEvent(new CustomEvent("wattmark:filter"));
        }""",
        id,
    )
    rows = [row for row in read_rows(page, id) if row["model"] == "MI300X"]
    page.wait_for_function(
        "([figure, marks, n]) => figure.querySelectorAll(marks).length === n",
        arg=[figure.element_handle(), _POINTS, len(rows)],
    )
    caps = {f"{row['cap_w']:g}" for row in rows}
    shown = figure.locator(f"{_LABELS}:not([opacity='0'])").all_text_contents()
    assert shown and set(shown) <= caps, "labels stay with their rows"


_HOLD_DRAWING = """
  const released = new Promise((resolve) => { window.releaseDrawing = resolve; });
  let vegaEmbed;
  Object.defineProperty(window, "vegaEmbed", {
    configurable: true,
    get: () => async (...values) => { await released; return vegaEmbed(...values); },
    set: (embed) => { vegaEmbed = embed; },
  });
"""


def test_choice_made_while_a_chart_is_drawn_reaches_its_points(page: Any) -> None:
    id = "resnet50-train-results"
    page.add_init_script(_HOLD_DRAWING)
    page.reload()
    wait_for_script(page)
    figure = page.locator(f"figure#{id}-efficiency")
    figure.scroll_into_view_if_needed()
    begun = "figure => figure.dataset.drawn === 'begun' && window.vegaEmbed"
    page.wait_for_function(begun, arg=figure.element_handle())
    page.get_by_label("board", exact=True).select_option("MI300X")
    page.evaluate("releaseDrawing()")
    rows = [row for row in read_rows(page, id) if row["model"] == "MI300X"]
    points = draw_figure(page, f"{id}-efficiency").locator(_POINTS)
    assert 0 < points.count() == len(rows) < len(read_rows(page, id))


def test_panel_of_caps_has_room_for_the_labels_of_each_figure(page: Any) -> None:
    figure = draw_figure(page, "resnet50-train-results-caps")
    title = figure.locator("h3").inner_text()
    selection = figure.locator("select")
    values = selection.evaluate("select => [...select.options].map(({ value }) => value)")
    assert len(values) >= 6
    for value in [*values[1:], values[0]]:
        selection.select_option(value)
        # The title states a finding on the first figure only. It changes once Vega has drawn.
        page.wait_for_function(
            "([figure, title, isFirst]) => "
            "(figure.querySelector('h3').innerText === title) === isFirst",
            arg=[figure.element_handle(), title, value == values[0]],
        )
        cut = figure.locator(".live svg").evaluate(
            """svg => [...svg.querySelectorAll("text")].filter((text) =>
              text.getBoundingClientRect().left < svg.getBoundingClientRect().left)
              .map((text) => text.textContent)"""
        )
        assert cut == [], value
