"""The page in a browser: quiet, alone, usable by keyboard, and the same numbers after whatever its
reader does."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.report.browser import (
    JOULES,
    RATE,
    TIMEOUT_MS,
    download,
    draw_figure,
    open_address,
    open_table,
    read_address,
    read_column,
    read_rows,
    wait_for_script,
)

from rules.metrics import comparison
from rules.metrics.uncertainty.between_runs import (
    RunSpread,
    SettingDifference,
    compare_settings,
)
from rules.metrics.uncertainty.repeats import Component

pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once


def sort(page: Any, id: str, key: str) -> Any:
    return page.locator(f'table[data-table="{id}"] th[data-key="{key}"] button')


def test_quiet_and_alone_while_it_is_scrolled_to_its_end(page: Any) -> None:
    for place in page.locator("figure.chart").all():
        place.scroll_into_view_if_needed()
        page.wait_for_function(
            "figure => figure.dataset.drawn === 'yes'", arg=place.element_handle()
        )
    assert page.locator('figure.chart:not([data-drawn="yes"])').count() == 0


def test_sorting_by_keyboard_orders_the_rows_and_is_in_the_address(page: Any) -> None:
    id = "resnet50-train-results"
    given = read_column(page, id, RATE)
    sort(page, id, RATE).focus()
    page.keyboard.press("Enter")
    falling = sorted((row[RATE] for row in read_rows(page, id)), reverse=True)
    shown = [
        float(cell.split("n")[0].strip("()").replace("\u202f", "").split("\u2013")[0])
        for cell in read_column(page, id, "cap_w")
    ]
    by_rate = sorted(read_rows(page, id), key=lambda row: -row[RATE])
    assert [row[RATE] for row in by_rate] == falling and shown == [row["cap_w"] for row in by_rate]
    assert page.locator(f'table[data-table="{id}"] th[aria-sort="descending"]').count() == 1
    assert f"{id}.sort=-{RATE}" in read_address(page)
    page.keyboard.press("Enter")
    assert f"{id}.sort={RATE}" in read_address(page)
    page.keyboard.press("Enter")
    assert read_column(page, id, RATE) == given and "sort" not in read_address(page)


def test_filters_hide_rows_and_their_state_comes_back_from_the_address(
    page: Any, browser: Any
) -> None:
    id = "resnet50-train-results"
    open_table(page, id)
    tools = page.locator(f"#{id} .tools")
    tools.get_by_role("searchbox").fill("mayr 2026 h200")
    sort(page, id, "cap_w").click()
    assert read_column(page, id, "cap_w") == ["700", "600", "500", "400", "300", "200"]
    assert re.fullmatch(r"6 of \d+ rows", tools.locator("output").text_content())
    other = browser.new_page()
    open_address(other, read_address(page))
    assert read_column(other, id, "cap_w") == ["700", "600", "500", "400", "300", "200"]
    assert other.locator(f"#{id} .tools").get_by_role("searchbox").input_value() == "mayr 2026 h200"
    other.close()


def test_downloads_hold_the_rows_of_their_table(page: Any, whole_report: Path) -> None:
    id = "resnet50-train-results"
    saved = download(page, page.locator(f"#{id} .tools").get_by_role("button", name="as CSV"))
    assert saved.suggested_filename == f"{id}.csv"
    content = Path(saved.path()).read_text(encoding="utf-8")
    of_cli = (whole_report / "tables" / f"{id}.csv").read_text(encoding="utf-8")
    assert list(csv.reader(io.StringIO(content))) == list(csv.reader(io.StringIO(of_cli)))
    saved = download(page, page.get_by_role("button", name="All tables as JSON", exact=True))
    everything = json.loads(Path(saved.path()).read_text(encoding="utf-8"))
    of_cli_all = json.loads((whole_report / "tables/report.json").read_text(encoding="utf-8"))
    assert [t["id"] for t in everything["tables"]] == [t["id"] for t in of_cli_all["tables"]]
    for own, other in zip(everything["tables"], of_cli_all["tables"], strict=True):
        assert [c["key"] for c in own["columns"]] == [c["key"] for c in other["columns"]]
        for row, of_other in zip(own["rows"], other["rows"], strict=True):
            # The page computes a score that is a whole number to the last digit.
            assert row == [
                pytest.approx(v, rel=1e-8) if isinstance(v, int | float) else v for v in of_other
            ]
    assert everything["format"] == of_cli_all["format"]


def test_what_if_computes_as_the_rules_do(page: Any, browser: Any) -> None:
    panel = page.locator('[data-panel="what-if"]')
    panel.get_by_label("energy price").fill("0.4")
    panel.get_by_label("carbon intensity").fill("50")
    panel.get_by_label("PUE").fill("1.1")
    panel.get_by_label("load, million").fill("2000")
    panel.get_by_label("weight of energy").fill("0.8")
    panel.get_by_label("score").select_option("printed")
    panel.get_by_label("maximum W").fill("600")
    compared: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in read_rows(page, "what-if"):
        year = comparison.site_kwh(row[JOULES], comparison.items_per_year(2000), 1.1)
        assert row["eur_per_million"] == pytest.approx(
            comparison.site_kwh(row[JOULES], 1e6, 1.1) * 0.4
        )
        assert row["gco2e_per_million"] == pytest.approx(
            comparison.site_kwh(row[JOULES], 1e6, 1.1) * 50
        )
        assert row["eur_per_year"] == pytest.approx(year * 0.4)
        assert row["kgco2e_per_year"] == pytest.approx(year * 50 / 1e3)
        assert row["accelerators_needed"] == comparison.accelerators_needed(2000, row[RATE])
        assert (row["rank"] is None) == (row["power_w"] > 600)
        if row["rank"]:
            compared.setdefault((row["workload"], row["like"]), []).append(row)
    for own in compared.values():
        fastest, highest = max(r[RATE] for r in own), max(r[JOULES] for r in own)
        for row in own:
            assert row["score"] == pytest.approx(
                comparison.score(row[JOULES], highest, 100 * row[RATE] / fastest, 0.8, "printed")
            )
        leader = None
        for place, row in enumerate(sorted(own, key=lambda r: -r["score"]), start=1):
            is_tie = leader is not None and is_tied(page, row, leader)
            assert row["rank"] == (leader["rank"] if leader and is_tie else place)
            leader = leader if is_tie else row
    shown = read_column(page, "what-if", "eur_per_million")
    assert len(shown) == sum(map(len, compared.values())) < len(read_rows(page, "what-if"))
    other = browser.new_page()
    open_address(other, read_address(page))
    assert read_column(other, "what-if", "eur_per_million") == shown
    other.close()


def test_pinned_baseline_compares_like_with_like(page: Any) -> None:
    id = "vitl16-train-compare"
    pinned = "Mayr et al. 2026 · H200 · 700 W"
    page.get_by_label("baseline", exact=True).select_option(pinned)
    base = next(row for row in read_rows(page, id) if row["result"] == pinned)
    for row in read_rows(page, id):
        assert row["against"] == pinned
        assert row["rate_percent"] == pytest.approx(
            comparison.relative_percent(row[RATE], base[RATE])
        )
        assert row["rate_told"] == ("baseline" if row["result"] == pinned else "no interval")
    named = read_column(page, id, "result")
    assert all(name.startswith("Mayr") for name in named)
    page.get_by_label("other groups too").check()
    assert len(read_column(page, id, "result")) == len(read_rows(page, id)) > len(named)
    assert "baseline=Mayr" in read_address(page) and "others=1" in read_address(page)


def read_compact(page: Any, id: str, key: str) -> list[str]:
    """The visible cells of a column of a compact table, by line."""
    table = page.locator(f'table[data-compact="{id}"]')
    keys = table.locator("thead th").evaluate_all("heads => heads.map((h) => h.dataset.key)")
    place = keys.index(key) + 1
    return list(table.locator(f"tbody tr > :nth-child({place})").all_inner_texts())


def test_compact_results_show_the_comparison_with_the_baseline(page: Any) -> None:
    id, key = "vitl16-train-results", "joules_percent"
    page.locator(f"#{id} .tools").get_by_role("button", name="show all").click()

    def check(base: dict[str, Any], name: str) -> None:
        for row, shown in zip(read_rows(page, id), read_compact(page, id, key), strict=True):
            if row["standing"] != "published" or row["withheld"] or row["doubt"]:
                continue
            percent = comparison.relative_percent(row[JOULES], base[JOULES])
            assert row[key] == pytest.approx(percent)
            number, _, verdict = shown.partition("\n")
            assert float(number.replace("\u2212", "-")) == pytest.approx(percent, abs=0.005)
            assert verdict == (name if row["setting"] == base["setting"] else "no interval")

    published = [row for row in read_rows(page, id) if row["standing"] == "published"]
    h200 = {row["cap_w"]: row for row in published if row["model"] == "H200"}
    before = read_compact(page, id, key)
    check(h200[700], "fastest of its group")
    page.get_by_label("baseline", exact=True).select_option("Mayr et al. 2026 · H200 · 400 W")
    check(h200[400], "baseline")
    measured = [row for row in read_rows(page, id) if row["standing"] == "closed"]
    assert {row[key] for row in measured} == {None}, "of other groups"
    page.get_by_label("other groups too").check()
    assert None not in {row[key] for row in read_rows(page, id) if row["standing"] == "closed"}
    page.get_by_role("button", name="Reset").click()
    assert read_compact(page, id, key) == before


def compare_rows(
    page: Any, row: dict[str, Any], base: dict[str, Any], key: str
) -> SettingDifference | None:
    """The difference that `rules` finds between two rows of the page; None without intervals."""
    spreads = json.loads(page.locator("#about").text_content())["spread"]
    if not (row["runs_by_board"] and base["runs_by_board"]):
        return None
    (own, own_spread), (other, other_spread) = (
        (read_runs(r, key), make_spread(spreads[r["model"]][key])) for r in (row, base)
    )
    return compare_settings(own, own_spread, other, other_spread)


def read_runs(row: dict[str, Any], key: str) -> dict[str, list[float]]:
    """The runs of a row by board, each with the mean of the runs on its board."""
    place = {RATE: 2, JOULES: 3}[key]
    parts = [part.split(", ") for part in row["runs_by_board"].split("; ")]
    return {part[0]: [float(part[place])] * int(part[1]) for part in parts}


def make_spread(stated: dict[str, Any]) -> RunSpread:
    boards, runs = (
        one and Component(one["sd_percent"], one["degrees_of_freedom"])
        for one in (stated["boards"], stated["runs"])
    )
    return RunSpread(boards, runs, stated["runs_share"])


def is_tied(page: Any, row: dict[str, Any], leader: dict[str, Any]) -> bool:
    differences = [compare_rows(page, row, leader, key) for key in (RATE, JOULES)]
    if None in differences:
        return (row[RATE], row[JOULES]) == (leader[RATE], leader[JOULES])
    return not any(difference and difference.counts for difference in differences)


def test_told_apart_in_the_page_as_in_the_rules(page: Any) -> None:
    id = "resnet50-train-compare"
    names = [row["result"] for row in read_rows(page, id) if row["standing"] != "published"]
    found, shared = set(), set()
    for name in names:
        page.get_by_label("baseline", exact=True).select_option(name)
        rows = read_rows(page, id)
        base = next(row for row in rows if row["result"] == name)
        for row in rows:
            if row is base:
                continue
            for short, key in (("rate", RATE), ("joules", JOULES)):
                difference = compare_rows(page, row, base, key)
                told = row[f"{short}_told"]
                found.add(told)
                if difference is None:
                    assert told == "no interval"
                    continue
                sign = "higher" if difference.percent > 0 else "lower"
                assert told == (sign if difference.counts else "not told apart")
                assert row[f"{short}_percent"] == pytest.approx(difference.percent, abs=1e-6)
                shared.add(difference.boards)
    assert found == {"higher", "lower", "not told apart", "no interval"}
    assert 0 in shared and max(shared) >= 1, "some settings share boards"


def test_link_to_the_evidence_keeps_what_was_chosen(page: Any) -> None:
    id = "resnet50-train-results"
    page.locator(f"#{id} .tools").get_by_role("searchbox").fill("h200")
    page.locator(f'table[data-compact="{id}"] a[href^="#e"]').first.click()
    # An expression without `() =>` would be polled by eval, which the page forbids.
    page.wait_for_function("() => location.hash.includes('at=e')")
    assert f"{id}.find=h200" in read_address(page)
    assert page.locator(f"#{read_address(page).split('at=')[1].split('&')[0]}").is_visible()


def test_long_table_shows_its_first_rows_until_it_is_asked_for_all(page: Any) -> None:
    page.evaluate("location.hash = 'e1'")
    page.wait_for_selector("#e1")
    page.evaluate("""async () => {
      const record = JSON.parse(await wattmark.decompress("tables"));
      const own = record.tables.find((table) => table.id === "evidence");
      const table = document.querySelector('table[data-table="evidence"]');
      const body = table.tBodies[0];
      const begin = body.rows.length;
      for (const column of own.cells) column.push([begin - 300]);
      for (let n = begin; n < 300; n += 1) {
        body.append(Object.assign(body.rows[n % begin].cloneNode(true), { id: `e${n + 1}` }));
      }
      const stream = new Blob([JSON.stringify(record)]).stream()
        .pipeThrough(new CompressionStream("deflate"));
      const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
      const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
      document.getElementById("tables").textContent = btoa(text);
      delete window.wattmark;
      for (const part of document.querySelectorAll(".tools:not([data-everything]), .compact")) {
        part.remove();
      }
      const program = [...document.scripts]
        .find((script) => script.textContent.includes("window.wattmark ="));
      const again = document.createElement("script");
      program.replaceWith(Object.assign(again, { textContent: program.textContent }));
    }""")
    wait_for_script(page)
    assert len(read_column(page, "evidence", "run")) == 200
    assert page.locator("#evidence .tools output").text_content() == "300 rows, first 200 shown"
    page.evaluate("location.hash = 'e290'")
    page.wait_for_selector("#e290")
    assert len(read_column(page, "evidence", "run")) == 300


def test_axe_finds_nothing_serious(page: Any) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is in the extra dev"
    )
    page.evaluate("""() => {
      for (const details of document.querySelectorAll("details")) {
        details.open = true;
        wattmark.unfold(details);
      }
    }""")
    draw_figure(page, "vitl16-train-results-caps")
    found = axe.Axe().run(page).response["violations"]
    grave = {
        v["id"]: [n["target"] for n in v["nodes"]][:3] for v in found if v["impact"] != "minor"
    }
    assert grave == {}


def test_without_scripts_everything_is_readable_and_controls_are_hidden(
    browser: Any, whole_report: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((whole_report / "report.html").as_uri(), timeout=TIMEOUT_MS)
    assert page.locator("form:visible, button:visible, input:visible, select:visible").count() == 0
    assert page.locator('table[data-compact="what-if"] tbody tr').count() > 50
    charts = page.locator("figure.chart")
    assert charts.locator("svg").count() == charts.count() > 20
    assert page.locator("summary", has_text="More columns").filter(visible=True).count() == 0
    assert page.locator("noscript > p", has_text="Without JavaScript").is_visible()
    context.close()


def test_panels_filters_and_folds_answer_the_keyboard(page: Any) -> None:
    weight = page.get_by_label("weight of energy")
    weight.focus()
    page.keyboard.press("ArrowRight")
    assert weight.input_value() == "0.55" and "weight=0.55" in read_address(page)
    assert page.locator("output[name=weight-shown]").text_content() == "0.55"
    standing = page.get_by_label("standing", exact=True)
    standing.focus()
    page.keyboard.press("p")
    assert set(read_column(page, "resnet50-train-results", "standing")) == {"published"}
    page.locator("#resnet50-train-power > summary").focus()
    page.keyboard.press("Enter")
    page.locator('table[data-table="resnet50-train-power"]').wait_for()


@pytest.mark.parametrize("width", [390, 1440])
def test_page_is_no_wider_than_the_screen(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1440])
def test_jump_stays_where_it_landed_while_charts_are_drawn(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.locator('nav a[href="#vitl16-train"]').click()
    page.wait_for_function("""() => [...document.querySelectorAll("figure.chart")]
      .every((figure) => {
      const { top, bottom, left } = figure.getBoundingClientRect();
      const away = bottom <= 0 || top > innerHeight || left > innerWidth;
      return figure.dataset.drawn === "yes" || (!figure.dataset.drawn && away);
    })""")
    top, links, wanted = page.evaluate("""() => [
      document.getElementById("vitl16-train").getBoundingClientRect().top,
      Math.max(0, document.querySelector(".bars").getBoundingClientRect().bottom),
      parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop),
    ]""")
    assert top == pytest.approx(wanted, abs=3) and top >= links, (
        "at its place, and not below the links"
    )
