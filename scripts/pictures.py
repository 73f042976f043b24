"""Take the pictures of the report in docs/.

    python scripts/pictures.py

The page shows submissions/ and the simulated sweeps, so run `make simulated-sweep` first. The
script needs Chromium, by default /usr/bin/chromium. The environment variable CHROMIUM names another
one.
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
"""The time to wait for the charts in view, which are drawn when they come into view."""


@dataclass(frozen=True)
class Picture:
    """A picture of a section of the page. Width and height of the window are in CSS pixels. Each of
    them has `scale` pixels of the picture."""

    name: str
    width: int
    height: int
    section: str = WORKLOAD
    colours: Literal["light", "dark"] = "light"
    medium: Literal["screen", "print"] = "screen"
    scale: float = 1


PICTURES = (
    Picture("report", 1440, 1500, section="answer"),
    Picture("report-dark", 1440, 1200, colours="dark"),
    Picture("report-phone", 390, 1500, section="answer", scale=1.5),
    Picture("report-print", 1000, 1190, medium="print"),
    Picture("report-sweeps", 1440, 1350, section=DEMO),
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
            take_picture(browser, page, picture)


def take_picture(browser: Browser, page: Path, picture: Picture) -> None:
    """Take one picture of the page into docs/."""
    window = browser.new_page(
        viewport={"width": picture.width, "height": picture.height},
        device_scale_factor=picture.scale,
        color_scheme=picture.colours,
    )
    window.goto(page.as_uri())
    window.wait_for_function("() => window.wattmark")
    window.emulate_media(media=picture.medium, color_scheme=picture.colours)
    section = window.locator(f"#{picture.section}")
    section.evaluate(
        "section => { for (const d of document.querySelectorAll('details')) d.open ||= "
        "d.contains(section); }"
    )
    for _ in range(3):  # charts that are drawn above the section move it
        section.evaluate("section => section.scrollIntoView({ behavior: 'instant' })")
        window.wait_for_timeout(DRAWN_MS)
    path = ROOT / "docs" / f"{picture.name}.png"
    if picture.medium == "print":  # a section begins a new page
        top = section.evaluate("section => section.getBoundingClientRect().top + scrollY")
        clip: FloatRect = {"x": 0, "y": top, "width": picture.width, "height": picture.height}
        window.screenshot(path=path, full_page=True, clip=clip)
    else:
        window.screenshot(path=path)
    window.close()


if __name__ == "__main__":
    main()
