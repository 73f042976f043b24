"""The tables of the page of trends."""

from collections.abc import Mapping, Sequence

from reporting.report_table import Column, ReportTable
from reporting.sections.cells import BundleLink, Cells
from reporting.trends.later import build_later_board_table, build_later_model_table
from reporting.trends.own import OwnBoard, OwnModel
from reporting.trends.printed import (
    build_alexnet_table,
    build_edge_table,
    build_speedup_means,
    build_speedup_table,
)
from rules.studies.metrics.fits import Coefficient
from rules.studies.trends.checks import recompute_checks
from rules.studies.trends.estimators import TrendEstimate
from rules.studies.trends.figures import TrendFigures
from rules.studies.trends.records import LanguageModel, TrendsStudy, VisionModel

_ID = "trends"


def build_tables(
    study: TrendsStudy,
    figures: TrendFigures,
    boards: Sequence[OwnBoard],
    models: Sequence[OwnModel],
    link: BundleLink,
) -> Mapping[str, ReportTable]:
    """The tables by their name in the template. Those without rows are left out."""
    tables = {
        "lines": _build_line_table(figures),
        "own_boards": _build_own_board_table(figures, boards, link),
        "own_models": _build_own_model_table(figures, models),
        "models": _build_model_table(study, figures),
        "boards": _build_board_table(study),
        "checks": _build_check_table(study, figures),
        "later_boards": build_later_board_table(figures),
        "later_models": build_later_model_table(figures),
        "alexnet": build_alexnet_table(study),
        "speedups": build_speedup_table(study),
        "speedup_means": build_speedup_means(study),
        "edge": build_edge_table(study),
    }
    return {name: table for name, table in tables.items() if table.rows}


def _build_line_table(figures: TrendFigures) -> ReportTable:
    columns = (
        Column("name", "regression"),
        Column("unit", "unit"),
        Column("n", "n", form="count"),
        Column("intercept", "intercept", form="number", interval=True, about="at 2010-01-01"),
        Column("intercept_error", "standard error", form="number", digits=3),
        Column("slope", "slope", "1/year", form="number", interval=True),
        Column("slope_error", "standard error", "1/year", form="number", digits=3),
        Column("factor", "factor per year", form="number", interval=True),
        Column("r2", "R²", form="number", digits=3),
        Column("is_trend", "slope differs from 0", about="its 95 % interval leaves out 0"),
    )
    rows: list[Cells] = []
    for line in figures.lines:
        low, high = line.yearly_factor_ci95
        rows.append(
            {
                "name": line.name,
                "unit": line.unit,
                "n": line.n,
                **_make_coefficient_cells("intercept", line.intercept),
                **_make_coefficient_cells("slope", line.slope),
                "factor": line.yearly_factor,
                "factor_low": low,
                "factor_high": high,
                "r2": line.r2,
                "is_trend": line.is_trend,
            }
        )
    about = (
        "log10(quantity) = intercept + slope \u00d7 years since 2010-01-01, by least squares. "
        "Intervals: 95 %, by Student's t. Rows are taken as independent. Doubtful rows are in the "
        "fits, as in the publication; inferred rows are not."
    )
    return ReportTable(f"{_ID}-lines", "Regressions", columns, tuple(rows), about)


def _make_coefficient_cells(key: str, coefficient: Coefficient) -> Cells:
    low, high = coefficient.ci95
    return {
        key: coefficient.value,
        f"{key}_low": low,
        f"{key}_high": high,
        f"{key}_error": coefficient.standard_error,
    }


def _build_own_board_table(
    figures: TrendFigures, boards: Sequence[OwnBoard], link: BundleLink
) -> ReportTable:
    columns = (
        Column("line", "run"),
        Column("gflops_per_w", "sustained efficiency", "GFLOP/s per W", "number", interval=True),
        Column("trend", "trend at the launch", "GFLOP/s per W", "number", 3),
        Column("ratio", "measured over trend", form="number", digits=3),
        Column("launched", "board launched", form="date", about="when the maker announced it"),
        Column("measured", "measured", form="date"),
        Column("source", "bundle", form="evidence"),
        Column("url", "address of the bundle", hidden=True),
    )
    rows: list[Cells] = []
    for board in boards:
        line = figures.get_efficiency(board.domain)
        trend = line.compute_value(board.launch.released) if line and board.launch else None
        low, high = board.gflops_per_w.ci95 or (None, None)
        assert board.row.provenance is not None
        run = board.row.provenance.run
        rows.append(
            {
                "line": board.line,
                "gflops_per_w": board.gflops_per_w.mean,
                "gflops_per_w_low": low,
                "gflops_per_w_high": high,
                "gflops_per_w_n": board.gflops_per_w.n,
                "trend": trend,
                "ratio": board.gflops_per_w.mean / trend if trend else None,
                "launched": board.launch.released.isoformat() if board.launch else None,
                "measured": board.measured.isoformat(),
                "source": run.run_id,
                "url": link(run.path),
            }
        )
    about = (
        "FLOPs of the workload over measured energy, while batches are active. The trend is that "
        "of thermal design power and of rates in vision or language models. Boards whose launch is "
        "not known here have no place in it."
    )
    title = "Measured boards"
    return ReportTable(f"{_ID}-own-boards", title, columns, tuple(rows), about)


def _build_own_model_table(figures: TrendFigures, models: Sequence[OwnModel]) -> ReportTable:
    columns = (
        Column("model", "model"),
        Column("released", "released", form="date"),
        Column("item", "inference"),
        Column("gflops", "FLOPs", "GFLOP", "number"),
        Column("joules", "measured energy", "J", "number"),
        Column(
            "trend_joules", "trend estimate", "J", "number", about="at the release of the model"
        ),
        Column("board", "board"),
        Column("source", "source of the date", form="evidence"),
        Column("bundle_name", "bundle"),
        Column("url", "address of the source", hidden=True),
    )
    rows: list[Cells] = []
    for model in models:
        line = figures.get_efficiency(model.domain)
        estimate = TrendEstimate(line, model.release.released) if line else None
        rows.append(
            {
                "model": model.release.name,
                "released": model.release.released.isoformat(),
                "item": model.item,
                "gflops": model.gflops,
                "joules": model.joules,
                "trend_joules": estimate.compute_joules(model.gflops) if estimate else None,
                "board": model.board,
                "source": model.release.url.removeprefix("https://"),
                "bundle_name": model.source,
                "url": model.release.url,
            }
        )
    about = (
        "Image models: at the batch size of least energy. Served models: per output token, with "
        "the share of the prompt."
    )
    return ReportTable(f"{_ID}-own-models", "Measured models", columns, tuple(rows), about)


def _build_model_table(study: TrendsStudy, figures: TrendFigures) -> ReportTable:
    columns = (
        Column("model", "model"),
        Column("domain", "domain"),
        Column("released", "released", form="date"),
        Column("gflops", "FLOPs", "GFLOP", "number"),
        Column("joules", "trend estimate", "J", "number", about="at the release of the model"),
        Column("params_m", "parameters", "millions", "number"),
        Column("accuracy_pct", "top-1 accuracy", "%", "number"),
        Column("glue_score", "GLUE score", form="number"),
        Column("tokens", "input", "tokens", "count"),
        Column("best", "best of its year, or record"),
        Column("status", "transcription"),
        Column("note", "note"),
    )
    dated = {id(m.model): m for m in (*figures.cv_models, *figures.nlp_models)}
    best = {id(m.model) for m in (*figures.cv_best, *figures.nlp_records)}
    rows: list[Cells] = []
    for model in study.models:
        is_vision = isinstance(model, VisionModel)
        dated_model = dated.get(id(model))
        rows.append(
            {
                "model": model.model,
                "domain": "vision" if is_vision else "language",
                "released": model.released.isoformat() if model.released else None,
                "gflops": model.gflops,
                "joules": dated_model.joules if dated_model else None,
                "params_m": model.params_m,
                "accuracy_pct": model.accuracy_pct if isinstance(model, VisionModel) else None,
                "glue_score": model.glue_score if isinstance(model, LanguageModel) else None,
                "tokens": model.input_tokens if isinstance(model, LanguageModel) else None,
                "best": True if id(model) in best else None,
                "status": model.status,
                "note": model.note,
            }
        )
    return ReportTable(f"{_ID}-models", "Published models", columns, tuple(rows))


def _build_board_table(study: TrendsStudy) -> ReportTable:
    columns = (
        Column("board", "board"),
        Column("table", "table"),
        Column("adapted", "adapted", about="for which models a measured speed-up is in the rate"),
        Column("precision", "precision"),
        Column("launched", "launched", form="date"),
        Column("tflops", "rate", "TFLOP/s", "number"),
        Column("tdp_w", "thermal design power", "W", "count"),
        Column("gflops_per_w", "efficiency", "GFLOP/s per W", "number", about="as printed"),
        Column("status", "transcription"),
        Column("note", "note"),
    )
    rows = tuple({**vars(board), "launched": board.launched.isoformat()} for board in study.boards)
    rows = tuple({k: row[k] for k in (c.key for c in columns)} for row in rows)
    return ReportTable(f"{_ID}-boards", "Published boards", columns, rows)


def _build_check_table(study: TrendsStudy, figures: TrendFigures) -> ReportTable:
    columns = (
        Column("model", "model"),
        Column("board", "board"),
        Column("table", "table"),
        Column("measured", "measured", "J/image", "number", about="published"),
        Column("measured_fp16", "measured in FP16", "J/image", "number", about="published"),
        Column("printed_estimate", "printed estimate", "J/image", "number"),
        Column("trend_joules", "trend estimate", "J/image", "number", about="at the launch"),
        Column("ratio", "measured over trend", form="number", digits=3),
        Column("note", "note"),
    )
    rows = [
        {**vars(check), "ratio": check.measured_over_trend}
        for check in recompute_checks(study, figures.cv_efficiency)
    ]
    title = "Published measurements and estimates"
    return ReportTable(f"{_ID}-checks", title, columns, tuple(rows))
