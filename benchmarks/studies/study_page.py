"""How large the page of studies is for 1 266 models on five setups, and how fast it answers.

Makes five studies from the published figures of Yang et al., as if boards had measured all batch
sizes of each model, and writes their page. With playwright and a Chromium it also opens the page
with all setups chosen, moves the slider and types into the filter.

    python benchmarks/studies/study_page.py

docs/performance.md has what that gave.
"""

import argparse
import shutil
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from reporting.charts.drawing import open_drawing
from reporting.collect import Collected
from reporting.page import name_study_page
from reporting.studies.page import build_study_page, render_study_page
from reporting.study_record import PublicationOrigin, StudyRecord
from rules.studies.published import read_published_study
from rules.studies.results import Setup
from rules.testing.study_results import make_measured_results

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "submissions/published/yang2025.json"
ENGINES = (
    ("cudagraph", "bf16"),
    ("compile", "bf16"),
    ("eager", "fp32"),
    ("eager", "tf32"),
    ("tensorrt", "fp16"),
)
MAX_BYTES, MAX_PAINT_MS, MAX_ANSWER_MS = 2_500_000, 1500, 200


def main() -> None:
    """Print size, first paint, and the times of the slider and the filter."""
    parser = argparse.ArgumentParser(description="How large and how fast the page of studies is.")
    parser.add_argument("--models", type=int, default=1266)
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the page there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        main_page = (arguments.keep or Path(scratch)) / "report.html"
        begin = time.perf_counter()
        page = write_page(arguments.models, main_page)
        size = page.stat().st_size
        print(
            f"{arguments.models} models, {len(ENGINES)} setups: made in "
            f"{time.perf_counter() - begin:.1f} s, {size / 1e6:.2f} MB"
        )
        if size > MAX_BYTES:
            raise SystemExit(f"the page has more than {MAX_BYTES / 1e6} MB")
        browse(page, arguments.loads)


def write_page(model_count: int, main_page: Path) -> Path:
    """Write the page beside `main_page`, which need not exist."""
    published = read_published_study(PUBLISHED).results[:model_count]
    studies = [
        StudyRecord(
            tuple(
                make_measured_results(
                    published,
                    Setup(f"study-{n}", "measured", "NVIDIA H200", engine, precision, 700.0),
                    seed=n,
                )
            ),
            PublicationOrigin("made-up", "made up", "made up", 2025, None),
        )
        for n, (engine, precision) in enumerate(ENGINES)
    ]
    page = build_study_page(Collected([], [], studies, [], []), main_page)
    path = name_study_page(main_page)
    with open_drawing() as drawing:
        drawing.start(page.drawn_tables)
        html = render_study_page(page, main_page, datetime.now(UTC), drawing)
    path.write_text(html, encoding="utf-8")
    return path


def browse(page: Path, loads: int) -> None:
    """Print the first paint and the times of answers, of some loads."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("no browser figures: they need playwright and chromium")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"], timeout=0
        )
        for _ in range(loads):
            tab = browser.new_page()
            session = tab.context.new_cdp_session(tab)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            tab.goto(page.as_uri(), timeout=0)
            tab.wait_for_function("() => window.wattmark")
            print(
                f"first paint {wait_for_paint(tab):.0f} ms (limit {MAX_PAINT_MS}); "
                f"answers (limit {MAX_ANSWER_MS}): "
                + ", ".join(f"{name} {answer(tab, session, step)}" for name, *step in STEPS)
            )
            tab.close()
        browser.close()


STEPS = (
    ("all setups", "setup", True),
    ("slider", "weight", "0.7"),
    ("accuracy", "goal", "80"),
    ("filter", "find", "resnet"),
    ("least accuracy", "minacc", "80"),
    ("filter cleared", "find", ""),
)
"""Name of a step, name of its fields, and their new value."""


def answer(tab: Any, session: Any, step: list[Any]) -> str:
    """The time from a choice to its painted answer, and the CPU time of the page for it."""
    # A reader does not choose again before the last answer is there.
    time.sleep(0.3)
    begin_ms = read_cpu_ms(session)
    wall_ms = float(tab.evaluate(_ANSWER, step))
    return f"{wall_ms:.0f} ms (CPU {read_cpu_ms(session) - begin_ms:.0f} ms)"


def read_cpu_ms(session: Any) -> float:
    """The CPU time of the main thread of the page, in ms. Other programs do not change it."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(1e3 * metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def wait_for_paint(tab: Any) -> float:
    """The first contentful paint in ms."""
    # The page's policy forbids playwright's own waiting.
    while (paint_ms := tab.evaluate(_PAINT)) is None:
        time.sleep(0.05)
    return float(paint_ms)


_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_ANSWER = """async ([name, value]) => {
  const fields = [...document.querySelectorAll(`[name="${name}"]`)];
  for (const field of fields) {
    if (field.type === "checkbox") field.checked = value;
    else field.value = value;
  }
  const begin = performance.now();
  fields[0].dispatchEvent(new Event("input", { bubbles: true }));
  document.body.getBoundingClientRect();
  // Until the frame with the answer has been painted.
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - begin;
}"""


if __name__ == "__main__":
    main()
