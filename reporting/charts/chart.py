"""A chart of a table, its picture, and the captions that charts share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reporting.report_table import ReportTable, Value
from rules.bundle_format.records import Json

HOLLOW = "Hollow, off the line: the cap is not known to have held."
WITHHELD = "Hollow, on a line: not compared."
CROSSED = "Crossed: above the peak of the board."
PUBLISHED = "Faint, dashed: published."


@dataclass(frozen=True)
class Chart:
    """A chart. `spec` is its Vega-Lite without the rows of the table and without the
    configuration that all charts share."""

    id: str
    title: str
    about: str
    """The caption."""
    alt: str
    table: ReportTable
    spec: Json
    neutral_title: str = ""
    """The title without a finding, where `title` states one."""
    better: Literal["higher", "lower", ""] = ""
    """Which values are better; empty if neither is."""
    source: str = ""
    """Where the values come from (`name_sources`)."""
    width_px: int = 640
    """Of the static picture. In the page, the width follows the container."""


@dataclass(frozen=True)
class DrawnChart:
    """A chart and its static picture: an SVG element in the text colour of its surroundings."""

    chart: Chart
    svg: str


def name_sources(rows: Iterable[Mapping[str, Value]]) -> str:
    """How many bundles the rows come from, and the publications among their sources, as in
    `12 bundles; Latif et al. 2024`."""
    rows = list(rows)
    # A measured node has the address of its bundle only.
    bundles = {
        path
        for row in rows
        if row.get("standing") != "published"
        for path in str(row.get("bundle") or row.get("url") or "").split()
    }
    publications = [
        # The line of a published row is its publication and the board.
        str(row.get("source") or row.get("system") or row.get("line")).partition(" · ")[0]
        for row in rows
        if row.get("standing") == "published"
    ]
    parts = [f"{len(bundles)} bundle{'s' if len(bundles) > 1 else ''}"] if bundles else []
    return "; ".join([*parts, *dict.fromkeys(publications)])


def explain_marks(rows: Sequence[Mapping[str, Value]]) -> str:
    """The meaning of those marks that occur in the rows."""
    notes = (
        (HOLLOW, any(row["doubt"] for row in rows)),
        (WITHHELD, any(row.get("withheld") for row in rows)),
        (CROSSED, any(row["implausible"] for row in rows)),
        (PUBLISHED, any(row["standing"] == "published" for row in rows)),
    )
    return " ".join(text for text, applies in notes if applies)


def count_points(rows: Sequence[Mapping[str, Value]]) -> str:
    lines = len({row["line"] for row in rows})
    return (
        f"{len(rows)} points on {lines} line{'s' if lines > 1 else ''}. The table has the same "
        "values."
    )
