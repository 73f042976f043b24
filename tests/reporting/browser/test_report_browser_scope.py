"""The scope of whole nodes: all parts of the page show what node meters measured, or say that
there is no such figure."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import Submissions, make_key, open_page
from support.report.browser import (
    JOULES,
    choose,
    download,
    draw_figure,
    read_count,
    read_rows,
)
from support.report.report_runs import add_sweep, make_run_at_cap

from reporting.cli import main
from rules.metrics import comparison
from rules.testing.node_power import add_node_power

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
pytestmark = pytest.mark.xdist_group("node-report")  # one test process builds it, once
WORKLOAD = "resnet50-train"
RESULTS, COMPARE, NODES = (f"{WORKLOAD}-{name}" for name in ("results", "compare", "nodes"))


@pytest.fixture(scope="module")
def node_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with runs at four caps. The fastest run, and the one of least energy, have no node
    meter."""
    root = tmp_path_factory.mktemp("nodes")
    submissions = Submissions(root / "submissions", make_key(root / "key"))
    submissions.allow(submissions.key)
    metered = [make_run_at_cap(500, 0.85), make_run_at_cap(700, 0.95)]
    for place, evidence in enumerate(metered):
        add_node_power(evidence, seed=place)
    add_sweep(submissions, *metered, make_run_at_cap(400, 0.71), make_run_at_cap(690, 0.96))
    out = root / "report.html"
    result = CliRunner().invoke(main, [str(submissions.root), "-o", str(out)])
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture
def node_page(browser: Any, node_report: Path) -> Iterator[Any]:
    with open_page(browser, node_report) as page:
        yield page


def list_shown(page: Any, id: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = page.evaluate("id => wattmark.visible(id)", id)
    return rows


def list_node_figures(page: Any) -> dict[int, dict[str, Any]]:
    """The rows of the table of node power, by cap."""
    return {row["cap_w"]: row for row in read_rows(page, NODES)}


def test_rows_show_the_energy_that_node_meters_measured(node_page: Any) -> None:
    page, ids = node_page, (RESULTS, COMPARE, "what-if", f"{WORKLOAD}-sweeps", "system-1")
    reported = {id: read_rows(page, id) for id in ids}
    nodes = list_node_figures(page)
    notice = page.locator("[data-node-scope]")
    assert notice.is_hidden()
    choose(page, "scope of energy", "node")
    assert "those that node meters measured" in notice.inner_text()
    assert read_count(page) == "2 of 4 results, 2 without figures of whole nodes hidden"
    for id in ids:
        shown = list_shown(page, id)
        assert {row["cap_w"] for row in shown} == nodes.keys() == {500, 700}, id
        for row in shown:
            assert row["scope"] == "whole nodes"
            for key in {"joules_per_item", "items_per_joule"} & row.keys():
                assert row[key] == nodes[row["cap_w"]][f"node_{key}"], (id, key)
            if row.get("joules_per_item_low") is not None and id != f"{WORKLOAD}-sweeps":
                # One run on other boards, by the spread of the rule book.
                half = row["joules_per_item_high"] - row["joules_per_item"]
                assert half == pytest.approx(2.145 * 2**0.5 * 0.015 * row["joules_per_item"])
    for row in list_shown(page, RESULTS):
        # The power of the nodes over both accelerators.
        assert row["power_w"] == pytest.approx(nodes[row["cap_w"]]["node_mean_power_w"] / 2)
        assert row["sensor_term_percent"] is None and row["over_naive"] is None
    choose(page, "scope of energy", "")
    assert {id: read_rows(page, id) for id in reported} == reported


def test_cards_and_answer_show_the_energy_of_whole_nodes(node_page: Any) -> None:
    page = node_page
    before = page.locator("#answer, .answers").all_inner_texts()
    least = min(row["node_joules_per_item"] for row in list_node_figures(page).values())
    choose(page, "scope of energy", "node")
    amounts = page.locator(".card .amount").all_inner_texts()
    assert [f"{least:.4g}" in amount for amount in amounts] == [True]
    answer = page.locator(".answer").inner_text()
    assert answer.startswith("ResNet-50 training: 2 \u00d7 H200 with tuned (compiled) takes ")
    assert "less energy of whole nodes per image (certain) than at 700\u202fW" in answer
    cost = page.locator(".card [data-brief]").inner_text()
    choose(page, "scope of energy", "")
    assert page.locator("#answer, .answers").all_inner_texts() == before
    assert page.locator(".card [data-brief]").inner_text() != cost


def test_findings_and_titles_are_on_whole_nodes(node_page: Any) -> None:
    page = node_page
    section = page.locator(f"#{WORKLOAD}")
    choose(page, "scope of energy", "node")
    gain = read_rows(page, f"{WORKLOAD}-node-gains")[0]["node_energy_gain_percent"]
    answers = section.locator(".questions").inner_text()
    assert f"{gain:.2g}\u202f% less energy per image" in answers
    assert "for the energy of whole nodes" in answers and "400\u202fW" not in answers
    titles = section.locator("figure.chart:visible h3").all_inner_texts()
    assert titles[0].startswith("Whole nodes: ")
    choose(page, "scope of energy", "")
    assert "whole nodes" not in section.locator(".questions").inner_text()


def test_tables_of_accelerators_alone_show_no_figure(node_page: Any) -> None:
    page = node_page
    choose(page, "scope of energy", "node")
    for name in ("power", "trace-1"):
        assert list_shown(page, f"{WORKLOAD}-{name}") == [], name
    assert list_shown(page, "naive-factors") == []
    hidden = page.locator(".folded[hidden]").evaluate_all("parts => parts.map((part) => part.id)")
    assert {f"{WORKLOAD}-power", f"{WORKLOAD}-trace-1", "naive-factors"} <= set(hidden)
    assert f"{WORKLOAD}-epochs" not in hidden
    choose(page, "scope of energy", "")
    assert page.locator(".folded[hidden]").count() == 0
    choose(page, "scope of energy", "node")
    # Evidence of the runs that are shown.
    assert len(list_shown(page, "evidence")) == 2


def test_run_without_a_node_meter_is_no_baseline(node_page: Any) -> None:
    page = node_page
    fastest = max(read_rows(page, COMPARE), key=lambda row: row["items_per_s_per_accelerator"])
    assert fastest["cap_w"] == 690
    choose(page, "scope of energy", "node")
    compared = {row["cap_w"]: row for row in list_shown(page, COMPARE)}
    base = compared[700]
    assert base["joules_told"] == "baseline" and compared[500]["against"] == base["result"]
    assert compared[500]["joules_percent"] == pytest.approx(
        comparison.relative_percent(compared[500][JOULES], base[JOULES])
    )
    choose(page, "baseline", fastest["result"])
    for row in list_shown(page, COMPARE):
        assert row["joules_percent"] is None and row["rate_percent"] < 0


def test_downloads_name_the_scope(node_page: Any) -> None:
    page = node_page
    choose(page, "scope of energy", "node")
    name = re.compile("shown rows of .* as CSV")
    saved = download(page, page.locator(f"#{RESULTS} .tools").get_by_role("button", name=name))
    rows = list(csv.DictReader(io.StringIO(Path(saved.path()).read_text(encoding="utf-8"))))
    nodes = list_node_figures(page)
    assert {row["scope"] for row in rows} == {"whole nodes"} and len(rows) == 2
    for row in rows:
        assert float(row[JOULES]) == nodes[int(row["cap_w"])]["node_joules_per_item"]


def test_charts_have_room_for_the_points_of_whole_nodes(node_page: Any) -> None:
    page = node_page
    choose(page, "scope of energy", "node")
    for name in ("efficiency", "caps", "saving", "energy"):
        figure = draw_figure(page, f"{RESULTS}-{name}")
        points = figure.locator(".mark-symbol path[tabindex]")
        assert points.count() >= 2, name
        plot = figure.locator(".live svg .background").first.bounding_box()
        for point in points.all():
            box = point.bounding_box()
            center = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            assert plot["x"] <= center[0] <= plot["x"] + plot["width"], name
            assert plot["y"] <= center[1] <= plot["y"] + plot["height"], name


def test_measured_nodes_have_no_assumed_share(node_page: Any) -> None:
    page = node_page
    figure = draw_figure(page, f"{RESULTS}-efficiency")
    switch = figure.get_by_label("add the node share")
    heading = figure.locator("h3")
    finding = heading.text_content()
    switch.check()
    sync_api.expect(heading).not_to_have_text(finding)
    choose(page, "scope of energy", "node")
    assert switch.is_hidden() and not switch.is_checked()
    sync_api.expect(figure.locator(".mark-symbol path[tabindex]")).to_have_count(2)
    choose(page, "scope of energy", "")
    assert switch.is_visible()
    sync_api.expect(heading).to_have_text(finding)


def test_page_without_node_meters_says_that_there_are_no_figures(
    page: Any,
) -> None:
    choose(page, "scope of energy", "node")
    assert page.locator("#no-answer").inner_text() == (
        "No compared result has figures of whole nodes. Undo “scope: whole nodes”, or choose Reset."
    )
    assert page.locator(".answer li:visible").count() == 0
    cards = page.locator(".card")
    assert cards.locator(".amount").count() == 0
    assert all("No figure of whole nodes." in text for text in cards.all_inner_texts())
    empty = page.locator(f"#{WORKLOAD} .empty").inner_text()
    assert empty.startswith("No result of this section has figures of whole nodes. Undo “scope")
