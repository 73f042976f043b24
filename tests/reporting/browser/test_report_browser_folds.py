"""Folded tables are text of the page until they are opened, linked to or printed."""

import re
from typing import Any

import pytest
from support.report.browser import open_address, open_table, read_address, read_column

pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once
FOLDED = "resnet50-train-power"


def test_folded_table_is_made_of_elements_when_it_is_opened(page: Any) -> None:
    table = page.locator(f'table[data-table="{FOLDED}"]')
    assert table.count() == 0
    page.locator(f"#{FOLDED} > summary").click()
    table.wait_for()
    assert page.locator(f"#{FOLDED} noscript").count() == 0
    assert page.locator(f"#{FOLDED} .tools").is_visible()


def test_folded_table_is_opened_by_a_link_and_takes_sort_and_filter_from_the_address(
    page: Any, browser: Any
) -> None:
    second_page = browser.new_page()
    open_address(
        second_page, f"{read_address(page)}#{FOLDED}.sort=-cap_w&{FOLDED}.find=h200&at={FOLDED}"
    )
    table = second_page.locator(f'table[data-table="{FOLDED}"]')
    table.wait_for()
    assert table.locator('th[aria-sort="descending"]').get_attribute("data-key") == "cap_w"
    assert second_page.locator(f"#{FOLDED}").get_by_role("searchbox").input_value() == "h200"
    second_page.close()


def test_anchor_in_a_folded_table_is_found(page: Any) -> None:
    assert page.locator("#e3").count() == 0
    page.evaluate("location.hash = 'e3'")
    page.locator("#e3").wait_for()


def test_value_changed_while_its_table_is_folded_is_shown_when_it_is_opened(page: Any) -> None:
    page.evaluate(
        """id => {
      wattmark.objects(id)[0].mean_w = 1234;
      wattmark.views[id].updateCells(0, ["mean_w"]);
      location.hash = id;
    }""",
        FOLDED,
    )
    page.locator(f'table[data-table="{FOLDED}"]').wait_for()
    assert read_column(page, FOLDED, "mean_w")[0].startswith("1\u202f234")


def test_title_of_a_fold_names_the_charts_in_it(page: Any) -> None:
    folds = page.evaluate("""() => [...document.querySelectorAll("details.folded")].map((fold) => {
      const title = fold.querySelector("summary").textContent;
      wattmark.unfold(fold);
      return [title, fold.querySelectorAll("figure.chart").length];
    })""")
    assert sum(charts > 0 for _, charts in folds) >= 5, "the power of a run of each workload"
    for title, charts in folds:
        assert not title.startswith("ResNet-50 training: ")
        phrase = {0: "", 1: "chart, "}.get(charts, "charts, ")
        assert re.search(rf": {phrase}\d+ rows?$", title) or title.startswith("Facts")


def test_rows_of_control_runs_stand_below_the_heads_of_their_columns(page: Any) -> None:
    open_table(page, "evidence")
    table = page.locator('table[data-table="evidence"]')
    lefts = table.evaluate(
        """table => [table.tHead.rows[0], ...table.querySelectorAll("tr.control")].map((row) =>
          [...row.cells].map((cell) => Math.round(cell.getBoundingClientRect().left)))"""
    )
    assert len(lefts) >= 2 and all(row == lefts[0] for row in lefts)
