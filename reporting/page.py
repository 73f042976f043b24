"""The page: tables and charts as one self-contained HTML file, and the same tables as files."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cache
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from reporting.charts.chart import DrawnChart
from reporting.charts.drawing import Drawing
from reporting.collect import Collected
from reporting.fitting import MAX_PAGE_BYTES, describe_unshown, leave_out_runs
from reporting.html.document import (
    compress_text,
    embed_json,
    make_environment,
    make_policy,
    read_page_script,
    shorten_script,
)
from reporting.html.tables import TableMarkup, format_finding
from reporting.page_data import compress_tables
from reporting.page_figures import PageFigures
from reporting.page_model import PageModel, build_page_model
from reporting.paper import Paper
from reporting.quantities import NODE_SCOPE
from reporting.report_table import (
    ReportTable,
    escape_invisible,
    to_csv,
    to_markdown,
    to_record,
)
from reporting.results_model import ResultRow
from reporting.rounds.earlier import EarlierRound
from reporting.rounds.table import describe_changes
from reporting.sections.cells import BundleLink
from reporting.sections.planning import DEFAULTS
from reporting.sections.repeats import ReportSpread
from reporting.sentences.cost import COST_IN_BRIEF, COST_SENTENCE
from rules import VERSION
from rules.bundle_format.records import Json
from rules.metrics.figures import student_t95, student_t99
from rules.metrics.node.racks import TOLERANCE_W
from rules.metrics.uncertainty.between_runs import RunSpread
from rules.metrics.uncertainty.repeats import Component
from rules.settings import SHOWN_SETTINGS

FORMAT = "wattmark-report/1"
"""The format of report.json."""


def make_linker(output: Path) -> BundleLink:
    """Return a function that gives the address of a bundle relative to the page at `output`."""

    # A page of many runs names each bundle a dozen times.
    @cache
    def link(path: Path) -> str:
        # Relative links still work after the page and its bundles were moved together.
        return quote(Path(os.path.relpath(path, output.parent)).as_posix())

    return link


def name_study_page(main_page: Path) -> Path:
    """The file of the page of studies, beside the main page."""
    return main_page.with_name(f"{main_page.stem}-image-inference.html")


def name_trends_page(main_page: Path) -> Path:
    """The file of the page of trends, beside the main page."""
    return main_page.with_name(f"{main_page.stem}-trends.html")


def render_fitting_page(page: PageModel, output: Path, now: datetime, drawing: Drawing) -> str:
    """Render the HTML of the page as `render_page`, without some of its runs if it would be larger
    than `MAX_PAGE_BYTES`."""
    html = render_page(page, output, now, drawing)
    while (size := len(html.encode())) > MAX_PAGE_BYTES and len(page.runs) > 1:
        # The size follows the number of runs. A tenth less, so that one more time is enough.
        most = int(0.9 * len(page.runs) * MAX_PAGE_BYTES / size)
        page = build_page(leave_out_runs(page.collected, most), output, page.earlier)
        drawing.start(page.tables, page.sentences.chart_texts)
        html = render_page(page, output, now, drawing)
    return html


def render_page(page: PageModel, output: Path, now: datetime, drawing: Drawing) -> str:
    """Render the HTML of the page, of which `drawing` has started the charts. Links to bundles are
    relative to `output`.

    Raises ChartError without the extra `report`.
    """
    # Other processes draw meanwhile.
    markup = TableMarkup(page)
    table_html = {table.id: markup.render(table) for table in page.tables}
    node_cells = page.node_scope.cells if page.node_scope else None
    table_data = compress_tables(page.tables, node_cells)
    drawing_script, libraries = drawing.wait_for_scripts()
    # The drawing script waits for an event of the script of the page.
    scripts = (
        shorten_script(drawing_script),
        read_page_script("scope.js", "answers.js", "control.js", "panels.js"),
    )
    drawn_charts = drawing.wait_for(page.tables)
    template = make_environment().get_template("report.html")
    return template.render(
        page=page,
        table_html=table_html,
        render_compact=markup.render_compact,
        figures=PageFigures(drawn_charts),
        table_data=table_data,
        chart_specs=compress_text(json.dumps(_collect_specs(drawn_charts))),
        about=embed_json(describe_report(page, now)),
        scripts=[Markup(script) for script in scripts],
        libraries=compress_text(libraries),
        policy=make_policy((*scripts, libraries)),
        defaults=DEFAULTS,
        spreads=_describe_spreads(page, page.spread),
        now=now,
        rules_version=VERSION,
        unshown=describe_unshown(page.collected.unshown),
        passed_count=len(page.collected.list_passed_findings()),
        local_label=page.collected.local_label,
        setting_choices=_list_setting_choices(page.collected.all_rows),
        link=make_linker(output),
        study_page=quote(name_study_page(output).name)
        if page.collected.has_study_results
        else None,
        trends_page=quote(name_trends_page(output).name) if page.collected.trends else None,
        format_finding=format_finding,
        describe_changes=describe_changes,
    )


def _list_setting_choices(rows: Sequence[ResultRow]) -> tuple[tuple[str, str, str, str], ...]:
    """The fields of the control bar for `SHOWN_SETTINGS`: name, key, label and unit."""
    return tuple(
        (display.choice, setting.key, display.choice_head, setting.unit)
        for setting, display in SHOWN_SETTINGS
        if display.is_permanent or any(row.settings.get(setting.key) is not None for row in rows)
    )


def _collect_specs(drawn_charts: Mapping[str, Sequence[DrawnChart]]) -> dict[str, Json]:
    """The spec of each chart by its id."""
    return {
        drawn.chart.id: drawn.chart.spec for charts in drawn_charts.values() for drawn in charts
    }


def build_page(
    collected: Collected, output: Path, earlier: EarlierRound | None = None
) -> PageModel:
    """Build the tables of a page at `output`, with changes since an earlier round."""
    return build_page_model(collected, make_linker(output), earlier)


def write_tables(tables: Sequence[ReportTable], document: Json, path: Path) -> None:
    """Write every table as CSV and Markdown beside `path`, and `document` with all tables
    to `path` as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for table in tables:
        # `newline=""` keeps the CRLF that RFC 4180 asks for.
        for suffix, format_table in ((".csv", to_csv), (".md", to_markdown)):
            path.with_name(f"{table.id}{suffix}").write_text(
                format_table(table), encoding="utf-8", newline=""
            )
    document = {**document, "tables": [to_record(table) for table in tables]}
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def describe_report(page: PageModel, now: datetime) -> Json:
    """The head of report.json: format, time, rule book, assumptions and sources."""
    return {
        "format": FORMAT,
        "made_at": now.isoformat(timespec="seconds"),
        "rules_version": VERSION,
        **({"trust_level": page.collected.local_label} if page.collected.local_label else {}),
        **_describe_earlier_round(page),
        "assumptions": asdict(DEFAULTS),
        "cost_sentence": COST_SENTENCE,
        "cost_in_brief": COST_IN_BRIEF,
        **({"system_names_end_with": page.shared_words} if page.shared_words else {}),
        "spread": _describe_spreads(page, page.spread),
        **(
            {"node_spread": _describe_spreads(page, page.node_scope.spread)}
            if page.node_scope
            else {}
        ),
        "rack_tolerance_w": TOLERANCE_W,
        "node_scope": NODE_SCOPE,
        "sources": [_cite_paper(paper) for paper in page.collected.papers],
    }


def _describe_spreads(page: PageModel, spread: ReportSpread) -> Json:
    """The spread of repeats of each model of board that has runs: where it comes from, and by
    figure its standard deviations in percent with the quantiles of Student's t for them."""
    return {
        model: {
            "source": spread.find(model).describe(model),
            **{
                name: _describe_figure_spread(figure)
                for name, figure in spread.find(model).by_figure.items()
            },
        }
        for model in sorted({row.model for row in page.runs})
    }


def _describe_figure_spread(spread: RunSpread) -> Json:
    return {
        "boards": _describe_component(spread.boards),
        "runs": spread.runs and _describe_component(spread.runs),
        "runs_share": spread.runs_share,
    }


def _describe_component(component: Component) -> Json:
    degrees = component.degrees_of_freedom
    return {
        "sd_percent": component.percent,
        "degrees_of_freedom": degrees,
        "t95": student_t95(degrees),
        "t99": student_t99(degrees),
    }


def _describe_earlier_round(page: PageModel) -> Json:
    """What a page that was built with an earlier round says of it."""
    if page.earlier is None or page.changes is None:
        return {}
    earlier = page.earlier
    commit = {"commit": earlier.commit, "date": earlier.date} if earlier.commit else {}
    return {"since": {"name": earlier.label, **commit, "settings": page.changes.count()}}


def _cite_paper(paper: Paper) -> Json:
    authors, title = escape_invisible(paper.authors), escape_invisible(paper.title)
    citation = {"authors": authors, "year": paper.year, "title": title}
    return citation | ({} if paper.link is None else {"url": escape_invisible(paper.link)})
