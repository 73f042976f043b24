"""Tables of the page of trends with boards and models after the publication."""

from reporting.report_table import Column, ReportTable
from rules.studies.trends.estimators import TrendEstimate
from rules.studies.trends.figures import TrendFigures
from rules.studies.trends.later import LAST_YEAR, list_later_boards, list_later_models


def build_later_board_table(figures: TrendFigures) -> ReportTable:
    """Boards by their data sheets."""
    columns = (
        Column("board", "board"),
        Column("precision", "precision"),
        Column("launched", "launched", form="date", about="when the maker announced it"),
        Column("tflops", "dense peak", "TFLOP/s", "number"),
        Column("power_w", "highest power", "W", "count"),
        Column("gflops_per_w", "efficiency", "GFLOP/s per W", "number"),
        Column("ratio", "over the trend for vision", form="number", digits=3),
        Column("source", "source of the rates", form="evidence"),
        Column("url", "address of the source", hidden=True),
        Column("launch_url", "source of the launch"),
    )
    line = figures.cv_efficiency
    rows = tuple(
        {
            "board": later.board.id,
            "precision": later.precision,
            "launched": later.launch.released.isoformat(),
            "tflops": later.tflops,
            "power_w": later.power_w,
            "gflops_per_w": later.gflops_per_w,
            "ratio": (
                later.gflops_per_w / line.compute_value(later.launch.released) if line else None
            ),
            "source": later.board.sources[0].title,
            "url": later.board.sources[0].url,
            "launch_url": later.launch.url,
        }
        for later in list_later_boards()
    )
    title = f"Boards after {LAST_YEAR}"
    about = "Dense peaks over highest power, by data sheets. No fit has these rows."
    return ReportTable("trends-later-boards", title, columns, rows, about)


def build_later_model_table(figures: TrendFigures) -> ReportTable:
    """Image models by timm's table."""
    columns = (
        Column("model", "model"),
        Column("released", "published", about="first version on arXiv"),
        Column("accuracy_pct", "top-1 accuracy", "%", "number", about="published by timm"),
        Column("gflops", "FLOPs", "GFLOP", "number"),
        Column("params_m", "parameters", "millions", "number"),
        Column("joules", "trend estimate", "J", "number", about="at the release of the model"),
        Column("source", "paper", form="evidence"),
        Column("url", "address of the paper", hidden=True),
    )
    line = figures.cv_efficiency
    rows = tuple(
        {
            "model": later.name,
            "released": f"{later.released:%Y-%m}",
            "accuracy_pct": later.accuracy_pct,
            "gflops": later.model.flops / 1e9,
            "params_m": later.model.params / 1e6,
            "joules": (
                TrendEstimate(line, later.released).compute_joules(later.model.flops / 1e9)
                if line
                else None
            ),
            "source": later.publication.number,
            "url": later.publication.url,
        }
        for later in list_later_models()
    )
    title = f"Image models after {LAST_YEAR}"
    about = "The most accurate model of each paper in timm's table. No fit has these rows."
    return ReportTable("trends-later-models", title, columns, rows, about)
