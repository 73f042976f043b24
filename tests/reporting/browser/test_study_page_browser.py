"""The page of studies in a browser: the choices of a reader give the figures that the rules
compute, and keyboard, address, phone and downloads work as on the main page."""

import csv
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import open_page
from support.report.browser import (
    download,
    draw_figure,
    open_address,
    read_address,
    wait_for_script,
)
from support.report.study_page import (
    IMAGE_SETS,
    MEASURED,
    choose,
    find_setup,
    make_measured_models,
    name_model,
    read_description,
    read_published_models,
    read_selection,
    round_as_page,
    write_study_page,
)

from reporting.charts.encoding import BLUE, BROWN, GREEN, name_family
from reporting.studies.findings import GOAL_PCT, describe_cheapest
from reporting.studies.labels import identify_setup
from rules.studies.figures import keep_sound
from rules.studies.metrics.comparisons import compare_setups, group_by_setup
from rules.studies.metrics.fronts import compute_centres, find_front, find_yearly_fronts
from rules.studies.metrics.scores import find_energy_range, rank_by_score
from rules.studies.published import PublishedStudy
from rules.studies.results import ModelResult

pytestmark = pytest.mark.xdist_group("study-page")  # one test process builds it, once

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def published() -> PublishedStudy:
    return read_published_models()


@pytest.fixture(scope="module")
def measured(published: PublishedStudy) -> tuple[ModelResult, ...]:
    return make_measured_models(published)


@pytest.fixture(scope="module")
def study_page(
    published: PublishedStudy,
    measured: tuple[ModelResult, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    return write_study_page(published, measured, tmp_path_factory.mktemp("study") / "report.html")


@pytest.fixture
def page(browser: Any, study_page: Path) -> Iterator[Any]:
    """The page of studies, open."""
    with open_page(browser, study_page) as page:
        yield page


@pytest.mark.parametrize(("board", "engine"), [("A100", "eager"), ("H200", "cudagraph")])
def test_fronts_scores_and_centres_are_those_of_the_rules(
    page: Any,
    published: PublishedStudy,
    measured: tuple[ModelResult, ...],
    board: str,
    engine: str,
) -> None:
    results = [
        round_as_page(result)
        for setup, members in group_by_setup([*measured, *published.results]).items()
        for result in keep_sound(members)
        if board in setup.board and setup.engine == engine
    ]
    energies = find_energy_range(results)
    description = read_description(page)
    choose(
        page,
        setup=[find_setup(page, board, engine)],
        set=[description["image_sets"].index(n) for n in IMAGE_SETS],
        minacc="80",
        maxmj="1000",
        weight="0.7",
    )
    candidates = rank_by_score(results, 0.7, energies, "equal", IMAGE_SETS)
    accuracy = {
        name_model(s.result): sum(s.result.accuracy_pct[n] for n in IMAGE_SETS) / 2
        for s in candidates
    }
    for scaling in ("printed", "log", "equal"):
        choose(page, scaling=scaling)
        ranked = [
            score
            for score in rank_by_score(results, 0.7, energies, scaling, IMAGE_SETS)  # type: ignore[arg-type]
            if accuracy[name_model(score.result)] >= 80 and score.result.best.joules_per_image <= 1
        ]
        shown = read_selection(page)["shown"]
        assert len(shown) == len(ranked) < len(results)
        assert [row["score"] for row in shown] == pytest.approx([s.score for s in ranked])
        assert {(r["name"], r["size"]) for r in shown} == {name_model(s.result) for s in ranked}
    chosen = [score.result for score in ranked]
    (front,) = read_selection(page)["fronts"]
    expected = find_front(chosen, IMAGE_SETS)
    assert [(row["name"], row["size"]) for row in front] == [name_model(r) for r in expected]
    assert len(expected) > 4
    centres = page.evaluate("window.wattmark.centres()")
    for centre in compute_centres(chosen, IMAGE_SETS):
        (shown_centre,) = [
            c for c in centres if description["classes"][c["class"]] == centre.model_class
        ]
        assert shown_centre["joules"] == pytest.approx(centre.joules_per_image.value)
        assert shown_centre["accuracy"] == pytest.approx(centre.accuracy_pct)


def test_doubtful_results_are_crossed_out_until_the_reader_ranks_them(page: Any) -> None:
    choose(page, setup=[find_setup(page, "H100", "eager")])
    selection = read_selection(page)
    doubted = {(row["name"], row["size"]) for row in selection["doubted"]}
    assert ("eva_large_patch14_196.in22k_ft_in22k_in1k", 196) in doubted
    assert len(doubted) == 14
    assert all(len(row["quotes"]) > 1 for row in selection["doubted"])
    assert doubted.isdisjoint((r["name"], r["size"]) for r in selection["fronts"][0])
    assert all(row["rank"] is None and row["doubts"] for row in selection["doubted"])
    figure = draw_figure(page, "study-scatter")
    assert figure.locator("path.mark.doubt").count() == 1
    assert figure.locator("path.mark.hollow.published").count() >= 1
    sound = len(selection["shown"])
    choose(page, doubtful=True)
    selection = read_selection(page)
    assert selection["doubted"] == []
    assert len(selection["shown"]) == sound + len(doubted)
    assert not doubted.isdisjoint((r["name"], r["size"]) for r in selection["fronts"][0])
    assert draw_figure(page, "study-scatter").locator("path.mark.doubt").count() == 1


def test_results_have_the_encoding_of_the_report_and_simulated_ones_a_watermark(page: Any) -> None:
    boxes = page.locator('input[name="setup"]').count()
    choose(page, setup=list(range(boxes)))
    setups = read_description(page)["setups"]
    assert [s["provenance"] for s in setups] == ["measured", *["published"] * 4, "simulated"]
    looks = {(name_family(s["board"]), s["engine"]): (s["colour"], s["shape"]) for s in setups}
    assert looks == {
        ("H200", "cudagraph"): (GREEN, "circle"),
        ("A100", "eager"): (BROWN, "square"),
        ("A100", "tensorrt"): (BROWN, "diamond"),
        ("H100", "eager"): (BLUE, "square"),
        ("H100", "tensorrt"): (BLUE, "diamond"),
    }
    figure = draw_figure(page, "study-scatter")
    legend = figure.locator("[data-legend]").inner_text()
    assert all(s["label"] in legend for s in setups)
    assert figure.locator("svg.drawn path.mark.measured:not(.hollow)").count() >= 1
    assert figure.locator("path.mark.simulated.hollow").count() >= 1
    assert figure.locator("path.mark.simulated:not(.hollow)").count() == 0
    assert figure.locator("path.line.front.published").count() == 2, "one path for each hue"
    assert figure.locator(".watermark").text_content() == "simulated"
    choose(page, setup=[0, 1])
    assert draw_figure(page, "study-scatter").locator(".watermark").count() == 0


def test_choices_come_back_from_the_address(page: Any, browser: Any) -> None:
    choose(
        page, setup=[1, 3], set=[0, 1], weight="0.8", minacc="75", find="res", model="resnet50@224"
    )
    choose(page, sizeof="flops", **{"class": [0, 2]})
    shown = read_selection(page)["shown"]
    assert f"setups={identify_setup(MEASURED)}" not in read_address(
        page
    ) and "weight=0.8" in read_address(page)
    other = browser.new_page()
    open_address(other, read_address(page))
    other.reload()
    wait_for_script(other)
    assert [r["name"] for r in read_selection(other)["shown"]] == [r["name"] for r in shown]
    assert other.locator('[name="sizeof"]').input_value() == "flops"
    assert other.locator('[name="model"]').input_value() == "resnet50@224"
    other.close()


def test_model_that_no_reader_chose_is_the_first_of_the_choices(page: Any) -> None:
    text = page.locator("[data-model]")
    first = text.inner_text()
    choose(page, find="res")
    best = read_selection(page)["shown"][0]
    assert text.inner_text().startswith(f"{best['name']}@{best['size']} on ")
    assert text.inner_text() != first


def test_downloads_hold_the_chosen_rows_and_everything(page: Any) -> None:
    choose(page, setup=[find_setup(page, "H100", "eager")], find="eva", minacc="88")
    selection = read_selection(page)
    saved = download(page, page.get_by_role("button", name="Shown rows as CSV"))
    with Path(saved.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(selection["shown"]) + len(selection["doubted"]) > 0
    assert rows[0]["model"] == selection["shown"][0]["name"]
    assert float(rows[0]["energy_mj"]) == pytest.approx(
        1e3 * selection["shown"][0]["joules"], rel=1e-3
    )
    saved = download(page, page.get_by_role("button", name="All tables as JSON", exact=True))
    everything = json.loads(Path(saved.path()).read_text(encoding="utf-8"))
    tables = {table["id"]: table for table in everything["tables"]}
    assert "activations_low" in tables["image-inference-fits"]["keys"]
    assert {"image-inference-pairs", "image-inference-front", "image-inference-decades"} <= {
        *tables
    }
    assert len(everything["study"]["results"]) == 6


def test_the_first_screen_answers_with_the_sentence_of_the_program(
    page: Any, measured: tuple[ModelResult, ...]
) -> None:
    answers = page.locator("[data-answers]")
    scatter = draw_figure(page, "study-scatter")
    for size in ({"width": 1440, "height": 900}, {"width": 390, "height": 844}):
        page.set_viewport_size(size)
        page.evaluate("scrollTo(0, 0)")
        box = page.locator('[name="goal"]').bounding_box()
        assert box["y"] + box["height"] < size["height"]
    results = [round_as_page(result) for result in measured]
    for goal in (GOAL_PCT, 80.5, 90):
        if goal != GOAL_PCT:
            choose(page, goal=str(goal))
        assert answers.inner_text() == describe_cheapest(MEASURED, results, goal)
        assert scatter.locator("path.mark.goal").count() == (goal < 90)
    page.locator('[data-goal="75"]').click()
    assert answers.inner_text() == describe_cheapest(MEASURED, results, 75)
    assert "goal=75" in read_address(page)
    title = scatter.locator(".title")
    assert title.inner_text().startswith("Ten times the least energy buys ")
    choose(page, minacc="70")
    assert title.inner_text() == "Accuracy against energy", "a finding is of all models"


def test_labels_of_classes_and_models_do_not_overlap(page: Any) -> None:
    for setups in ([0], [find_setup(page, "H100", "tensorrt")]):
        choose(page, setup=setups)
        # The numbers of the lines of equal score are below the names.
        boxes = draw_figure(page, "study-scatter").evaluate(
            """figure => [...figure.querySelectorAll("text.label")]
              .filter((label) => !/^[0-9]+$/.test(label.textContent))
              .map((label) => [label.textContent, label.getBoundingClientRect().toJSON()])"""
        )
        centres = page.evaluate("window.wattmark.centres()")
        names = {text for text, _ in boxes}
        assert len({"CNN", "transformer", "hybrid", "MLP"} & names) == len(centres) > 1
        assert len(boxes) > len(centres) + 2, "models of the front are named"
        for n, (text, box) in enumerate(boxes):
            for other_text, other in boxes[:n]:
                gap_x = max(box["left"], other["left"]) - min(box["right"], other["right"])
                # The box of a text has room above and below its letters.
                gap_y = max(box["top"], other["top"]) - min(box["bottom"], other["bottom"]) + 3
                assert gap_x >= 0 or gap_y >= 0, (text, other_text)
        crossed = page.locator("#study-scatter").evaluate(
            """figure => {
              const names = [...figure.querySelectorAll("text.label")]
                .filter((label) => !/^[0-9]+$/.test(label.textContent));
              const isInside = (place, { x, y, width, height }) =>
                place.x > x + 1 && place.x < x + width - 1
                && place.y > y + 3 && place.y < y + height - 3;
              return [...figure.querySelectorAll("path.leader")].flatMap((leader) => {
                const steps = [...Array(40).keys()].map((n) => (n + 0.5) / 40);
                const length = leader.getTotalLength();
                const places = steps.map((share) => leader.getPointAtLength(length * share));
                return names.filter((name) => places.some((p) => isInside(p, name.getBBox())))
                  .map((name) => name.textContent);
              });
            }"""
        )
        assert crossed == [], "no line to a label goes through another label"


def save_as(page: Any, figure: Any, name: str) -> bytes:
    saved = download(page, figure.get_by_role("button", name=f" as {name}"))
    return Path(saved.path()).read_bytes()


def test_a_figure_is_a_table_and_downloads_as_svg_png_and_csv(page: Any) -> None:
    choose(page, find="res")
    selection = read_selection(page)
    rows = len(selection["shown"]) + len(selection["doubted"])
    figure = draw_figure(page, "study-scatter")
    picture = ElementTree.fromstring(save_as(page, figure, "SVG"))
    marks = [p for p in picture.iter(f"{SVG}path") if p.get("fill") == "rgb(0, 147, 107)"]
    assert sum(p.get("d", "").count("M") for p in marks) == len(selection["shown"])
    assert not [node for node in picture.iter() if node.get("class") and node.tag != f"{SVG}svg"]
    png = save_as(page, figure, "PNG")
    assert png.startswith(b"\x89PNG") and len(png) > 10_000
    table = list(csv.DictReader(save_as(page, figure, "CSV").decode().splitlines()))
    assert len(table) == rows and {"model", "energy_mj", "activations"} <= {*table[0]}
    figure.get_by_role("button", name="Table", exact=True).click()
    assert figure.locator("tbody tr").count() == min(rows, 200)
    assert figure.locator(".plot").is_hidden()
    choose(page, find="resnet50")
    assert figure.locator("tbody tr").count() < rows, "the table follows the choices"
    figure.get_by_role("button", name="Chart", exact=True).click()
    assert figure.locator(".plot").is_visible()


def test_on_a_phone_tooltips_are_inside_and_targets_are_large(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    cursor = draw_figure(page, "study-scatter").locator(".cursor")
    cursor.focus()
    for key in ("Home", "End"):
        page.keyboard.press(key)
        box = page.locator(".tip").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        assert box["y"] >= 0 and box["y"] + box["height"] <= 844
    is_wide = "scroll => scroll.scrollWidth > scroll.clientWidth"
    assert not page.locator(".scroll:has(table[data-list])").evaluate(is_wide)
    page.locator("summary", has_text="Image sets").click()
    small = page.evaluate("""() => [...document.querySelectorAll(
      "button, select, input, summary, nav a")]
      .map((node) => node.closest("label") ?? node)
      .filter((node) => node.checkVisibility() && node.getBoundingClientRect().height < 23.9)
      .map((node) => node.outerHTML.slice(0, 80))""")
    assert small == []


def test_points_answer_the_keyboard(page: Any) -> None:
    figure = draw_figure(page, "study-scatter")
    cursor = figure.locator(".cursor")
    cursor.focus()
    tip = page.locator(".tip")
    first = tip.text_content()
    for word in ("model", "input", "accuracy", "mJ/image", "images/s", " ms", "batch"):
        assert word in first
    page.keyboard.press("ArrowRight")
    assert tip.text_content() != first
    assert "mJ/image" in cursor.get_attribute("aria-label")
    page.keyboard.press("Home")
    assert tip.text_content() == first
    page.keyboard.press("Enter")
    assert "model=" in read_address(page)
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_a_bar_shows_its_point_and_opens_its_model(page: Any) -> None:
    cursor = draw_figure(page, "study-scatter").locator(".cursor")
    bar = page.locator("[data-ranking] button").nth(2)
    assert cursor.get_attribute("d") == ""
    bar.focus()
    assert cursor.get_attribute("d") != ""
    cursor.focus()
    page.keyboard.press("Home")
    for _ in range(len(read_selection(page)["shown"])):
        if page.locator("[data-ranking] [aria-current]").count():
            break
        page.keyboard.press("ArrowRight")
    current = page.locator("[data-ranking] [aria-current] .name").inner_text().partition(". ")[2]
    assert current in cursor.get_attribute("aria-label").replace("; input ", "@")
    bar.focus()
    page.keyboard.press("Enter")
    third = read_selection(page)["shown"][2]
    assert page.locator('[name="model"]').input_value() == f"{third['name']}@{third['size']}"
    choose(page, top="20")
    assert page.locator("[data-ranking] button").count() == 20


def test_one_model_is_shown_at_all_batch_sizes_with_the_cap(page: Any) -> None:
    row = next(r for r in read_selection(page)["shown"] if r["batches"] > 8)
    choose(page, model=f"{row['name']}@{row['size']}")
    for id in ("study-batch", "study-cap", "study-latency"):
        figure = draw_figure(page, id)
        assert figure.locator("path.mark.s0.measured").count() == 1
        marks = figure.locator("path.mark.s0.measured").get_attribute("d")
        assert marks.count("M") == row["batches"]
    assert page.locator("#study-cap path.line.contour").count() == 1
    assert "700 W" in page.locator("#study-cap svg").text_content()
    hyperbola = page.evaluate("window.wattmark.capCurve(700, 1000)")
    assert all(p["x"] * p["y"] == pytest.approx(700e3) for p in hyperbola)


def test_all_plots_are_drawn_where_the_reader_scrolls(page: Any) -> None:
    choose(page, setup=[0, 1])
    for figure in page.locator("figure.chart:has(.plot)[id^=study-]").all():
        id = figure.get_attribute("id")
        assert draw_figure(page, id).locator("path.mark").count() > 0, id


def test_page_is_no_wider_than_the_screen(page: Any) -> None:
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_page_without_a_chosen_setup_or_image_set_is_empty(page: Any) -> None:
    choose(page, setup=[])
    assert page.locator("[data-count]").inner_text() == "0 results ranked."
    choose(page, setup=[0], set=[])
    assert page.locator("[data-count]").inner_text() == "0 results ranked."
    assert page.locator("[data-ranking] button").count() == 0


def test_axe_finds_nothing(page: Any) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is in the extra dev"
    )
    draw_figure(page, "study-batch")
    draw_figure(page, "study-scatter").locator(".cursor").focus()
    violations = axe.Axe().run(page).response["violations"]
    assert {v["id"]: [n["target"] for n in v["nodes"]][:3] for v in violations} == {}


def test_without_scripts_front_and_tables_are_readable(browser: Any, study_page: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(study_page.as_uri())
    assert page.locator("form:visible, button:visible, input:visible, select:visible").count() == 0
    assert page.locator("[data-live]:visible").count() == 0
    # The fronts, and throughput, power and energy at each batch size.
    assert page.locator("figure.chart svg:visible").count() == 1 + 3
    assert page.locator("p.lead:visible", has_text="need JavaScript").count() == 1
    page.locator("#image-inference-front > summary").click()
    assert page.locator('table[data-table="image-inference-front"] tbody tr:visible').count() > 50
    assert page.locator('table[data-table="image-inference-pairs"] tbody tr').count() == 10
    context.close()


def test_ratio_and_fronts_by_year_are_those_of_the_rules(
    page: Any, published: PublishedStudy
) -> None:
    description = read_description(page)
    groups = {
        (setup.board, setup.engine): [round_as_page(r) for r in keep_sound(members)]
        for setup, members in group_by_setup(published.results).items()
    }
    eager, tensorrt = (find_setup(page, "H100", engine) for engine in ("eager", "tensorrt"))
    ids = [setup["id"] for setup in description["setups"]]
    choose(page, over=ids[eager], under=ids[tensorrt], setup=[eager])
    over, under = (
        next(results for key, results in groups.items() if "H100" in key[0] and key[1] == engine)
        for engine in ("eager", "tensorrt")
    )
    comparison = compare_setups(over, under)
    assert comparison is not None
    ratio = page.evaluate("window.wattmark.ratio")
    assert ratio["count"] == comparison.energy_ratio.n > 100
    assert ratio["factor"] == pytest.approx(comparison.energy_ratio.value)
    assert f"over={ids[eager]}" in read_address(page)
    draw_figure(page, "study-years")
    shown = page.evaluate("""() => window.wattmark.yearlyFronts.map(({ year, front }) => (
      [year, front.map(({ name, size }) => [name, size])]
    ))""")
    fronts = find_yearly_fronts(over)
    assert [year for year, _ in shown] == list(fronts)
    for (_, front), expected in zip(shown, fronts.values(), strict=True):
        assert [tuple(model) for model in front] == [name_model(r) for r in expected]
    # The line of the cap ends where its power is that of the cap.
    figure = draw_figure(page, "study-power")
    assert figure.locator("text.label", has_text="310 W").count() == 1


def test_batch_sizes_of_a_model_have_throughput_and_power(page: Any) -> None:
    setup = find_setup(page, "H200", "cudagraph")
    choose(page, setup=[setup])
    ladder = max(read_selection(page)["shown"], key=lambda row: row["batches"])
    assert ladder["batches"] > 3
    page.locator("[name=model]").fill(f"{ladder['name']}@{ladder['size']}")
    for id in ("study-batch-rate", "study-batch-power"):
        figure = draw_figure(page, id)
        marks = figure.locator("path.mark").evaluate_all(
            "marks => marks.map((mark) => mark.getAttribute('d').split('M').length - 1)"
        )
        assert sum(marks) >= ladder["batches"], id
