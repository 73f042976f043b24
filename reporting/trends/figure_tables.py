"""The rows that only figures for papers are drawn from: boards and models of the publication and
after it, with what the charts of the page show."""

from collections.abc import Iterator

from reporting.report_table import Column, ReportTable
from reporting.sections.cells import Cells
from rules.studies.trends.estimators import TrendEstimate
from rules.studies.trends.figures import DatedModel, Domain, TrendFigures
from rules.studies.trends.later import LAST_YEAR, list_later_boards, list_later_models
from rules.studies.trends.records import TrendsStudy, VisionModel

LATER = f"after {LAST_YEAR}"


def build_figure_tables(study: TrendsStudy, figures: TrendFigures) -> list[ReportTable]:
    """The tables of boards and of models."""
    tables = (
        _build_board_table(study, figures),
        _build_model_table("vision", "CV", figures),
        _build_model_table("language", "NLP", figures),
    )
    return [table for table in tables if table.rows]


def _build_board_table(study: TrendsStudy, figures: TrendFigures) -> ReportTable:
    columns = (
        Column("name", "board"),
        Column("table", "table"),
        Column("kind", "precision"),
        Column("date", "launched", form="date"),
        Column("gflops_per_w", "efficiency", "GFLOP/s per W", "number"),
    )
    rows: list[Cells] = [
        {
            "name": board.board,
            "table": board.table,
            "kind": _name_kind(board.adapted, board.precision),
            "date": board.launched.isoformat(),
            "gflops_per_w": board.gflops_per_w,
        }
        for board in study.boards
    ]
    for later in list_later_boards():
        place = {"name": later.board.id, "date": later.launch.released.isoformat()}
        kind = f"{later.precision.replace('fp', 'FP')}, {LATER}"
        rows.append({**place, "table": "J.8", "kind": kind, "gflops_per_w": later.gflops_per_w})
        if later.precision == "fp32":
            rows.append({**place, "table": "J.9", "kind": kind, "gflops_per_w": later.gflops_per_w})
    return ReportTable("trends-figure-boards", "Boards over time", columns, tuple(rows))


def _name_kind(adapted: str | None, precision: str) -> str:
    models = (adapted or "No").removeprefix("For ")
    return precision if models == "No" else f"{precision}, {models}"


def _build_model_table(name: str, domain: Domain, figures: TrendFigures) -> ReportTable:
    columns = (
        Column("name", "model"),
        Column("kind", "kind"),
        Column("date", "released", form="date"),
        Column("score", "top-1 accuracy, %" if domain == "CV" else "GLUE score", "", "number"),
        Column("params", "parameters, millions", "", "number"),
        Column("gflops", "GFLOP per inference", "", "number"),
        Column("joules", "estimated J per inference", "", "number"),
    )
    models = figures.cv_models if domain == "CV" else figures.nlp_models
    best = {id(m) for m in (figures.cv_best if domain == "CV" else figures.nlp_records)}
    rows = [_make_cells(model, id(model) in best) for model in models]
    if domain == "CV":
        rows += list(_list_later(figures))
    title = f"{name.capitalize()} models over time"
    return ReportTable(f"trends-figure-{name}", title, columns, tuple(rows))


def _make_cells(dated: DatedModel, is_best: bool) -> Cells:
    model = dated.model
    is_vision = isinstance(model, VisionModel)
    return {
        "name": model.model,
        "kind": ("best of its year" if is_vision else "record") if is_best else "published",
        "date": dated.released.isoformat(),
        "score": model.accuracy_pct if isinstance(model, VisionModel) else model.glue_score,
        "params": model.params_m,
        "gflops": dated.gflops,
        "joules": dated.joules,
    }


def _list_later(figures: TrendFigures) -> Iterator[Cells]:
    if figures.cv_efficiency is None:
        return
    for later in list_later_models():
        gflops = later.model.flops / 1e9
        yield {
            "name": later.name,
            "kind": LATER,
            "date": later.released.isoformat(),
            "score": later.accuracy_pct,
            "params": later.model.params / 1e6,
            "gflops": gflops,
            "joules": TrendEstimate(figures.cv_efficiency, later.released).compute_joules(gflops),
        }
