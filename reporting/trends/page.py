"""The page of trends: efficiency of boards, and FLOPs and energy of models, over time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reporting.charts.drawing import Drawing
from reporting.charts.encoding import Look, find_look, name_family
from reporting.collect import Collected
from reporting.html.document import (
    PLOT_PARTS,
    embed_json,
    make_environment,
    make_policy,
    read_page_script,
)
from reporting.html.tables import TableMarkup
from reporting.page import make_linker, name_study_page
from reporting.page_data import compress_tables
from reporting.paper import cite, keep_web_address
from reporting.report_table import ReportTable
from reporting.sections.cells import pluralize
from reporting.trends.figure_tables import build_figure_tables
from reporting.trends.own import OwnBoard, OwnModel, list_own_boards, list_own_models
from reporting.trends.tables import build_tables
from rules import VERSION
from rules.boards import BOARDS
from rules.bundle_format.records import Json
from rules.studies.metrics.naive import estimate_by_board
from rules.studies.trends.estimators import HUMAN_EXTERNAL_POWER_W, HUMAN_POWER_W
from rules.studies.trends.figures import TrendFigures, compute_trends
from rules.studies.trends.later import list_later_boards, list_later_models
from rules.studies.trends.records import TrendsStudy, VisionModel
from rules.studies.trends.regressions import START, count_years

FORMAT = "wattmark-trends-report/1"
"""The format of trends.json."""
_DIGITS = 6
"""Significant digits of the points of the plots."""


@dataclass(frozen=True)
class TrendsPage:
    """The content of the page."""

    study: TrendsStudy
    figures: TrendFigures
    boards: Sequence[OwnBoard]
    models: Sequence[OwnModel]
    tables: Mapping[str, ReportTable]
    has_studies: bool
    """Whether a page of studies lies beside the page."""
    local_label: str
    """See `Collected.local_label`."""

    @property
    def drawn_tables(self) -> list[ReportTable]:
        """The tables whose charts the page shows without JavaScript too."""
        names = ("checks", "speedups", "edge")
        return [self.tables[name] for name in names if name in self.tables]

    def build_figure_tables(self) -> Sequence[ReportTable]:
        """The tables that only figures for papers are drawn from."""
        return build_figure_tables(self.study, self.figures)

    def describe(self) -> str:
        """Such as `10 regressions, 21 measured runs`."""
        lines = pluralize(len(self.figures.lines), "regression")
        return f"{lines}, {pluralize(len(self.boards), 'measured run')}"


def build_trends_page(collected: Collected, main_page: Path) -> TrendsPage | None:
    """Build the tables of the page beside `main_page`; None without a study of trends."""
    study = collected.trends
    if study is None:
        return None
    figures = compute_trends(study)
    boards = list_own_boards(collected.rows)
    models = list_own_models(collected.rows, collected.studies)
    tables = build_tables(study, figures, boards, models, make_linker(main_page))
    return TrendsPage(
        study, figures, boards, models, tables, collected.has_study_results, collected.local_label
    )


def describe_trends(page: TrendsPage, now: datetime) -> Json:
    """trends.json without its tables: regressions, estimators and the points of the plots."""
    figures = page.figures
    return {
        "format": FORMAT,
        "made_at": now.isoformat(timespec="seconds"),
        "rules_version": VERSION,
        **({"trust_level": page.local_label} if page.local_label else {}),
        "source": {"citation": cite(page.study.authors, page.study.year), "url": page.study.url},
        "time": f"years since {START.isoformat()}, of 365.25 days",
        "regressions": [line.describe() for line in figures.lines],
        "correlations": [
            {"name": f"parameters and GFLOPs, {name}", "n": c.n, "pearson": c.pearson.value}
            for name, c in figures.params_correlations
        ],
        "front": [[m.model, m.gflops, m.accuracy_pct] for m in figures.front],
        "human_power_w": HUMAN_POWER_W,
        "human_external_power_w": _round(HUMAN_EXTERNAL_POWER_W),
        "estimators": list(_list_estimators()),
        "boards": list(_describe_published_boards(page)),
        "models": list(_describe_models(page)),
        "peaks": list(_describe_peaks(page)),
        "later_boards": list(_describe_later_boards()),
        "later_models": list(_describe_later_models()),
        "own_boards": [
            {
                "name": board.line,
                "date": board.launch.released.isoformat(),
                "year": _to_year(board.launch.released),
                "measured": board.measured.isoformat(),
                "domain": board.domain,
                "gflops_per_w": _round(board.gflops_per_w.mean),
                "board": board.row.model,
                **_describe_look(_find_run_look(board)),
            }
            for board in page.boards
            if board.launch is not None
        ],
        "own_models": [
            {
                "name": model.release.name,
                "domain": model.domain,
                "date": model.release.released.isoformat(),
                "year": _to_year(model.release.released),
                "item": model.item,
                "gflops": _round(model.gflops),
                "joules": _round(model.joules),
                "board": model.board,
                **_describe_look(Look(name_family(model.board), "", "measured")),
            }
            for model in page.models
        ],
    }


def _find_run_look(board: OwnBoard) -> Look:
    row = board.row
    cells = {"model": row.model, "variant": row.variant, "precision": row.precision}
    return find_look({**cells, "provenance": "measured"})


def _describe_look(look: Look) -> Json:
    return {"shape": look.shape, "colour": look.colour}


def _list_estimators() -> Sequence[Json]:
    """The estimators of the panel: the trend, and each board at hand."""
    boards = []
    for board in BOARDS:
        for precision in ("bf16", "fp16"):
            if estimate := estimate_by_board(board, precision):
                joules_per_gflop = estimate.compute_joules(1e9)
                label = f"{board.id}, {precision} peak"
                about = estimate.describe()
                boards.append(
                    {"label": label, "about": about, "joules_per_gflop": joules_per_gflop}
                )
                break
    about = "FLOPs / efficiency of the trend of boards at a date"
    return [{"label": "trend at a date", "about": about, "joules_per_gflop": None}, *boards]


def _describe_published_boards(page: TrendsPage) -> Iterator[Json]:
    for board in page.study.boards:
        if board.table == "J.9":
            yield {
                "name": board.board,
                "precision": board.precision,
                "adapted": board.adapted,
                "date": board.launched.isoformat(),
                "year": _to_year(board.launched),
                "gflops_per_w": board.gflops_per_w,
                "status": board.status,
            }


def _describe_models(page: TrendsPage) -> Sequence[Json]:
    best = {id(m.model) for m in (*page.figures.cv_best, *page.figures.nlp_records)}
    models: list[dict[str, Any]] = []
    for model in page.study.models:
        if model.released is None or model.gflops is None:
            continue
        is_vision = isinstance(model, VisionModel)
        models.append(
            {
                "name": model.model,
                "domain": "CV" if is_vision else "NLP",
                "date": model.released.isoformat(),
                "year": _to_year(model.released),
                "gflops": model.gflops,
                "params": model.params_m,
                "score": (
                    model.accuracy_pct if isinstance(model, VisionModel) else model.glue_score
                ),
                "extra": isinstance(model, VisionModel) and model.extra_data != "No",
                "best": id(model) in best,
                "status": model.status,
            }
        )
    return models


def _describe_peaks(page: TrendsPage) -> Iterator[Json]:
    """The rows of Table J.8."""
    for board in page.study.boards:
        if board.table == "J.8":
            yield {
                "name": board.board,
                "precision": board.precision,
                "date": board.launched.isoformat(),
                "year": _to_year(board.launched),
                "gflops_per_w": board.gflops_per_w,
                "status": board.status,
            }


def _describe_later_boards() -> Iterator[Json]:
    for later in list_later_boards():
        look = Look(name_family(later.board.id), "", "published")
        yield {
            "name": later.board.id,
            "precision": later.precision,
            "date": later.launch.released.isoformat(),
            "year": _to_year(later.launch.released),
            "gflops_per_w": _round(later.gflops_per_w),
            "colour": look.colour,
        }


def _describe_later_models() -> Iterator[Json]:
    for later in list_later_models():
        yield {
            "name": later.name,
            "domain": "CV",
            "date": f"{later.released:%Y-%m}",
            "year": _to_year(later.released),
            "gflops": _round(later.model.flops / 1e9),
            "params": _round(later.model.params / 1e6),
            "score": later.accuracy_pct,
        }


def _to_year(when: date) -> float:
    """The calendar year with decimals, as the time axis of the publication counts."""
    return round(START.year + count_years(when), 4)


def _round(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def render_trends_page(page: TrendsPage, main_page: Path, now: datetime, drawing: Drawing) -> str:
    """Render the HTML of the page beside `main_page`, of which `drawing` has started the charts.

    Raises ChartError without the extra `report`.
    """
    script = read_page_script(*PLOT_PARTS, "trends/panels.js", "trends/axes.js")
    about = describe_trends(page, now)
    template = make_environment().get_template("trends/trends.html")
    return template.render(
        tables=page.tables,
        render_table=TableMarkup().render,
        table_data=compress_tables(list(page.tables.values())),
        about=embed_json(about),
        script=script,
        policy=make_policy([script]),
        estimators=about["estimators"],
        line_count=len(page.figures.lines),
        citation=cite(page.study.authors, page.study.year),
        title=page.study.title,
        url=keep_web_address(page.study.url),
        notes=page.study.notes,
        human_power_w=HUMAN_POWER_W,
        human_external_power_w=HUMAN_EXTERNAL_POWER_W,
        all_drawn=[c for cs in drawing.wait_for(page.drawn_tables).values() for c in cs],
        main_page=quote(main_page.name),
        study_page=quote(name_study_page(main_page).name) if page.has_studies else None,
        now=now,
        rules_version=VERSION,
        local_label=page.local_label,
    )
