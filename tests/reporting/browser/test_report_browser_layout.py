"""The layout of the page: the control bar, the small charts at any width, and paper."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import open_page
from support.report.browser import draw_figure, read_rows

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once

PAPER_PX = {"width": 718, "height": 1032}
"""The text of an A4 page with the margins of print.css, at 96 pixels per inch."""
SMALL = "figure[id$='-hill-small']"


@pytest.fixture(scope="module")
def small_charts(browser: Any, whole_report: Path) -> Iterator[Any]:
    """A page whose small charts are drawn."""
    with open_page(browser, whole_report / "report.html") as page:
        for figure in page.locator(SMALL).all():
            draw_figure(page, figure.get_attribute("id"))
        yield page


def set_size(page: Any, width: int, height: int = 900) -> None:
    page.set_viewport_size({"width": width, "height": height})


@pytest.mark.parametrize("width", [1280, 1440])
def test_bars_have_one_row_each_and_the_controls_show_their_choices_whole(
    small_charts: Any, width: int
) -> None:
    set_size(small_charts, width)
    bar = small_charts.locator("#control-bar")
    assert bar.bounding_box()["height"] < 45
    assert small_charts.locator(".bars nav").bounding_box()["height"] < 35
    cut = bar.locator("select:visible").evaluate_all("""(selects) => selects.filter((select) => {
      const { font, paddingLeft, paddingRight } = getComputedStyle(select);
      const pen = document.createElement("canvas").getContext("2d");
      pen.font = font;
      const text = pen.measureText(select.selectedOptions[0].textContent).width;
      return text > select.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - 10;
    }).map((select) => select.name)""")
    assert cut == []
    assert bar.evaluate("bar => bar.scrollWidth <= bar.clientWidth")


def test_chart_is_as_wide_as_its_place_after_each_change_of_the_width(small_charts: Any) -> None:
    for width in (1440, 390, 1440, 800):
        set_size(small_charts, width)
        small_charts.wait_for_function(
            """(figures) => [...document.querySelectorAll(figures)].every((figure) => {
              const live = figure.querySelector(".live");
              return Number(live.querySelector("svg").getAttribute("width")) === live.clientWidth;
            })""",
            arg=SMALL,
            timeout=5000,
        )


def test_charts_of_two_columns_leave_no_empty_space(small_charts: Any) -> None:
    set_size(small_charts, 1440)
    gaps = small_charts.evaluate("""() => [...document.querySelectorAll("section > .charts")]
      .filter((charts) => charts.children.length > 2 && !charts.closest(".hills"))
      .flatMap((charts) => {
        const bottoms = {}; // of the columns, by their left ends
        return [...charts.children].map((figure) => {
          const { left, top, bottom } = figure.getBoundingClientRect();
          const above = top - (bottoms[left] ?? charts.getBoundingClientRect().top);
          bottoms[left] = bottom;
          const inside = bottom - figure.querySelector("figcaption").getBoundingClientRect().bottom;
          return { id: figure.id, gap: Math.max(above, inside), left };
        });
      })""")
    assert len({gap["left"] for gap in gaps}) == 2
    assert [gap for gap in gaps if gap["gap"] > 40] == []


def test_small_charts_end_with_their_boxes_on_a_phone(page: Any) -> None:
    set_size(page, 390, 844)
    page.reload()
    draw_figure(page, page.locator(SMALL).first.get_attribute("id"))
    gaps = page.locator(SMALL).evaluate_all(
        """(figures) => figures.map((figure) => figure.getBoundingClientRect().bottom
          - figure.querySelector(".live svg, .plot > svg").getBoundingClientRect().bottom)"""
    )
    assert max(gaps) < 20, "the padding of a box is 8 px"


def test_small_charts_are_whole_and_with_the_line_of_trust_on_the_first_page_of_paper(
    small_charts: Any,
) -> None:
    set_size(small_charts, 1440)
    small_charts.emulate_media(media="print")
    set_size(small_charts, **PAPER_PX)
    cut = small_charts.locator(SMALL).evaluate_all(
        """(figures) => figures.flatMap((figure) => {
          const { left, right } = figure.querySelector(".plot").getBoundingClientRect();
          return [...figure.querySelectorAll(".live svg text")].filter((text) => {
            const box = text.getBoundingClientRect();
            return box.left < left - 1 || box.right > right + 1;
          }).map((text) => `${figure.id}: ${text.textContent}`);
        })"""
    )
    trust = small_charts.locator(".trust").bounding_box()
    # Chromium makes the letters of all pages smaller if one table is too wide.
    width_px = small_charts.evaluate("document.documentElement.scrollWidth")
    small_charts.emulate_media(media="screen")
    assert cut == []
    assert width_px <= PAPER_PX["width"]
    assert trust["y"] + trust["height"] <= PAPER_PX["height"]


def test_charts_that_were_not_drawn_are_whole_on_paper(page: Any) -> None:
    set_size(page, **PAPER_PX)
    page.emulate_media(media="print")
    pictures = page.locator(".plot > svg").evaluate_all(
        """(pictures) => pictures.filter((picture) => picture.clientHeight).map((picture) => {
          const { right } = picture.parentElement.getBoundingClientRect();
          return [picture.closest("figure").id, picture.getBoundingClientRect().right - right];
        })"""
    )
    assert len(pictures) >= 10, "two charts of each workload"
    assert [id for id, excess_px in pictures if excess_px > 1] == []


def test_paper_says_how_many_rows_of_a_table_it_has(page: Any) -> None:
    page.emulate_media(media="print")
    tools = page.locator("#resnet50-train-results > .tools")
    rows = len(read_rows(page, "resnet50-train-results"))
    assert tools.inner_text() == f"{rows} rows, first 10 shown"
    assert page.locator(".tools button:visible, .tools input:visible").count() == 0


@pytest.mark.parametrize("has_scripts", [True, False])
def test_summary_on_paper_has_at_most_nine_pages_and_says_what_it_leaves_out(
    browser: Any, whole_report: Path, has_scripts: bool
) -> None:
    context = browser.new_context(java_script_enabled=has_scripts)
    page = context.new_page()
    page.goto((whole_report / "report.html").as_uri())
    rows = page.locator('table[data-compact="resnet50-train-results"] tbody tr')
    note = page.locator("#resnet50-train-results > .tools, #resnet50-train-results .paper")
    if has_scripts:
        page.wait_for_function("() => window.wattmark")
        # Drawn charts are higher than their pictures.
        for figure in page.locator("figure.chart").filter(visible=True).all():
            draw_figure(page, figure.get_attribute("id"))
    else:
        assert rows.filter(visible=True).count() > 10 and not note.is_visible()
    page.emulate_media(media="print")
    assert rows.filter(visible=True).count() == 10
    assert re.fullmatch(r"\d+ rows, first 10 (shown|printed)", note.inner_text())
    pages = re.findall(rb"/Type /Page\b(?!s)", page.pdf(prefer_css_page_size=True))
    context.close()
    assert 5 <= len(pages) <= 9


def test_sentences_that_workloads_share_are_printed_once(small_charts: Any) -> None:
    shared = small_charts.locator(".shared")
    assert shared.filter(visible=True).count() == shared.count() >= 6
    small_charts.emulate_media(media="print")
    texts = shared.filter(visible=True).all_inner_texts()
    small_charts.emulate_media(media="screen")
    assert len(texts) == len(set(texts)) == 1


def test_address_that_is_the_text_of_its_link_is_printed_once(small_charts: Any) -> None:
    small_charts.emulate_media(media="print")
    links = small_charts.locator("#methods a[href^=http]").evaluate_all(
        """(links) => links.map((link) => [link.textContent.trim() === link.getAttribute("href"),
          getComputedStyle(link, "::after").content !== "none"])"""
    )
    small_charts.emulate_media(media="screen")
    assert {tuple(link) for link in links} == {(True, False), (False, True)}
