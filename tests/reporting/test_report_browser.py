"""The page in a browser: quiet, alone, usable by keyboard, and the same numbers after whatever its
reader does."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.report.browser import JOULES, RATE, draw_figure, read_rows

from reporting.pareto import EfficiencyPoint, mark_points
from reporting.sections.planning import DEFAULTS
from rules.metrics import comparison
from rules.metrics.node.racks import compute_pdu_limit_w, plan_rack
from rules.metrics.power_profile import with_node_overhead

pytestmark = pytest.mark.xdist_group("whole-report")  # one test process builds it, once


def column(page: Any, id: str, title: str) -> list[str]:
    """The visible cells of a column."""
    found: list[str] = page.evaluate(
        """([id, key]) => {
          const table = document.querySelector(`table[data-table="${id}"]`);
          const n = [...table.tHead.rows[0].cells].findIndex((head) => head.dataset.key === key);
          return [...table.tBodies[0].rows].filter((row) => !row.hidden)
            .map((row) => row.cells[n].textContent);
        }""",
        [id, title],
    )
    return found


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
    given = column(page, id, RATE)
    sort(page, id, RATE).focus()
    page.keyboard.press("Enter")
    falling = sorted((row[RATE] for row in read_rows(page, id)), reverse=True)
    shown = [
        float(cell.split("n")[0].strip("()").replace("\u202f", "").split("\u2013")[0])
        for cell in column(page, id, "cap_w")
    ]
    by_rate = sorted(read_rows(page, id), key=lambda row: -row[RATE])
    assert [row[RATE] for row in by_rate] == falling and shown == [row["cap_w"] for row in by_rate]
    assert page.locator(f'table[data-table="{id}"] th[aria-sort="descending"]').count() == 1
    assert f"{id}.sort=-{RATE}" in page.url
    page.keyboard.press("Enter")
    assert f"{id}.sort={RATE}" in page.url
    page.keyboard.press("Enter")
    assert column(page, id, RATE) == given and "sort" not in page.url


def test_filters_hide_rows_and_their_state_comes_back_from_the_address(
    page: Any, browser: Any
) -> None:
    id = "resnet50-train-results"
    tools = page.locator(f"#{id} .tools")
    tools.get_by_role("searchbox").fill("mayr h200")
    sort(page, id, "cap_w").click()
    assert column(page, id, "cap_w") == ["700", "600", "500", "400", "300", "200"]
    assert re.fullmatch(r"6 of \d+ rows", tools.locator("output").text_content())
    other = browser.new_page()
    other.goto(page.url, timeout=60_000)
    assert column(other, id, "cap_w") == ["700", "600", "500", "400", "300", "200"]
    assert other.locator(f"#{id} .tools").get_by_role("searchbox").input_value() == "mayr h200"
    other.close()


def test_downloads_hold_the_rows_of_their_table(page: Any, whole_report: Path) -> None:
    id = "resnet50-train-results"
    with page.expect_download() as saved:
        page.locator(f"#{id} .tools").get_by_role("button", name="as CSV").click()
    assert saved.value.suggested_filename == f"{id}.csv"
    content = Path(saved.value.path()).read_text(encoding="utf-8")
    of_cli = (whole_report / "tables" / f"{id}.csv").read_text(encoding="utf-8")
    assert list(csv.reader(io.StringIO(content))) == list(csv.reader(io.StringIO(of_cli)))
    with page.expect_download() as saved:
        page.get_by_role("button", name="All tables as JSON").click()
    everything = json.loads(Path(saved.value.path()).read_text(encoding="utf-8"))
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
            is_tie = leader is not None and all(
                abs(comparison.relative_percent(row[key], leader[key]))
                < comparison.BOARD_SPREAD_PERCENT
                for key in (RATE, JOULES)
            )
            assert row["rank"] == (leader["rank"] if leader and is_tie else place)
            leader = leader if is_tie else row
    shown = column(page, "what-if", "eur_per_million")
    assert len(shown) == sum(map(len, compared.values())) < len(read_rows(page, "what-if"))
    other = browser.new_page()
    other.goto(page.url, timeout=60_000)
    assert column(other, "what-if", "eur_per_million") == shown
    other.close()


def test_pinned_baseline_compares_like_with_like(page: Any) -> None:
    id = "vitl16-train-compare"
    pinned = "Mayr et al. 2026 · H200 · 700 W"
    page.get_by_label("baseline of ViT-L/16 training").select_option(label=pinned)
    base = next(row for row in read_rows(page, id) if row["result"] == pinned)
    for row in read_rows(page, id):
        assert row["against"] == pinned
        assert row["rate_percent"] == pytest.approx(
            comparison.relative_percent(row[RATE], base[RATE])
        )
        assert row["rate_told"] == ("baseline" if row["result"] == pinned else "no interval")
    named = column(page, id, "result")
    assert all(name.startswith("Mayr") for name in named)
    page.locator(f"#{id}").get_by_label("include other groups").check()
    assert len(column(page, id, "result")) == len(read_rows(page, id)) > len(named)
    assert "base=" in page.url


def test_told_apart_in_the_page_as_in_the_rules(page: Any) -> None:
    id = "resnet50-train-compare"
    names = [row["result"] for row in read_rows(page, id) if row["standing"] != "published"]
    widen = (
        "([id, key]) => { const row = wattmark.objects(id)[1]; row[`${key}_low`] = 0; "
        "row[`${key}_high`] = 1e9; }"
    )
    page.evaluate(
        widen, [id, RATE]
    )  # one whose interval touches every other: no two of these runs are so close
    found = set()
    for name in names:
        page.get_by_label("baseline of ResNet-50 training").select_option(label=name)
        rows = read_rows(page, id)
        base = next(row for row in rows if row["result"] == name)
        for row in rows:
            if row is base:
                continue
            ends = [
                None if r[f"{RATE}_low"] is None else (r[f"{RATE}_low"], r[f"{RATE}_high"])
                for r in (row, base)
            ]
            same = row["boards"] == base["boards"]
            assert row["rate_told"] == comparison.compare_with_baseline(
                row[RATE], ends[0], base[RATE], ends[1], same
            )
            found.add(row["rate_told"])
    assert found == {"higher", "lower", "within board spread", "intervals overlap", "no interval"}


def find_plans(page: Any, rack_w: float, redundancy_percent: float) -> int:
    """How many rows of the rack planner have the plan of the rule book."""
    count = 0
    for row in read_rows(page, "rack"):
        if row["node_w"] is None:
            assert (row["nodes"], row["used_kw"], row["margin_percent"]) == (None, None, None)
            continue
        plan = plan_rack(rack_w, redundancy_percent, row["node_w"])
        assert row["nodes"] == plan.nodes, row
        assert row["used_kw"] == pytest.approx(plan.used_w / 1e3, abs=1e-6)
        assert row["margin_percent"] == pytest.approx(plan.margin_percent, abs=1e-6)
        count += 1
    return count


def test_rack_planner_computes_as_the_rules_do(page: Any) -> None:
    known = find_plans(page, DEFAULTS.rack_kw * 1e3, DEFAULTS.redundancy_percent)
    assert known >= 7
    assert column(page, "rack", "nodes")[:3] == ["5", "6", "6"]
    panel = page.locator('[data-panel="rack"]')
    panel.get_by_label("rack limit").fill("123.4")
    panel.get_by_label("redundancy").fill("12.5")
    assert find_plans(page, 123_400.0, 12.5) == known
    panel.get_by_label("number of PDUs").fill("3")
    limit_w = compute_pdu_limit_w(
        3,
        DEFAULTS.pdu_volts,
        DEFAULTS.pdu_amperes,
        DEFAULTS.pdu_phases,
        DEFAULTS.pdu_derating_percent,
    )
    assert limit_w < 123_400
    assert find_plans(page, limit_w, 12.5) == known
    assert "Limit: 52.99 kW by the PDUs." in page.locator("#racks").inner_text()
    for label, value in (("volts", "120"), ("amperes", "50"), ("phases", "2"), ("derating", "90")):
        panel.get_by_label(label).fill(value)
    assert find_plans(page, compute_pdu_limit_w(3, 120, 50, 2, 90), 12.5) == known
    unrated = sum(row["node_w"] is None for row in read_rows(page, "rack"))
    panel.get_by_label("rated power").fill("14300")
    assert find_plans(page, compute_pdu_limit_w(3, 120, 50, 2, 90), 12.5) == known + unrated
    ratings_w = {row["node_w"] for row in read_rows(page, "rack") if row["by"] == "rating"}
    assert ratings_w == {14_300}


def test_inputs_of_the_rack_planner_are_in_the_address(page: Any) -> None:
    panel = page.locator('[data-panel="rack"]')
    inputs = {"rack limit": "100", "redundancy": "0", "rated power": "9000", "number of PDUs": "9"}
    for label, value in inputs.items():
        panel.get_by_label(label).fill(value)
    shown = read_rows(page, "rack")
    page.reload()
    assert read_rows(page, "rack") == shown
    for label, value in inputs.items():
        assert panel.get_by_label(label).input_value() == value


def set_node_share(page: Any, node_w: float, accelerators: int) -> None:
    panel = page.locator('[data-panel="node-share"]')
    panel.get_by_label("W per node").fill(f"{node_w:g}")
    panel.get_by_label("accelerators per node").fill(str(accelerators))


def test_node_share_of_the_reader_changes_efficiency_and_marks_as_the_rules_do(page: Any) -> None:
    id = "resnet50-train-results"
    before = read_rows(page, id)
    set_node_share(page, 1600, 8)
    rows = read_rows(page, id)
    points = []
    for row in rows:
        power_w = row["cap_w"] if row["power_w"] is None else row["power_w"]
        efficiency = with_node_overhead(row[RATE], power_w, 1600, 8)
        assert row["node_items_per_joule_assumed"] == pytest.approx(efficiency)
        points.append(
            EfficiencyPoint(
                line=row["line"],
                standing=row["standing"],
                is_comparable=row["comparable"],
                may_win=row["comparable"] and not row["withheld"],
                cap_w=row["cap_w"],
                items_per_s=row[RATE],
                items_per_joule=efficiency,
            )
        )
    marks = mark_points(points)
    assert [row["peak_node"] for row in rows] == [mark.is_peak for mark in marks]
    assert [row["front_node"] for row in rows] == [mark.is_on_front for mark in marks]
    assert [row["peak_node"] for row in before] != [row["peak_node"] for row in rows]
    assert [row["peak"] for row in before] == [row["peak"] for row in rows]
    set_node_share(page, 100, 4)
    assert read_rows(page, id) == before
    assert "node-w" not in page.url


def test_node_share_of_the_reader_is_in_the_address_and_moves_the_points(page: Any) -> None:
    id = "resnet50-train-results"
    figure = draw_figure(page, f"{id}-efficiency")
    figure.locator("input[type=checkbox]").check()
    places = (
        "figure => [...figure.querySelectorAll('.mark-symbol path')]"
        ".map(point => point.getAttribute('transform')).join()"
    )
    before = figure.evaluate(places)
    set_node_share(page, 1600, 8)
    page.wait_for_function(
        f"([figure, before]) => ({places})(figure) !== before",
        arg=[figure.element_handle(), before],
        timeout=10_000,
    )
    assert "Assumed here: 200.0 W per accelerator." in page.locator("#node-share").inner_text()
    rows = read_rows(page, id)
    page.reload()
    assert read_rows(page, id) == rows


def test_link_to_the_evidence_keeps_what_was_chosen(page: Any) -> None:
    id = "resnet50-train-results"
    page.locator(f"#{id} .tools").get_by_role("searchbox").fill("h200")
    page.locator(f'table[data-table="{id}"] a[href^="#e"]').first.click()
    page.wait_for_function("location.hash.includes('at=e')")
    assert f"{id}.find=h200" in page.url
    assert page.locator(f"#{page.url.split('at=')[1].split('&')[0]}").is_visible()


def test_long_table_shows_its_first_rows_until_it_is_asked_for_all(page: Any) -> None:
    page.evaluate("""() => {
      const record = JSON.parse(document.getElementById("tables").textContent);
      const own = record.tables.find((table) => table.id === "evidence");
      const table = document.querySelector('table[data-table="evidence"]');
      const body = table.tBodies[0];
      const begin = own.rows.length;
      for (let n = begin; n < 300; n += 1) {
        own.rows.push(own.rows[n % begin]);
        body.append(Object.assign(body.rows[n % begin].cloneNode(true), { id: `e${n + 1}` }));
      }
      document.getElementById("tables").textContent = JSON.stringify(record);
      document.querySelectorAll(".tools:not([data-everything])").forEach((tools) => tools.remove());
      const program = [...document.scripts]
        .find((script) => script.textContent.includes("window.wattmark ="));
      const again = document.createElement("script");
      program.replaceWith(Object.assign(again, { textContent: program.textContent }));
    }""")
    assert len(column(page, "evidence", "run")) == 200
    assert page.locator("#evidence .tools output").text_content() == "300 rows, first 200 shown"
    page.evaluate("location.hash = 'e290'")
    page.wait_for_selector("#e290")
    assert len(column(page, "evidence", "run")) == 300


def test_axe_finds_nothing_serious(page: Any) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is in the extra dev"
    )
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    draw_figure(page, "vitl16-train-results-throughput")
    found = axe.Axe().run(page).response["violations"]
    grave = {
        v["id"]: [n["target"] for n in v["nodes"]][:3]
        for v in found
        if v["impact"] in ("serious", "critical")
    }
    assert grave == {}


def test_without_scripts_everything_is_readable_and_controls_are_hidden(
    browser: Any, whole_report: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((whole_report / "report.html").as_uri(), timeout=60_000)
    assert page.locator("form:visible, button:visible, input:visible, select:visible").count() == 0
    assert page.locator('table[data-table="what-if"] tbody tr').count() > 50
    assert page.locator("figure.chart svg").count() == page.locator("figure.chart").count()
    context.close()


def test_panels_filters_and_folds_answer_the_keyboard(page: Any) -> None:
    weight = page.get_by_label("weight of energy")
    weight.focus()
    page.keyboard.press("ArrowRight")
    assert weight.input_value() == "0.55" and "weight=0.55" in page.url
    assert page.locator("output[name=weight-shown]").text_content() == "0.55"
    standing = page.get_by_label("standing in ResNet-50 training: results")
    standing.focus()
    page.keyboard.press("p")
    assert set(column(page, "resnet50-train-results", "standing")) == {"published"}
    page.locator("#resnet50-train-power > summary").focus()
    page.keyboard.press("Enter")
    assert page.locator('table[data-table="resnet50-train-power"]').is_visible()


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
      const { top, bottom } = figure.getBoundingClientRect();
      const away = bottom < 0 || top > innerHeight;
      return figure.dataset.drawn === "yes" || (!figure.dataset.drawn && away);
    })""")
    top, links, wanted = page.evaluate("""() => [
      document.getElementById("vitl16-train").getBoundingClientRect().top,
      Math.max(0, document.querySelector("nav").getBoundingClientRect().bottom),
      parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop),
    ]""")
    assert top == pytest.approx(wanted, abs=3) and top >= links, (
        "at its place, and not below the links"
    )
