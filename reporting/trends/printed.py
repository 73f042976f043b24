"""Tables of the page of trends that show what the publication prints, and what follows from it."""

from reporting.report_table import Column, ReportTable
from reporting.sections.cells import Cells
from rules.studies.trends.derived import ALEXNET, compute_mean_speedups, select_within_alexnet
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


def build_speedup_means(study: TrendsStudy) -> ReportTable:
    """Table F.4, the means of Table E.3."""
    columns = (
        Column("task", "task"),
        Column("board", "board"),
        Column("precision", "precision"),
        Column("n", "models", form="count"),
        Column("speedup", "mean speed-up", form="number", digits=3, about="arithmetic, over FP32"),
        Column("implied", "implied by Table J.9", form="number", digits=3),
    )
    rows = tuple(dict(vars(mean)) for mean in compute_mean_speedups(study))
    about = (
        "Table F.4 is an image in the text at hand. These are the means of Table E.3, beside the "
        "rate of Table J.9 over that of FP32 on the same kind of board, or on V100 for A100."
    )
    return ReportTable("trends-speedup-means", "Mean speed-ups", columns, rows, about)


def build_alexnet_table(study: TrendsStudy) -> ReportTable:
    """What Table 1 shows, by a rule of this project."""
    columns = (
        Column("model", "model"),
        Column("released", "released", form="date"),
        Column("accuracy_pct", "top-1 accuracy", "%", "number"),
        Column("gflops", "FLOPs", "GFLOP", "number"),
        Column("params_m", "parameters", "millions", "number"),
        Column("extra_data", "further training data"),
    )
    rows = tuple(
        {
            **{key: getattr(model, key) for key in ("model", "accuracy_pct", "gflops")},
            "params_m": model.params_m,
            "released": model.released.isoformat() if model.released else None,
            "extra_data": model.extra_data,
        }
        for model in select_within_alexnet(study.vision_models)
    )
    about = (
        f"As Table 1 of the publication: accuracy at about the FLOPs of {ALEXNET}. wattmark chose "
        f"the rows: models with at most the FLOPs of {ALEXNET} that were more accurate than all "
        "such models before."
    )
    title = f"Accuracy within the FLOPs of {ALEXNET}"
    return ReportTable("trends-alexnet", title, columns, rows, about)
