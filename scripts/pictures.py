"""Takes the pictures of the report in docs/ anew.

    python scripts/pictures.py

The page is of submissions/ and of the simulated sweeps of `make simulated-sweep`, which have to be
there. Needs a Chromium, by default Debian's; another one is named with the environment variable
CHROMIUM.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, FloatRect, sync_playwright

ROOT = Path(__file__).parent.parent
SIMULATED = ROOT / "build/simulated/submissions"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
WORKLOAD, DEMO = "resnet50-train", "resnet50-train-demo"
DRAWN_MS = 2000
"""A chart is drawn when it comes into view."""


@dataclass(frozen=True)
class Picture:
    """What a picture shows: a section of the page in a window of a size in CSS pixels, each of
    `scale` pixels."""

    name: str
    width: int
    height: int
    section: str = WORKLOAD
    colours: Literal["light", "dark"] = "light"
    medium: Literal["screen", "print"] = "screen"
    scale: float = 1


PICTURES = (
    Picture("report", 1440, 1500),
    Picture("report-dark", 1440, 1200, colours="dark"),
    Picture("report-phone", 390, 1500, scale=1.5),
    Picture("report-print", 1000, 1190, medium="print"),
    Picture("report-sweeps", 1440, 1350, section=DEMO),
)


def main() -> None:
    """Make the page and take each picture of it."""
    if not SIMULATED.is_dir():
        raise SystemExit(
            f"{SIMULATED}: there are no simulated sweeps; run `make simulated-sweep` first"
        )
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        page = Path(scratch) / "report.html"
        subprocess.run(
            [Path(sys.executable).parent / "bench-report", "submissions", SIMULATED, "--out", page],
            cwd=ROOT,
            check=True,
        )
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        for picture in PICTURES:
            take(browser, page, picture)


def take(browser: Browser, page: Path, picture: Picture) -> None:
    """Take one picture of the page into docs/."""
    window = browser.new_page(
        viewport={"width": picture.width, "height": picture.height},
        device_scale_factor=picture.scale,
        color_scheme=picture.colours,
    )
    window.goto(page.as_uri())
    window.emulate_media(media=picture.medium, color_scheme=picture.colours)
    section = window.locator(f"#{picture.section}")
    section.evaluate(
        "section => { for (const d of document.querySelectorAll('details')) d.open ||= "
        "d.contains(section); }"
    )
    for _ in range(3):  # what is drawn above moves it
        section.evaluate("section => section.scrollIntoView({ behavior: 'instant' })")
        window.wait_for_timeout(DRAWN_MS)
    to = ROOT / "docs" / f"{picture.name}.png"
    if picture.medium == "print":  # where a section begins a page
        top = section.evaluate("section => section.getBoundingClientRect().top + scrollY")
        clip: FloatRect = {"x": 0, "y": top, "width": picture.width, "height": picture.height}
        window.screenshot(path=to, full_page=True, clip=clip)
    else:
        window.screenshot(path=to)
    window.close()


if __name__ == "__main__":
    main()
