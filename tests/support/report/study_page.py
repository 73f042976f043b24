"""The page of studies as the tests in a browser build it, read it and use it."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.report.drawing import open_drawing_here

from checker.verdict import TrustLevel
from reporting.collect import Collected
from reporting.page import name_study_page
from reporting.studies.page import build_study_page, render_study_page
from reporting.study_record import NOT_COMPARED, BundleOrigin, StudyRecord, record_published_study
from rules.studies.figures import keep_sound
from rules.studies.metrics.fronts import find_front
from rules.studies.published import PublishedStudy, read_published_study
from rules.studies.results import ModelResult, Setup
from rules.testing.study_results import make_measured_results

PUBLISHED = Path(__file__).parents[3] / "submissions/published/yang2025.json"
MEASURED = Setup("2026-11-h200", "measured", "NVIDIA H200", "cudagraph", "bf16", 700.0)
SIMULATED = replace(MEASURED, source="2026-11-demo", provenance="simulated")
IMAGE_SETS = ("imagenet", "imagenet-real")


def read_published_models() -> PublishedStudy:
    """A quarter of the published models, those with doubtful energy among them."""
    study = read_published_study(PUBLISHED)
    doubtful = {name_model(r) for r in study.results if r.doubts and not keep_sound([r])}
    names = sorted({name_model(result) for result in study.results})
    kept = {*names[::4], *doubtful}
    return replace(study, results=tuple(r for r in study.results if name_model(r) in kept))


def make_measured_models(published: PublishedStudy) -> tuple[ModelResult, ...]:
    """Made-up results of a study. One has the accuracy of a model of the front and more energy. Two
    are doubtful, with the largest and the least energy."""
    seeded = [replace(result, tag=None) for result in published.results[:60]]
    first = {(r.architecture, r.size): r for r in seeded}.values()
    results = tuple(make_measured_results(first, MEASURED))
    middle = find_front(results, IMAGE_SETS)[1]

    def change(architecture: str, factor: float, doubts: tuple[str, ...] = ()) -> ModelResult:
        joules = middle.best.joules_per_image * factor
        best = replace(middle.best, joules_per_image=joules, joules_ci95=None)
        return replace(middle, architecture=architecture, best=best, doubts=doubts)

    doubtful = change("doubted_high", 1e5, ("Y102",)), change("doubted_low", 1e-5, ("Y102",))
    return (*results, change("tie", 1.01), *doubtful)


def write_study_page(
    published: PublishedStudy, measured: tuple[ModelResult, ...], main_page: Path
) -> Path:
    """Write the page of the published results, of a made-up measured study, and of a demo."""
    origin = BundleOrigin(main_page.parent, "example@wattmark", TrustLevel.SUBMITTED, ())
    demo = tuple(replace(result, setup=SIMULATED) for result in measured)
    studies = [StudyRecord(results, origin) for results in (measured, demo)]
    collected = Collected([], [], [*studies, record_published_study(published)], [], [])
    page = build_study_page(collected, main_page)
    path = name_study_page(main_page)
    with open_drawing_here() as drawing:
        drawing.start(page.drawn_tables)
        html = render_study_page(page, main_page, datetime.now(UTC), drawing)
    path.write_text(html, encoding="utf-8")
    return path


def choose(page: Any, **choices: object) -> None:
    """Set fields of the panel: a list checks the boxes of these values only."""
    page.evaluate(
        """(choices) => {
          for (const [name, value] of Object.entries(choices)) {
            const fields = [...document.querySelectorAll(`[name="${name}"]`)];
            for (const field of fields) {
              if (Array.isArray(value)) field.checked = value.includes(Number(field.value));
              else if (field.type === "checkbox") field.checked = value;
              else field.value = value;
            }
            fields[0].dispatchEvent(new Event("input", { bubbles: true }));
          }
        }""",
        choices,
    )


def read_selection(page: Any) -> dict[str, Any]:
    """The ranked rows, the doubtful rows and the fronts that the page shows."""
    selection: dict[str, Any] = page.evaluate("""() => {
      const { shown, doubted, fronts } = window.wattmark.selection;
      const copy = (rows) => rows.map((
        { name, size, joules, score, rank, doubts, quotes, ladder }
      ) => (
        { name, size, joules, score, rank, doubts, quotes, batches: ladder.length }
      ));
      return { shown: copy(shown), doubted: copy(doubted), fronts: fronts.map(copy) };
    }""")
    return selection


def read_description(page: Any) -> dict[str, Any]:
    """What the page states of its results: setups, image sets and classes."""
    description: dict[str, Any] = page.evaluate(
        "JSON.parse(document.getElementById('about').textContent).study"
    )
    return description


def find_setup(page: Any, board: str, engine: str) -> int:
    """The number of a setup on the page that is no demo."""
    setups = read_description(page)["setups"]
    (number,) = [
        n
        for n, s in enumerate(setups)
        if board in s["label"] and s["engine"] == engine and s["provenance"] not in NOT_COMPARED
    ]
    return int(number)


def round_as_page(result: ModelResult) -> ModelResult:
    """The result with its energy as the page holds it."""
    joules = float(f"{result.best.joules_per_image:.4g}")
    return replace(result, best=replace(result.best, joules_per_image=joules))


def name_model(result: ModelResult) -> tuple[str, int]:
    """The name and the input size of the model of a result."""
    return ".".join(filter(None, (result.architecture, result.tag))), result.size
