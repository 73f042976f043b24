"""A chart of a table, and its picture."""

from dataclasses import dataclass

from reporting.report_table import ReportTable
from rules.bundle_format.records import Json


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


@dataclass(frozen=True)
class DrawnChart:
    """A chart and its static picture: an SVG element in the text colour of its surroundings."""

    chart: Chart
    svg: str
