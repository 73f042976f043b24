"""Take the pictures of the report in docs/.

    python scripts/pictures.py

The pictures show a report on submissions/. That of sweeps shows one with the simulated sweeps too,
so run `make simulated-sweep` first. The script needs pdftoppm and Chromium, by default
/usr/bin/chromium. The environment variable CHROMIUM names another one.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent
SIMULATED = ROOT / "build/simulated/submissions"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WORKLOAD, DEMO = "resnet50-train", "resnet50-train-demo"
DRAWN_MS = 2000
"""The time to wait for the charts in view, which are drawn when they come into view."""


@dataclass(frozen=True)
class Picture:
    """A picture of a section of the page. Width and height of the window are in CSS pixels. Each of
    them has `scale` pixels of the picture."""

    name: str
    width: int
    height: int
    section: str | None = WORKLOAD
    """None for the top of the page."""
    colours: Literal["light", "dark"] = "light"
    scale: float = 1
    printed_page: int | None = None
    """The page on paper, from 1; None for a picture of the screen."""
    has_simulated: bool = False
    """Whether the report has the simulated sweeps too."""


PICTURES = (
    Picture("report", 1440, 1090, section=None),
    Picture("report-dark", 1440, 1200, colours="dark"),
    Picture("report-phone", 390, 1500, section=None, scale=1.5),
    Picture("report-print", 1440, 900, printed_page=2),
    Picture("report-sweeps", 1440, 1350, section=DEMO, has_simulated=True),
)


def main() -> None:
    """Make the page and take each picture of it."""
    if not SIMULATED.is_dir():
        raise SystemExit(
            f"{SIMULATED}: no simulated sweeps found; run `make simulated-sweep` first"
        )
    # Paper shows the addresses of bundles. In build/, they are relative to the repository.
    with (
        tempfile.TemporaryDirectory(dir=ROOT / "build") as scratch,
        sync_playwright() as playwright,
    ):
        committed, with_simulated = (
            Path(scratch) / f"{name}.html" for name in ("committed", "all")
        )
        make_report(committed, "submissions")
        make_report(with_simulated, "submissions", SIMULATED)
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        for picture in PICTURES:
            take_picture(browser, with_simulated if picture.has_simulated else committed, picture)


def make_report(page: Path, *paths: str | Path) -> None:
    """Make a report on these paths."""
    bench_report = Path(sys.executable).parent / "bench-report"
    subprocess.run([bench_report, *paths, "--out", page], cwd=ROOT, check=True)


def take_picture(browser: Browser, page: Path, picture: Picture) -> None:
    """Take one picture of the page into docs/."""
    window = browser.new_page(
        viewport={"width": picture.width, "height": picture.height},
        device_scale_factor=picture.scale,
        color_scheme=picture.colours,
    )
    window.goto(page.as_uri())
    window.wait_for_function("() => window.wattmark")
    window.wait_for_timeout(DRAWN_MS)
    if picture.section is not None:
        show_section(window, picture.section)
    path = ROOT / "docs" / f"{picture.name}.png"
    if picture.printed_page is None:
        window.screenshot(path=path)
    else:
        paper = page.with_suffix(".pdf")
        window.pdf(path=paper, prefer_css_page_size=True)
        pages = ["-f", str(picture.printed_page), "-singlefile"]
        subprocess.run(
            ["pdftoppm", "-png", "-r", "120", *pages, paper, path.with_suffix("")], check=True
        )
    window.close()


def show_section(window: Page, id: str) -> None:
    """Scroll to a section, with the folds around it open."""
    section = window.locator(f"#{id}")
    section.evaluate(
        "section => { for (const d of document.querySelectorAll('details')) d.open ||= "
        "d.contains(section); }"
    )
    for _ in range(3):  # charts that are drawn above the section move it
        section.evaluate(  # the heading of a fold is that of its section
            "section => (section.matches('details') ? section.parentElement : section)"
            ".scrollIntoView({ behavior: 'instant' })"
        )
        window.wait_for_timeout(DRAWN_MS)


if __name__ == "__main__":
    main()
