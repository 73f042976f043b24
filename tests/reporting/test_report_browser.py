"""The page in a browser: quiet, alone, usable by keyboard, and the same numbers after whatever its
reader does."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.report.html import Element, Tree, lines, tables

from reporting.report_table import Column
from reporting.sections.planning import DEFAULTS
from rules.metrics import comparison

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")

RATE, JOULES = "items_per_s_per_accelerator", "joules_per_item"
sync_api.expect.set_options(timeout=60_000)

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET, timeout=300_000)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, whole_report: Path) -> Iterator[Any]:
    """The page, open; it fails a test in which the page says anything on the console or asks for
    anything."""
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    page.set_default_timeout(60_000)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on(
        "request",
        lambda request: (
            said.append(request.url) if not request.url.startswith(("file:", "blob:")) else None
        ),
    )
    page.goto((whole_report / "report.html").as_uri())
    yield page
    assert said == []
    page.close()


def rows(page: Any, id: str) -> list[dict[str, Any]]:
    """The rows of a table as the page now has them."""
    found: list[dict[str, Any]] = page.evaluate("id => window.wattmark.objects(id)", id)
    return found


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
    falling = sorted((row[RATE] for row in rows(page, id)), reverse=True)
    shown = [
        float(cell.split("n")[0].strip("()").replace("\u202f", "").split("\u2013")[0])
        for cell in column(page, id, "cap_w")
    ]
    by_rate = sorted(rows(page, id), key=lambda row: -row[RATE])
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
            assert row == [
                pytest.approx(v, rel=1e-8) if isinstance(v, float) else v for v in of_other
            ]
    assert everything["format"] == of_cli_all["format"]


def drawn(page: Any, id: str) -> Any:
    """The figure of that id once its chart has been drawn."""
    figure = page.locator(f"figure#{id}")
    figure.scroll_into_view_if_needed()
    page.wait_for_function("figure => figure.dataset.drawn === 'yes'", arg=figure.element_handle())
    return figure


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
    .filter((axis) => axis.querySelector(".role-axis-title"));
  return own.map((axis) => ({
    title: axis.querySelector(".role-axis-title text").textContent,
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
    value = cell.own.strip("()") if column.form == "number" else cell.own
    return "\n".join(
        [f"{value} {column.unit}".strip(), *(without_n(small.text) for small in cell.find("small"))]
    )


def test_points_titles_tooltips_table_and_download_of_a_chart_hold_the_same(
    page: Any, whole_report: Path
) -> None:
    id = "vitl16-train-results"
    figure = drawn(page, f"{id}-throughput")
    with page.expect_download() as saved:
        page.locator(f"#{id} .tools").get_by_role("button", name="as CSV").click()
    downloaded = list(
        csv.DictReader(io.StringIO(Path(saved.value.path()).read_text(encoding="utf-8")))
    )
    parsed = Tree((whole_report / "report.html").read_text(encoding="utf-8")).open[0]
    (table,) = [one for one in tables(parsed) if one.id == id]
    shown = [one for one in table.columns if not one.hidden and one.form != "evidence"]
    cells = [
        {c.title: in_tooltip(line.cells[c.key], c) for c in shown if line[c.key] is not None}
        for line in lines(parsed, id)
    ]
    cap, rate = table.column("cap_w"), table.column(RATE)
    axes = {axis["title"]: axis for axis in page.evaluate(_AXES, figure.element_handle())}
    assert (
        axes.keys() == {cap.label, rate.label}
        and figure.locator("h4").inner_text() == "Throughput against cap"
    )
    met = []
    for place, point in enumerate(figure.locator(_POINTS).all()):
        said = told(page, figure, place)
        assert said.pop("evidence")
        (row,) = [n for n, wanted in enumerate(cells) if said == wanted]
        at = [float(v) for v in re.findall(r"-?[\d.]+", point.get_attribute("transform"))]
        for way, column in enumerate((cap, rate)):
            value, beside = (on_axis(axes[column.label], way, at[way] + pixel) for pixel in (0, 1))
            assert value == pytest.approx(
                float(downloaded[row][column.key]), abs=abs(beside - value)
            ), "to a pixel"
        met.append(row)
    assert sorted(met) == list(range(len(table.rows))), "each row is a point, and once"


def test_switch_moves_the_points_to_the_figures_with_node_share_and_is_in_the_address(
    page: Any, browser: Any
) -> None:
    id = "resnet50-train-results"
    figure = drawn(page, f"{id}-efficiency")

    def heights(figure: Any) -> list[float]:
        found = [point.get_attribute("transform") for point in figure.locator(_POINTS).all()]
        return [float(re.findall(r"-?[\d.]+", at)[1]) for at in found if at]

    every = rows(page, id)
    alone, with_node = (
        np.log([row[key] for row in every])
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
    assert f"{id}-efficiency.node=1" in page.url

    other = browser.new_page(viewport={"width": 1440, "height": 1000})
    other.goto(page.url)
    again = drawn(other, f"{id}-efficiency")
    assert heights(again) == after and again.locator("input[type=checkbox]").is_checked()
    other.evaluate("location.hash = 'price=0.4'")
    other.wait_for_function(stands, arg=[again.element_handle(), _POINTS, before[0]])
    assert heights(again) == before and not again.locator("input[type=checkbox]").is_checked()
    other.close()


def test_what_if_computes_as_the_rules_do(page: Any, browser: Any) -> None:
    panel = page.locator('[data-panel="what-if"]')
    panel.get_by_label("energy price").fill("0.4")
    panel.get_by_label("carbon intensity").fill("50")
    panel.get_by_label("PUE").fill("1.1")
    panel.get_by_label("load, million").fill("2000")
    panel.get_by_label("weight of energy").fill("0.8")
    panel.get_by_label("score").select_option("printed")
    panel.get_by_label("maximum W").fill("600")
    compared: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for row in rows(page, "what-if"):
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
            compared.setdefault((row["workload"], row["standing"] == "published"), []).append(row)
    for own in compared.values():
        fastest, highest = max(r[RATE] for r in own), max(r[JOULES] for r in own)
        for row in own:
            assert row["score"] == pytest.approx(
                comparison.score(row[JOULES], highest, 100 * row[RATE] / fastest, 0.8, "printed")
            )
        assert sorted((r["rank"] for r in own), key=int) == list(range(1, len(own) + 1))
    shown = column(page, "what-if", "eur_per_million")
    assert len(shown) == sum(map(len, compared.values())) < len(rows(page, "what-if"))
    other = browser.new_page()
    other.goto(page.url, timeout=60_000)
    assert column(other, "what-if", "eur_per_million") == shown
    other.close()


def test_pinned_baseline_compares_like_with_like(page: Any) -> None:
    id = "vitl16-train-compare"
    pinned = "Mayr et al. 2026 · H200 · 700 W"
    page.get_by_label("baseline of ViT-L/16 training").select_option(label=pinned)
    base = next(row for row in rows(page, id) if row["result"] == pinned)
    for row in rows(page, id):
        assert row["against"] == pinned
        assert row["rate_percent"] == pytest.approx(
            comparison.relative_percent(row[RATE], base[RATE])
        )
        assert row["rate_told"] == ("baseline" if row["result"] == pinned else "no interval")
    named = column(page, id, "result")
    assert all(name.startswith("Mayr") for name in named)
    page.locator(f"#{id}").get_by_label("include other groups").check()
    assert len(column(page, id, "result")) == len(rows(page, id)) > len(named)
    assert "base=" in page.url


def test_told_apart_in_the_page_as_in_the_rules(page: Any) -> None:
    id = "resnet50-train-compare"
    names = [row["result"] for row in rows(page, id) if row["standing"] != "published"]
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
        every = rows(page, id)
        base = next(row for row in every if row["result"] == name)
        for row in every:
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


def test_rack_limit_of_the_reader(page: Any) -> None:
    assert column(page, "rack", "fit_max")[0] == str(
        comparison.nodes_that_fit(DEFAULTS.rack_kw * 1e3, rows(page, "rack")[0]["max_w"])
    )
    page.get_by_label("rack limit").fill("100")
    for row in rows(page, "rack"):
        assert row["fit_rated"] == comparison.nodes_that_fit(1e5, row["rated_w"])
        assert row["fit_max"] == comparison.nodes_that_fit(1e5, row["max_w"])
    assert column(page, "rack", "further")[0] == str(19 - 9)


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
    drawn(page, "vitl16-train-results-throughput")
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


def test_marks_of_a_chart_answer_the_keyboard_and_say_their_row(page: Any) -> None:
    figure = drawn(page, "vitl16-train-results-throughput")
    marks = figure.locator(".live path[aria-label]")
    assert marks.count() == len(rows(page, "vitl16-train-results")) > 2
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


def after(page: Any, *interactions: Callable[[], Any]) -> None:
    """Does what a reader does to have an answer; no answer may need more than two interactions."""
    assert len(interactions) <= 2
    for interaction in interactions:
        interaction()


def link(page: Any, name: str) -> Callable[[], Any]:
    return lambda: page.locator("nav").get_by_role("link", name=name, exact=True).click()


def line(page: Any, id: str, *words: str) -> str:
    """What is read in the one visible row of a table that has these words."""
    found = page.locator(f'table[data-table="{id}"] tbody tr')
    for word in words:
        found = found.filter(has_text=word)
    assert found.count() == 1 and found.is_visible()
    return str(found.inner_text())


GUIDE = (Path(__file__).parents[2] / "docs/reading-a-report.md").read_text(encoding="utf-8")


def test_reader_finds_the_most_images_per_joule_and_its_cap_at_once(page: Any) -> None:
    after(page)
    said = line(page, "workloads", "resnet50-train")
    own, printed = re.findall(
        r"submitted: ([\d.]+) images/J at 700 W.*published: ≈ ([\d.]+) at 300 W on H100", GUIDE
    )[0]
    assert f"\n{own}\n" in said or f"\t{own}\n" in said
    assert f"≈\u202f{printed}" in said and "· 700 W" in said and "H100 · 300 W" in said


def test_reader_finds_how_much_slower_400_w_is_than_700_w(page: Any) -> None:
    baseline = page.get_by_label("baseline of ViT-L/16 training")
    after(
        page,
        link(page, "ViT-L/16 training"),
        lambda: baseline.select_option(label="Mayr et al. 2026 · H200 · 700 W"),
    )
    (slower,) = re.findall(r"throughput is ([\d.]+) % lower", GUIDE)
    assert f"\u2212{slower}\tno interval" in line(page, "vitl16-train-compare", "H200 · 400 W")


def test_reader_finds_which_rows_are_not_to_be_trusted_and_why(page: Any) -> None:
    id = "llama3-8b-pretrain-results"
    trust = page.get_by_label("status in LLaMA 3 8B pre-training: results")
    after(
        page,
        link(page, "LLaMA 3 8B pre-training"),
        lambda: trust.select_option(label="excluded"),
    )
    left = page.locator(f'table[data-table="{id}"] tbody tr')
    doubted = [row for row in rows(page, id) if row["doubt"] or row["implausible"]]
    assert left.count() == len(doubted) == 10 == left.locator(".reason:visible").count()
    assert line(page, "workloads", "llama3-8b-pretrain").endswith("\t10"), "counted in the overview"
    assert f"{id}.status=excluded" in page.url


def test_reader_finds_what_changes_with_node_overhead(page: Any) -> None:
    id = "resnet50-train-results"
    switch = page.locator(f"#{id}-efficiency").get_by_label("add 100 W per node")
    after(page, link(page, "ResNet-50 training"), switch.check)
    alone, with_node = re.findall(r"([\d.]+) to ([\d.]+) images/J on H100 at 300 W", GUIDE)[0]
    assert f"≈\u202f{alone}\t≈\u202f{with_node}" in line(page, id, "H100", "1\u202f312.8\t", alone)


def test_reader_finds_the_evidence_of_a_number(page: Any, whole_report: Path) -> None:
    evidence = page.locator('table[data-table="resnet50-train-results"] a[href^="#e"]').first
    after(page, link(page, "ResNet-50 training"), evidence.click)
    row = page.locator(f"#{page.url.rpartition('#')[2]}")
    sync_api.expect(row).to_be_in_viewport()
    assert "reference@wattmark" in row.inner_text() and "counter" in row.inner_text()
    bundle = whole_report / row.get_by_role("link", name="bundle").get_attribute("href")
    assert (bundle / "samples.csv.gz").is_file()
