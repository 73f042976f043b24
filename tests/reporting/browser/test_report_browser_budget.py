"""The page of all submissions stays small, short on a phone and short on paper."""

import re
from pathlib import Path
from typing import Any

import pytest
from support.report.browser import draw_figure

pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once


def test_page_is_small_and_has_few_elements_before_tables_are_unfolded(
    page: Any, whole_report: Path
) -> None:
    assert (whole_report / "report.html").stat().st_size <= 1_500_000
    assert page.evaluate("document.querySelectorAll('*').length") <= 8000


def test_first_screen_has_title_answer_controls_charts_and_cards(page: Any) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    for selector in ("h1", ".answer", "#control-bar", ".hills figure", ".card .amount"):
        box = page.locator(selector).first.bounding_box()
        assert box["y"] + box["height"] <= 900, selector


def test_first_screen_of_a_phone_has_the_first_answer_whole(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    box = page.locator(".answer li").first.bounding_box()
    assert box["y"] + box["height"] <= 844


def test_page_is_short_on_a_phone_once_its_charts_are_drawn(page: Any) -> None:
    """Drawn charts are higher than their pictures, because their legends take more lines."""
    page.set_viewport_size({"width": 390, "height": 844})
    for figure in page.locator("figure.chart").filter(visible=True).all():
        draw_figure(page, figure.get_attribute("id"))
    assert page.evaluate("document.documentElement.scrollHeight") <= 32_000


def test_summary_on_paper_has_at_most_9_pages(page: Any) -> None:
    pdf = page.pdf(prefer_css_page_size=True)
    assert 2 <= len(re.findall(rb"/Type\s*/Page[^s]", pdf)) <= 9


def test_number_and_unit_of_an_answer_card_are_on_one_line(page: Any) -> None:
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        lines = page.locator(".card .amount").evaluate_all(
            "amounts => amounts.map((amount) => new Set([...amount.getClientRects()]"
            ".map((rectangle) => Math.round(rectangle.bottom / 8))).size)"
        )
        assert lines and set(lines) == {1}
