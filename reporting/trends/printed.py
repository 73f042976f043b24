"""Tables of the page of trends that show what the publication prints, and nothing computed."""

from reporting.report_table import Column, ReportTable
from reporting.sections.cells import Cells
from rules.studies.trends.records import TrendsStudy


def build_speedup_table(study: TrendsStudy) -> ReportTable:
    """Table E.3."""
    columns = (
        Column("task", "task"),
        Column("model", "model"),
        Column("framework", "framework"),
        Column("batch", "batch", form="count"),
        Column("board", "board"),
        Column("precision", "precision"),
        Column("throughput", "throughput", form="number", about="the publication has no unit"),
        Column("speedup", "speed-up", form="number", digits=3, about="as printed"),
        Column("reference", "reference"),
    )
    rows = tuple(dict(vars(speedup)) for speedup in study.speedups)
    return ReportTable("trends-speedups", "Published speed-ups", columns, rows)


def build_edge_table(study: TrendsStudy) -> ReportTable:
    """Tables L.12 and L.13, one row for each device of a table."""
    columns = (
        Column("subject", "device"),
        Column("table", "table"),
        Column("kind", "kind"),
        Column("year", "year"),
        Column(
            "theoretical_efficiency", "efficiency", "GOP/s per W", "number", about="theoretical"
        ),
        Column("throughput", "throughput", "images/s", "number"),
        Column("power", "power", "W", "number"),
        Column("energy_per_image", "energy", "J/image", "number", about="as printed"),
        Column("note", "note"),
    )
    rows: dict[tuple[str, str], Cells] = {}
    for figure in study.edge_devices:
        row = rows.setdefault(
            (figure.table, figure.subject),
            {
                "subject": figure.subject,
                "table": figure.table,
                "kind": figure.kind,
                "year": None if figure.year is None else str(figure.year),
                "note": None,
            },
        )
        row[figure.quantity] = figure.value
        notes = [text for text in (row["note"], figure.note) if text]
        row["note"] = "; ".join(map(str, notes)) or None
    return ReportTable("trends-edge", "Published small devices", columns, tuple(rows.values()))
