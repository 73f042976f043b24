"""What a reader of the page finds in a browser with two interactions at most."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.report.browser import read_address, read_count, read_rows

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")


pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once


def after(page: Any, *interactions: Callable[[], Any]) -> None:
    """Does what a reader does to have an answer; no answer may need more than two interactions."""
    assert len(interactions) <= 2
    for interaction in interactions:
        interaction()


def link(page: Any, name: str) -> Callable[[], Any]:
    return lambda: page.locator("nav").get_by_role("link", name=name, exact=True).click()


def line(page: Any, id: str, *words: str) -> str:
    """What is read in the one visible row of a table that has these words."""
    rows = page.locator(f"#{id} tbody tr:visible")
    for word in words:
        rows = rows.filter(has_text=word)
    sync_api.expect(rows).to_have_count(1)
    return str(rows.inner_text())


GUIDE = (Path(__file__).parents[3] / "docs/reading-a-report.md").read_text(encoding="utf-8")


def test_reader_finds_the_most_images_per_joule_and_its_cap_at_once(page: Any) -> None:
    after(page)
    leaders = page.locator('.card[data-workload="resnet50-train"] .leader')
    closed, published = (leaders.filter(has_text=text) for text in ("closed", "published"))
    measured, printed = re.findall(
        r"closed: ([\d.]+) images/J at 700 W.*published: ≈ ([\d.]+) at 300 W on H100", GUIDE
    )[0]
    assert f"{measured}\u202fimages/J" in closed.inner_text()
    assert "at 700\u202fW" in closed.inner_text()
    assert f"≈\u202f{printed}" in published.inner_text()
    assert "H100" in published.inner_text() and "at 300\u202fW" in published.inner_text()
    sync_api.expect(closed).to_be_in_viewport()


def test_reader_finds_what_a_cap_of_500_w_saves_and_why_publications_differ(page: Any) -> None:
    after(page, link(page, "ResNet-50"))
    saving, difference = (
        page.locator("#resnet50-train .questions div").filter(has_text=question)
        for question in ("What does a lower cap", "Why do published and measured")
    )
    sync_api.expect(saving).to_be_in_viewport(ratio=1)
    less_energy, less_rate = re.findall(
        r"H200 at 500 W: ([\d.]+) % less energy per image and ([\d.]+) % less throughput", GUIDE
    )[0]
    assert (
        f"H200 needs {less_energy}\u202f% less energy per image at 500\u202fW than at 700\u202fW, "
        f"with {less_rate}\u202f% less throughput"
    ) in saving.inner_text()
    assert "unknown uncertainty" in saving.inner_text()
    sync_api.expect(difference).to_be_in_viewport(ratio=1)
    (times,) = re.findall(r"([\d.]+) times the published throughput", GUIDE)
    assert f"{times} times as much" in difference.inner_text()


def test_reader_finds_how_much_slower_400_w_is_than_700_w(page: Any) -> None:
    baseline = page.get_by_label("baseline", exact=True)
    after(
        page,
        link(page, "ViT-L/16"),
        lambda: baseline.select_option("Mayr et al. 2026 · H200 · 700 W"),
    )
    (slower,) = re.findall(r"throughput is ([\d.]+) % lower", GUIDE)
    assert f"\u2212{slower}\tno interval" in line(page, "vitl16-train-compare", "H200 · 400 W")


def test_reader_finds_which_rows_are_not_to_be_trusted_and_why(page: Any) -> None:
    id = "llama3-8b-pretrain-results"
    status = page.get_by_label("status", exact=True)
    after(
        page,
        link(page, "LLaMA 3 8B pre-training"),
        lambda: status.select_option("excluded"),
    )
    left = page.locator(f'table[data-compact="{id}"] tbody tr')
    excluded = [
        row for row in read_rows(page, id) if row["doubt"] or row["implausible"] or row["withheld"]
    ]
    assert left.count() == len(excluded) == 19
    # Ten of the rows have a second reason besides the caution.
    assert left.locator(".reason:visible").count() == 19 + 10
    card = page.locator('.card[data-workload="llama3-8b-pretrain"]')
    assert "19 published figures are not compared" in card.inner_text()
    assert "status=excluded" in read_address(page)
    excluded = [
        row
        for table in page.locator("table[data-compact$='-results']").all()
        for row in read_rows(page, table.get_attribute("data-compact"))
        if row["doubt"] or row["implausible"] or row["withheld"]
    ]
    assert re.match(rf"{len(excluded)} of \d+ results\b", read_count(page))


def test_reader_finds_what_changes_with_node_overhead(page: Any) -> None:
    id = "resnet50-train-results"
    switch = page.locator(f"#{id}-efficiency").get_by_label("add the node share")
    columns = page.locator(f"#{id}").get_by_text("More columns")
    page.locator(f"#{id}-efficiency").scroll_into_view_if_needed()
    after(page, switch.check, columns.click)
    alone, with_node = re.findall(r"([\d.]+) to ([\d.]+) images/J on H100 at 300 W", GUIDE)[0]
    assert f"≈\u202f{alone}\t≈\u202f{with_node}" in line(page, id, "H100", "1\u202f312.8\t", alone)


def test_reader_finds_the_evidence_of_a_number(page: Any, whole_report: Path) -> None:
    evidence = page.locator('table[data-compact="resnet50-train-results"] a[href^="#e"]').first
    after(page, link(page, "ResNet-50"), evidence.click)
    row = page.locator(f"#{read_address(page).rpartition('#')[2]}")
    sync_api.expect(row).to_be_in_viewport()
    assert "reference@wattmark" in row.inner_text() and "counter" in row.inner_text()
    bundle = whole_report / row.get_by_role("link", name="bundle").get_attribute("href")
    assert (bundle / "samples.csv.gz").is_file()


def test_reader_finds_the_batch_size_of_least_energy_that_was_measured(page: Any) -> None:
    after(page, link(page, "ResNet-50"))
    load = page.locator("#resnet50-train .questions div").filter(has_text="Which load is most")
    sync_api.expect(load).to_be_in_viewport(ratio=1)
    assert "batch size 1024, 256 and 512 need the least energy per image and cannot be told" in (
        load.inner_text()
    )
    assert "image models" not in load.inner_text()


def test_reader_finds_the_batch_size_of_least_energy_of_image_models(page: Any) -> None:
    after(page, page.get_by_role("link", name="Image models", exact=True).click)
    page.wait_for_url("**/report-image-inference.html")
    assert page.locator("#batches").count() == 1


def test_reader_finds_which_board_needs_less_energy_at_once(page: Any) -> None:
    after(page)
    answer = page.locator('.answer li[data-workload="resnet50-train"]')
    sync_api.expect(answer).to_be_in_viewport(ratio=1)
    assert re.search(
        r"H200 takes \d+\u202f% less \(certain\) than H100, both tuned", answer.inner_text()
    )


def test_reader_finds_which_results_are_excluded_and_why(page: Any) -> None:
    after(page, page.locator(".facts").get_by_role("link", name="not compared").click)
    rows = page.locator('table[data-table="excluded"] tbody tr')
    count = int(re.findall(r"(\d+) not compared", page.locator(".facts").inner_text())[0])
    sync_api.expect(rows).to_have_count(count)
    sync_api.expect(rows.first).to_be_in_viewport()
    reasons = {row["reason"] for row in read_rows(page, "excluded")}
    assert None not in reasons and any("older recipe" in str(reason) for reason in reasons)


def test_reader_finds_the_models_that_reach_85_percent_accuracy_with_the_least_energy(
    page: Any,
) -> None:
    after(page, page.get_by_role("link", name="Image models", exact=True).click)
    page.wait_for_url("**/report-image-inference.html")
    answer = page.locator("[data-answers]")
    sync_api.expect(answer).to_be_in_viewport(ratio=1)
    rows = [row for row in GUIDE.splitlines() if re.search("accuracy.*with the least energy", row)]
    assert len(rows) == 2
    for row in rows:
        models = re.findall(r"`(\w+)` with ([\d.]+) mJ", row)
        assert len(models) == 2
        (least, least_mj), (second, second_mj) = models
        assert f"takes at least {least_mj}\u202fmJ per image" in answer.inner_text()
        assert f": {least}@" in answer.inner_text()
        assert re.search(rf"The next are {second}@\d+, {second_mj}\u202fmJ", answer.inner_text())


def test_reader_finds_what_publications_say_that_the_node_adds(page: Any) -> None:
    after(page, link(page, "ResNet-50"))
    node = page.locator("#resnet50-train .questions div").filter(has_text="How much does the node")
    sync_api.expect(node).to_be_in_viewport(ratio=1)
    (bound,) = re.findall(r"at least (\d+) W beside each H100 \(Latif et al. 2024\)", GUIDE)
    assert "No node meter measured this setting." in node.inner_text()
    assert f"at least {bound}\u202fW in Latif et al. 2024" in node.inner_text()


def test_reader_finds_the_cost_at_own_prices_on_the_answer_cards(page: Any) -> None:
    prices = page.locator("[data-panel=prices]")
    cost = page.locator('.card[data-workload="llama3-8b-serve"] [data-joules-per-item]')
    eur, grams = re.findall(r"a million output tokens: ([\d.]+) EUR and ([\d.]+) g CO2e", GUIDE)[0]
    default_text = cost.inner_text()
    assert default_text == f"{eur}\u202fEUR and {grams}\u202fg\u202fCO2e."
    after(
        page,
        lambda: prices.get_by_label("EUR/kWh").fill("0.5"),
        lambda: prices.get_by_label("CO2e/kWh").fill("100"),
    )
    sync_api.expect(cost).to_be_in_viewport(ratio=1)
    kwh = float(cost.get_attribute("data-joules-per-item")) * 1e6 * 1.3 / 3.6e6
    assert cost.inner_text() == (f"{kwh * 0.5:.5f}\u202fEUR and {kwh * 100:.3f}\u202fg\u202fCO2e.")
    assert page.get_by_label("energy price").input_value() == "0.5"
    assert "price=0.5" in read_address(page) and "carbon=100" in read_address(page)
    page.get_by_label("energy price").fill("0.25")
    page.get_by_label("carbon intensity").fill("400")
    assert cost.inner_text() == default_text, "the sentence of the page and that of Python agree"
    assert prices.get_by_label("EUR/kWh").input_value() == "0.25"
    limit = prices.get_by_text("counts as the nearest limit")
    assert limit.is_hidden()
    prices.get_by_label("EUR/kWh").fill("11")
    assert limit.is_visible()


def test_reader_finds_what_a_token_costs_at_own_prices(page: Any) -> None:
    answer = page.locator("#llama3-8b-serve [data-joules-per-item]")
    default_text = answer.inner_text()
    eur, grams = re.findall(r"a million output tokens: ([\d.]+) EUR and ([\d.]+) g CO2e", GUIDE)[0]
    assert default_text.startswith(f"{eur}\u202fEUR and {grams}\u202fg\u202fCO2e")
    after(
        page,
        lambda: page.get_by_label("energy price").fill("0.5"),
        lambda: page.get_by_label("carbon intensity").fill("100"),
    )
    joules = float(answer.get_attribute("data-joules-per-item"))
    kwh = joules * 1e6 * 1.3 / 3.6e6
    assert answer.inner_text() == (
        f"{kwh * 0.5:.5f} EUR and {kwh * 100:.3f} g CO2e for the energy of the accelerators, at "
        "the assumed 0.5 EUR/kWh, 100 g CO2e/kWh and a PUE of 1.3."
    ).replace(" EUR", "\u202fEUR").replace(" g ", "\u202fg\u202f")
    page.get_by_label("energy price").fill("0.25")
    page.get_by_label("carbon intensity").fill("400")
    assert answer.inner_text() == default_text, "the sentence of the page and that of Python agree"
