"""docs/mayr-figures.ipynb draws figures 1 and 2 of Mayr et al. as they are in the paper: efficiency
over performance with the cap as parameter, and the SM clock over the cap."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
CELLS: list[dict[str, Any]] = json.loads(
    (ROOT / "docs/mayr-figures.ipynb").read_text(encoding="utf-8")
)["cells"]


def read_images() -> list[str]:
    """The stored charts, as SVG."""
    datas = [output.get("data", {}) for cell in CELLS for output in cell.get("outputs", ())]
    return ["".join(data["image/svg+xml"]) for data in datas if "image/svg+xml" in data]


def list_titles(svg: str, axis: str) -> set[str]:
    return set(re.findall(rf"{axis}-axis titled '([^']*)'", svg))


def test_figure_1_has_performance_and_efficiency_as_axes() -> None:
    figure_1, _ = read_images()
    assert list_titles(figure_1, "X") == {"performance, items/s per GPU"}
    assert list_titles(figure_1, "Y") == {"items/J, with 25 W for the node"}
    # The caps along the lines.
    for cap_w in (200, 300, 400, 500, 600, 700, 750):
        assert f">{cap_w}</text>" in figure_1


def test_figure_2_has_the_clock_over_the_cap() -> None:
    _, figure_2 = read_images()
    assert list_titles(figure_2, "X") == {"power cap, W"}
    assert list_titles(figure_2, "Y") == {"SM clock, MHz"}


def test_headings_say_what_is_drawn() -> None:
    text = "\n".join("".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "markdown")
    headings = re.findall(r"^## (Figure .*)$", text, re.M)
    assert headings == [
        "Figure 1: efficiency over performance",
        "Figure 2: SM clock over the power cap",
    ]


def test_page_of_the_paper_has_the_ratios_of_its_figures() -> None:
    page = (ROOT / "docs/mayr.md").read_text(encoding="utf-8")
    section = page[page.index("## The authors' code") : page.index("## What differs")]
    rows = re.findall(r"^\| (?:ResNet-50|ViT-L/16) \| H\d00 \| (.*) \|$", section, re.M)
    assert len(rows) == 2
    for row in rows:
        theirs, like, like_ratio, tuned, tuned_ratio = (
            float(cell.replace(" ", "")) for cell in row.split(" | ")
        )
        assert f"{like / theirs:.2f}" == f"{like_ratio:.2f}"
        assert f"{tuned / theirs:.2f}" == f"{tuned_ratio:.2f}"
    assert all(f"{watts} W" in section for watts in (570.9, 585.4))
    assert f"{100 * (1 - 570.9 / 585.4):.1f} % lower" in section
    assert f"{100 * (585.4 / 570.9 - 1):.1f} % too high" in section
