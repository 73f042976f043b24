"""The control bar filters tables, charts and sections, and its state is in the address. Searches
and downloads follow what is shown."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.report.browser import (
    CHOICES,
    choose,
    download,
    draw_figure,
    open_address,
    read_address,
    read_column,
    read_count,
    read_rows,
)

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once
RESULTS = "resnet50-train-results"


def list_results(page: Any) -> list[dict[str, Any]]:
    ids = page.evaluate("Object.keys(wattmark.tables).filter((id) => id.endsWith('-results'))")
    return [row for id in ids for row in read_rows(page, id)]


def search(page: Any, id: str, query: str) -> list[dict[str, Any]]:
    """The rows that a search leaves."""
    page.evaluate("id => { location.hash = id; }", id)
    page.locator(f"#{id}").get_by_role("searchbox").fill(query)
    rows: list[dict[str, Any]] = page.evaluate("id => wattmark.views[id].listRows()", id)
    return rows


def download_table(page: Any, id: str, name: str) -> str:
    button = page.locator(f"#{id} .tools").get_by_role("button", name=re.compile(name))
    return Path(download(page, button).path()).read_text(encoding="utf-8")


def test_each_control_filters_every_table_of_results(shared_page: Any) -> None:
    page = shared_page
    results = list_results(page)
    for label, key, value in CHOICES:
        matching = [row for row in results if str(row[key]) == value]
        choose(page, label, value)
        assert 0 < len(matching) < len(results)
        assert read_count(page) == f"{len(matching)} of {len(results)} results"
        chosen = page.get_by_label(label, exact=True).locator("option:checked").text_content()
        assert chosen.endswith(f"({len(matching)})")
        shown = page.evaluate(
            """key => Object.values(wattmark.views).flatMap((view) => view.listRows())
              .filter((row) => key in row).map((row) => String(row[key]))""",
            key,
        )
        assert set(shown) == {value}
        choose(page, label, "")


def test_table_without_the_key_of_a_control_keeps_its_rows(page: Any) -> None:
    choose(page, "board", "MI300X")
    assert len(page.evaluate("wattmark.views.boards.listRows()")) == len(read_rows(page, "boards"))


def test_table_without_a_matching_row_says_so(page: Any) -> None:
    choose(page, "board", "MI300X")
    assert page.locator("#racks .tools output").inner_text().endswith("; none matches the choices")


def test_section_and_chart_without_a_matching_row_are_hidden_and_say_so(page: Any) -> None:
    choose(page, "precision", "fp8")
    resnet = page.locator("#resnet50-train")
    assert (
        resnet.locator(".empty").text_content()
        == "No result of this section matches the choices. Undo “precision: fp8”, or choose Reset."
    )
    assert page.locator("#llama3-8b-pretrain .empty").count() == 0
    assert resnet.locator("figure.chart:visible").count() == 0
    page.get_by_role("button", name="Reset").click()
    assert page.locator(".empty").count() == 0
    assert (
        "precision" not in read_address(page)
        and read_count(page) == f"{len(list_results(page))} results"
    )


def test_control_bar_filters_the_points_of_drawn_charts(page: Any) -> None:
    figure = draw_figure(page, f"{RESULTS}-caps")
    points = figure.locator(".mark-symbol path[tabindex]")
    before = points.count()
    choose(page, "board", "H100")
    left = [row for row in read_rows(page, RESULTS) if row["model"] == "H100"]
    assert page.evaluate("id => wattmark.visible(id)", RESULTS) == left
    sync_api.expect(points).to_have_count(len(left))
    labels = points.evaluate_all("marks => marks.map((mark) => mark.ariaLabel)")
    assert 0 < len(left) < before and all("H100" in label for label in labels)
    page.get_by_role("button", name="Reset").click()
    figure.scroll_into_view_if_needed()
    sync_api.expect(points).to_have_count(before)


def test_shared_address_opens_with_the_same_state_at_the_same_place(
    page: Any, browser: Any
) -> None:
    choose(page, "board", "H200")
    choose(page, "standing", "closed")
    page.evaluate("document.getElementById('vitl16-train').scrollIntoView()")
    page.wait_for_function("() => location.hash.includes('at=vitl16-train')")
    second_page = browser.new_page(viewport={"width": 1440, "height": 1000})
    open_address(second_page, read_address(page))
    assert second_page.get_by_label("board", exact=True).input_value() == "H200"
    assert read_count(second_page) == read_count(page)
    second_page.wait_for_function(
        "() => Math.abs(document.getElementById('vitl16-train').getBoundingClientRect().top) < 200"
    )
    second_page.close()
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function("() => location.hash.includes('at=answer')")


def test_unknown_value_in_the_address_filters_nothing(page: Any, browser: Any) -> None:
    second_page = browser.new_page()
    open_address(second_page, f"{read_address(page)}#board=Z80&cap=many")
    assert read_count(second_page) == f"{len(list_results(page))} results"
    second_page.close()


def test_controls_combine_and_count_what_each_value_would_leave(page: Any) -> None:
    choose(page, "board", "H200")
    left = [row for row in list_results(page) if row["model"] == "H200"]
    for option in page.get_by_label("standing", exact=True).locator("option").all():
        if value := option.get_attribute("value"):
            count = sum(row["standing"] == value for row in left)
            assert option.text_content() == f"{value} ({count})"


def test_what_if_ranks_the_results_that_are_shown(page: Any) -> None:
    choose(page, "cap", "400")
    rows = page.evaluate("wattmark.views['what-if'].listRows()")
    assert rows and {row["cap_w"] for row in rows} == {400}
    groups = {(row["workload"], row["like"]) for row in rows}
    assert {(row["workload"], row["like"]) for row in rows if row["rank"] == 1} == groups
    assert {row["rank"] for row in read_rows(page, "what-if") if row["cap_w"] != 400} == {None}


def test_search_finds_whole_numbers_and_not_parts_of_names(shared_page: Any) -> None:
    rows = search(shared_page, RESULTS, "300")
    assert {row["cap_w"] for row in rows} == {300}
    assert "MI300X" in {row["model"] for row in rows}, "at 300 W"
    rows = search(shared_page, RESULTS, "MI300X")
    assert {row["model"] for row in rows} == {"MI300X"} and len(rows) == 7
    assert search(shared_page, RESULTS, "MI300") == search(shared_page, RESULTS, "30") == []
    count = shared_page.locator(f"#{RESULTS} .tools output")
    total = len(read_rows(shared_page, RESULTS))
    assert count.inner_text() == f"0 of {total} rows; a search finds whole words and whole numbers"
    assert {row["cap_w"] for row in search(shared_page, RESULTS, "300 W MI300X")} == {300}
    search(shared_page, RESULTS, "")


def test_search_finds_a_number_as_it_is_shown(shared_page: Any) -> None:
    for query in ("1312.8", "1 312.8", "1,312.8", "1\u202f312.8", "1312.80"):
        rows = search(shared_page, RESULTS, query)
        assert ("H100", 300) in [(row["model"], row["cap_w"]) for row in rows]
        assert {row["items_per_s_per_accelerator"] for row in rows} == {1312.8}
    search(shared_page, RESULTS, "")


def test_search_finds_a_number_as_it_is_stored(shared_page: Any) -> None:
    row = next(row for row in read_rows(shared_page, RESULTS) if row["provenance"] == "measured")
    stored = row["items_per_s_per_accelerator"]
    assert len(str(stored)) > 7
    assert row in search(shared_page, RESULTS, str(stored))
    assert search(shared_page, RESULTS, str(stored)[:7]) == []
    search(shared_page, RESULTS, "")


def test_search_finds_negative_numbers_and_units(shared_page: Any) -> None:
    id = "vitl16-train-compare"
    rows = search(shared_page, id, "\u221228.32")
    assert rows and rows == search(shared_page, id, "-28.32") == search(
        shared_page, id, "28.32 images"
    )
    search(shared_page, id, "")


def test_downloads_hold_what_is_shown_in_its_order_and_all_rows_on_demand(page: Any) -> None:
    choose(page, "board", "H100")
    choose(page, "provenance", "published")
    page.evaluate("id => { location.hash = id; }", RESULTS)
    page.locator(f'#{RESULTS} table th[data-key="cap_w"]:visible button').first.click()
    shown = list(
        csv.DictReader(io.StringIO(download_table(page, RESULTS, r"shown rows of .* as CSV")))
    )
    assert [row["cap_w"] for row in shown] == ["700", "600", "500", "400", "300", "200"]
    columns = page.evaluate("id => wattmark.tables[id].keys", RESULTS)
    assert list(shown[0]) == columns
    as_json = json.loads(download_table(page, RESULTS, "shown rows of .* as JSON"))
    assert [row[columns.index("cap_w")] for row in as_json["rows"]] == [
        700,
        600,
        500,
        400,
        300,
        200,
    ]
    everything = json.loads(download_table(page, RESULTS, "all rows of .* as JSON"))
    all_rows = list(
        csv.DictReader(io.StringIO(download_table(page, RESULTS, "all rows of .* as CSV")))
    )
    assert len(everything["rows"]) == len(all_rows) == len(read_rows(page, RESULTS)) > 6


def test_page_wide_download_holds_the_shown_rows_of_all_tables(page: Any) -> None:
    choose(page, "provenance", "measured")
    saved = download(page, page.get_by_role("button", name="Shown rows of all tables as JSON"))
    tables = json.loads(Path(saved.path()).read_text(encoding="utf-8"))["tables"]
    assert {table["id"] for table in tables} == set(page.evaluate("Object.keys(wattmark.tables)"))
    for table in tables:
        if "provenance" in table["keys"]:
            place = table["keys"].index("provenance")
            assert {row[place] for row in table["rows"]} <= {"measured"}


def test_control_bar_answers_the_keyboard_and_says_the_count(page: Any) -> None:
    bar = page.locator("#control-bar")
    board = page.get_by_label("board", exact=True)
    board.focus()
    page.keyboard.press("m")
    assert board.input_value() == "MI300X" and "board=MI300X" in read_address(page)
    assert bar.locator("output").get_attribute("aria-live") == "polite"
    labels = bar.locator("select:visible, input:visible").evaluate_all(
        "fields => fields.map((field) => field.ariaLabel || field.closest('label')?.textContent)"
    )
    assert all(labels) and len(set(labels)) == len(labels)
    bar.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Enter")
    assert board.input_value() == "" and "board" not in read_address(page)


def test_doubtful_figures_keep_their_parentheses_when_they_are_computed_again(page: Any) -> None:
    id = "sd2-train-results"
    page.evaluate("id => { location.hash = id; }", id)
    before = read_column(page, id, "node_items_per_joule_assumed")
    page.locator("[name=node-w]").fill("200")
    after = read_column(page, id, "node_items_per_joule_assumed")
    rows = read_rows(page, id)
    doubtful = [n for n, row in enumerate(rows) if row["doubt"] or row["implausible"]]
    assert doubtful and after != before
    for n in doubtful:
        assert re.fullmatch(r"\(.*\)", before[n]) and re.fullmatch(r"\(.*\)", after[n])
