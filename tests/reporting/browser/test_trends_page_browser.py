"""The page of trends in a browser: the choices of a reader give the figures of the rules, and
address, keyboard, phone, dark mode and paper work."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import open_page
from support.report.browser import read_address, wait_for_script
from support.report.drawing import open_drawing_here

from reporting.collect import Collected
from reporting.page import name_trends_page
from reporting.trends.page import build_trends_page, render_trends_page
from rules.boards import find_board
from rules.studies.metrics.naive import estimate_by_board
from rules.studies.trends.estimators import HUMAN_POWER_W, TrendEstimate, compute_person_power_w
from rules.studies.trends.figures import TrendFigures, compute_trends
from rules.studies.trends.reader import read_trends_study
from rules.studies.trends.records import TrendsStudy
from rules.studies.trends.regressions import TrendLine

pytestmark = pytest.mark.xdist_group("study-page")

TRENDS = Path(__file__).parents[3] / "submissions/published/desislavov2023/trends.json"
V100_DATE = date(2018, 3, 27)


@pytest.fixture(scope="module")
def study() -> TrendsStudy:
    return read_trends_study(TRENDS)


@pytest.fixture(scope="module")
def figures(study: TrendsStudy) -> TrendFigures:
    return compute_trends(study)


@pytest.fixture(scope="module")
def trends_file(study: TrendsStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    main_page = tmp_path_factory.mktemp("trends") / "report.html"
    page = build_trends_page(Collected([], [], [], [], [], trends=study), main_page)
    assert page is not None
    path = name_trends_page(main_page)
    with open_drawing_here() as drawing:
        drawing.start(page.drawn_tables)
        html = render_trends_page(page, main_page, datetime.now(UTC), drawing)
    path.write_text(html, encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Any, trends_file: Path) -> Iterator[Any]:
    with open_page(browser, trends_file) as page:
        yield page


def choose(page: Any, **choices: str | bool) -> dict[str, Any]:
    """Set fields of the panel. Returns the summary of the page."""
    for name, value in choices.items():
        field = page.locator(f'[name="{name}"]')
        if isinstance(value, bool):
            field.set_checked(value)
        elif field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    summary: dict[str, Any] = page.evaluate("window.wattmark.summary")
    return summary


def get_line(figures: TrendFigures, id: str) -> TrendLine:
    line = figures.find_line(id)
    assert line is not None
    return line


def test_estimators_give_the_figures_of_the_rules(page: Any, figures: TrendFigures) -> None:
    last = figures.cv_best[-1]
    line = get_line(figures, "cv-best-joules")
    summary = choose(page)
    assert summary["joules"] == pytest.approx(line.compute_value(last.released), rel=1e-4)
    assert summary["humanYear"] == pytest.approx(line.find_year(HUMAN_POWER_W), rel=1e-6)
    assert "takes 96.9 W" in summary["text"] and "meets it in 2024.0" in summary["text"]
    summary = choose(page, rate="0.5")
    watts = compute_person_power_w(line.compute_value(last.released), 0.5)
    assert summary["watts"] == pytest.approx(watts, rel=1e-4)
    summary = choose(page, date=V100_DATE.isoformat())
    estimate = TrendEstimate(get_line(figures, "cv-efficiency"), V100_DATE)
    assert summary["efficiency"] == pytest.approx(estimate.gflops_per_w)
    assert "Efficiency at 2018-03-27: 65.51 GFLOP/s per W" in summary["text"]
    resnet = page.evaluate("""() => {
      const { selection, joulesOf } = window.wattmark;
      return joulesOf(selection.models.find((model) => model.name === "ResNet-50"));
    }""")
    assert resnet == pytest.approx(estimate.compute_joules(7.6))
    summary = choose(page, domain="NLP", date="", rate="1")
    assert summary["joules"] == pytest.approx(
        get_line(figures, "nlp-records-joules").compute_value(figures.nlp_records[-1].released),
        rel=1e-3,
    )
    board = find_board("H200")
    assert board is not None
    naive = estimate_by_board(board, "bf16")
    assert naive is not None
    summary = choose(page, estimator="H200, bf16 peak")
    gflops = get_line(figures, "nlp-records-gflops").compute_value(figures.nlp_records[-1].released)
    assert summary["joules"] == pytest.approx(naive.compute_joules(gflops * 1e9), rel=1e-3)
    assert page.locator('[name="date"]').is_disabled()
    assert "700 W" in page.locator("[data-estimator]").inner_text()


def draw_plot(page: Any, id: str) -> Any:
    figure = page.locator(f"figure#{id}")
    figure.scroll_into_view_if_needed()
    page.wait_for_function("figure => figure.dataset.drawn === 'yes'", arg=figure.element_handle())
    return figure


def test_names_of_the_two_fits_are_above_the_upper_and_below_the_lower_one(page: Any) -> None:
    figure = page.locator("#trends-efficiency")
    figure.scroll_into_view_if_needed()
    tops = {
        kind: figure.locator("text.label", has_text=f"fit for {kind} models").bounding_box()["y"]
        for kind in ("vision", "language")
    }
    path = figure.locator("path.line.published").get_attribute("d")
    ends = [float(line.rpartition(",")[2]) for line in path.split("M")[1:]]
    top = figure.locator("svg.drawn").bounding_box()["y"]
    assert len(ends) == 2
    assert tops["language"] - top < min(ends) < max(ends) < tops["vision"] - top


def test_doubtful_rows_are_hollow_and_inferred_rows_are_off_at_first(page: Any) -> None:
    figure = draw_plot(page, "trends-flops")
    models = page.evaluate("window.wattmark.selection.models")
    assert "inferred" not in {model["status"] for model in models} and len(models) == 89
    hollow = figure.locator("path.mark.hollow").first.get_attribute("d")
    doubtful = sum(model["status"] == "doubtful" for model in models)
    assert hollow.count("M") == doubtful > 0
    choose(page, inferred=True)
    assert len(page.evaluate("window.wattmark.selection.models")) == 91
    figure = draw_plot(page, "trends-flops")
    assert figure.locator("path.mark.hollow").first.get_attribute("d").count("M") == doubtful + 2
    assert "inferred=1" in read_address(page)
    page.reload()
    wait_for_script(page)
    assert page.locator('[name="inferred"]').is_checked()


def test_page_works_by_keyboard_on_a_phone_in_the_dark_and_on_paper(page: Any) -> None:
    draw_plot(page, "trends-efficiency").locator(".cursor").focus()
    page.keyboard.press("Home")
    assert "GeForce GTX 580" in page.locator(".tip").text_content()
    assert "GFLOP/s per W" in page.locator(".tip").text_content()
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    years = draw_plot(page, "trends-efficiency").locator(".axes text").all_text_contents()
    assert "2015" in years
    title = page.locator("#trends-efficiency .title").inner_text()
    assert title.startswith("GFLOP/s per W grow 1.30 times a year for vision models, 1.33 times")
    page.locator("#trends-efficiency").get_by_role("button", name="Table", exact=True).click()
    assert page.locator("#trends-efficiency tbody tr").count() > 20
    page.locator("#trends-efficiency").get_by_role("button", name="Chart", exact=True).click()
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    for figure in page.locator("figure.chart:has(.drawn)").all():
        assert figure.locator("path.mark").count() > 0, figure.get_attribute("id")


def test_axes_have_the_models_whose_properties_are_known(page: Any, study: TrendsStudy) -> None:
    def read_axes(**choices: str) -> dict[str, Any]:
        choose(page, **choices)
        axes: dict[str, Any] = page.evaluate("window.wattmark.axes")
        return axes

    scored = [m for m in study.language_models if m.glue_score is not None]
    axes = read_axes(domain="NLP", y="score", x="params")
    assert axes == {"x": "params", "y": "score", "count": len(scored)} and len(scored) > 5
    figure = draw_plot(page, "trends-axes")
    assert figure.locator(".title").inner_text() == "GLUE score against parameters, millions"
    assert figure.locator("text.label", has_text="ELECTRA Large").count() == 1
    assert "y=" not in read_address(page) and "x=params" in read_address(page)
    everything = [m for m in study.vision_models if m.is_complete and m.status != "inferred"]
    assert read_axes(domain="CV", y="gflops", x="year")["count"] >= len(everything)


def test_lines_of_a_person_follow_the_rate(page: Any) -> None:
    def read_heights() -> list[float]:
        path = draw_plot(page, "trends-joules").locator("path.line.goal").get_attribute("d")
        return [float(part.split("L")[0].split(",")[1]) for part in path.split("M")[1:]]

    food, other = read_heights()
    assert other < food
    assert page.locator("#trends-joules text.label", has_text="food").count() == 1
    choose(page, rate="10")
    slower_food, slower_other = read_heights()
    assert slower_food > food - 40 and slower_other < slower_food
    # A tenth of the energy, on a logarithmic axis: the two lines stay as far apart.
    boards = draw_plot(page, "trends-peaks").locator("text.label").all_text_contents()
    assert {"H100", "MI300X"} <= set(boards)


def test_figure_is_printed_alone_as_vectors(page: Any) -> None:
    page.evaluate("() => { window.print = () => {}; }")
    draw_plot(page, "trends-efficiency")
    page.locator("#trends-efficiency").get_by_role("button", name="PDF").click()
    page.emulate_media(media="print")
    assert page.locator("main, header").filter(visible=True).count() == 0
    alone = page.locator("#figure-alone")
    assert alone.locator("path.mark").count() > 0
    assert alone.locator("h3").inner_text().startswith("GFLOP/s per W grow")
    assert "Higher is better." in alone.locator("figcaption").inner_text()
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) == 1
    assert alone.count() == 0, "removed after the dialogue"


def test_rows_of_a_figure_are_cards_on_a_phone(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    draw_plot(page, "trends-efficiency")
    page.locator("#trends-efficiency").get_by_role("button", name="Table", exact=True).click()
    table = page.locator("#trends-efficiency .scroll")
    assert table.evaluate("(scroll) => scroll.scrollWidth <= scroll.clientWidth")
    assert table.locator("td").first.get_attribute("data-label")


def test_axe_finds_nothing(page: Any) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is in the extra dev"
    )
    draw_plot(page, "trends-efficiency").locator(".cursor").focus()
    violations = axe.Axe().run(page).response["violations"]
    assert [v["id"] for v in violations] == []


def test_without_scripts_the_tables_are_readable(browser: Any, trends_file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(trends_file.as_uri())
    assert page.locator("form:visible, [data-live]:visible").count() == 0
    assert page.locator("p.lead:visible", has_text="need JavaScript").count() == 1
    assert page.locator('table[data-table="trends-lines"] tbody tr:visible').count() == 10
    context.close()
