"""The answer, the answer cards and the titles of charts follow the control bar."""

import re
from typing import Any

import pytest
from support.report.browser import CHOICES, JOULES, choose, open_address, read_address, read_rows

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once
STANDINGS = ("closed", "open", "published")


def read_answers(page: Any) -> tuple[str, list[str], list[str]]:
    """The answer, the visible cards, and the visible titles of charts."""
    return (
        page.locator(".answer").inner_text(),
        page.locator(".card:visible").all_inner_texts(),
        page.locator("figure.chart:visible h3").all_inner_texts(),
    )


def read_cards(page: Any) -> dict[str, list[tuple[str, str]]]:
    """Standing and energy in each visible card, by workload."""
    cards = page.locator(".card:visible")
    return dict(
        cards.evaluate_all(
            """cards => cards.map((card) => [card.dataset.workload,
              [...card.querySelectorAll(".leader")].map((leader) =>
                [leader.querySelector(".standing").textContent,
                 leader.querySelector(".amount").firstChild.textContent.trim()])])"""
        )
    )


def find_leaders(rows: list[dict[str, Any]]) -> dict[str, list[tuple[str, float]]]:
    """The least energy per item of each workload and standing."""
    leaders: dict[str, list[tuple[str, float]]] = {}
    for workload in {row["workload"] for row in rows}:
        for standing in STANDINGS:
            energies = [
                row[JOULES]
                for row in rows
                if (row["workload"], row["standing"]) == (workload, standing)
            ]
            if energies:
                leaders.setdefault(workload, []).append((standing, min(energies)))
    return leaders


def parse_number(text: str) -> float:
    return float(re.sub("[\u202f\u2248 ]", "", text))


def test_cards_and_answer_name_the_least_energy_of_the_chosen_settings(shared_page: Any) -> None:
    page = shared_page
    before = read_answers(page)
    settings = read_rows(page, "what-if")
    for label, key, value in CHOICES:
        choose(page, label, value)
        expected = find_leaders([row for row in settings if str(row[key]) == value])
        cards = {workload: leaders for workload, leaders in read_cards(page).items() if leaders}
        assert cards.keys() == expected.keys(), label
        for workload, leaders in expected.items():
            assert [standing for standing, _ in cards[workload]] == [s for s, _ in leaders]
            for (_, text), (_, energy) in zip(cards[workload], leaders, strict=True):
                assert parse_number(text) == pytest.approx(energy, rel=1e-3)
        answers = read_answer_texts(page)
        assert answers.keys() == expected.keys(), label
        for workload, text in answers.items():
            first = next(standing for standing, _ in expected[workload])
            begin = {"open": "No closed result matches", "published": "No measured result matches"}
            assert text.startswith(begin.get(first, "")), (label, text)
            assert first != "closed" or "No " not in text
        choose(page, label, "")
    assert read_answers(page) == before


def read_answer_texts(page: Any) -> dict[str, str]:
    """The visible answers by workload."""
    lines = page.locator(".answer li:visible").evaluate_all(
        "lines => lines.map((line) => [line.dataset.workload, line.lastChild.textContent])"
    )
    return dict(lines)


def test_answers_of_a_choice_that_leaves_all_runs_are_those_of_the_program(
    shared_page: Any,
) -> None:
    page = shared_page
    written = read_answer_texts(page)
    choose(page, "provenance", "measured")
    assert read_answer_texts(page) == written
    choose(page, "provenance", "")


def test_answers_of_one_variant_compare_boards(shared_page: Any) -> None:
    page = shared_page
    choose(page, "variant", "tuned")
    answer = read_answer_texts(page)["resnet50-train"]
    assert re.search(r"H200 takes [\d.]+\s% less \(certain\) than H100, both tuned, at ", answer)
    assert answer.count(" with batch size ") >= 2
    choose(page, "variant", "")


def test_mean_of_several_runs_links_to_each_of_their_bundles(shared_page: Any) -> None:
    page = shared_page
    settings = [row for row in read_rows(page, "what-if") if row["standing"] == "closed"]
    counts = []
    for provenance in ("", "measured"):
        choose(page, "provenance", provenance)
        for workload in {row["workload"] for row in settings}:
            rows = [row for row in settings if row["workload"] == workload]
            bundles = min(rows, key=lambda row: row[JOULES])["bundle"].split()
            leader = page.locator(f'.card[data-workload="{workload}"] .leader').first
            links = leader.locator("a").evaluate_all(
                "links => links.map(l => l.getAttribute('href'))"
            )
            assert links == (bundles if len(bundles) == 1 else [f"#{workload}-results", *bundles])
            counts.append(len(bundles))
    choose(page, "provenance", "")
    assert min(counts) == 1 and max(counts) > 1


def test_cost_in_a_card_is_that_of_the_chosen_setting(shared_page: Any) -> None:
    page = shared_page
    choose(page, "board", "MI300X")
    card = page.locator('.card[data-workload="resnet50-train"]')
    (setting,) = (
        row
        for row in read_rows(page, "what-if")
        if row["model"] == "MI300X"
        and row["workload"] == "resnet50-train"
        and f"{row[JOULES]:.4g}" == f"{parse_number(read_cards(page)['resnet50-train'][0][1]):.4g}"
    )
    text = str(card.locator("[data-brief]").text_content())
    assert parse_number(text.split("EUR")[0]) == pytest.approx(setting["eur_per_million"], rel=1e-3)
    choose(page, "board", "")


def test_card_of_chosen_results_states_the_trust_in_the_first(shared_page: Any) -> None:
    page = shared_page
    card = page.locator('.card[data-workload="resnet50-train"]')
    choose(page, "accelerators", "2")
    (trust,) = {
        row["trust"]
        for row in read_rows(page, "what-if")
        if row["workload"] == "resnet50-train" and row["count"] == 2
    }
    assert "accepted" in trust
    assert f"Trust: {trust}." in card.inner_text()
    choose(page, "accelerators", "")


def test_choice_without_a_compared_result_is_stated(shared_page: Any) -> None:
    page = shared_page
    choose(page, "status", "excluded")
    assert page.locator("#no-answer").inner_text() == (
        "No compared result matches the choices. Undo “status: excluded”, or choose Reset."
    )
    cards = page.locator(".card:visible")
    for card in cards.all():
        id = f"{card.get_attribute('data-workload')}-results"
        excluded = len(page.evaluate("id => wattmark.visible(id)", id))
        text = card.inner_text()
        published = re.findall(r"(\d+) published figures? (?:is|are) not compared", text)
        measured = re.findall(r"(\d+) measured results? (?:and|is|are) ", text)
        assert excluded == sum(map(int, published + measured)) > 0
    choose(page, "status", "")
    choose(page, "precision", "fp8")
    # Cards without a result are left out.
    assert set(read_cards(page)) == {"llama3-8b-pretrain", "llama3-8b-serve", "vitl16-train"}
    choose(page, "precision", "")


def test_titles_and_findings_of_all_results_are_not_stated_of_some(shared_page: Any) -> None:
    page = shared_page
    figure = page.locator("#resnet50-train-results-energy")
    title, alt = (
        figure.locator("h3").inner_text(),
        figure.locator(".plot").get_attribute("aria-label"),
    )
    assert "needs the least energy" in title
    choose(page, "variant", "baseline")
    assert figure.locator("h3").inner_text() == "Energy per item with 95 % intervals"
    assert "needs the least energy" not in figure.locator(".plot").get_attribute("aria-label")
    note = page.locator("#resnet50-train > .of-all")
    assert "The following answers are on all of them." in note.inner_text()
    choose(page, "variant", "")
    assert note.count() == 0 and figure.locator("h3").inner_text() == title
    assert figure.locator(".plot").get_attribute("aria-label") == alt


def test_table_that_is_unfolded_later_follows_the_choices(page: Any) -> None:
    choose(page, "board", "MI300X")
    page.evaluate("location.hash = 'resnet50-train-power'")
    sync_api.expect(page.locator("#resnet50-train-power")).to_have_attribute("open", "")
    assert page.locator("#resnet50-train-power figure.chart:visible").count() == 0


def test_shared_address_has_the_same_answers(page: Any, browser: Any) -> None:
    choose(page, "board", "H100")
    choose(page, "cap", "400")
    second_page = browser.new_page(viewport={"width": 1440, "height": 1000})
    open_address(second_page, read_address(page))
    assert read_answers(second_page) == read_answers(page)
    second_page.close()


def test_chart_without_a_chosen_row_is_not_printed(page: Any) -> None:
    choose(page, "precision", "fp8")
    page.emulate_media(media="print")
    assert page.locator("#resnet50-train-hill-small").is_hidden()
    assert page.locator(".hills figure.chart:visible").count() > 0
