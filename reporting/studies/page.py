"""The page of studies: the choices, plots and tables of all results as one HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reporting.charts.drawing import Drawing
from reporting.collect import Collected
from reporting.html.document import (
    PLOT_PARTS,
    embed_json,
    make_environment,
    make_policy,
    read_page_script,
)
from reporting.html.tables import TableMarkup
from reporting.page import make_linker, name_trends_page
from reporting.page_data import compress_tables
from reporting.report_table import ReportTable
from reporting.sections.cells import pluralize
from reporting.studies.dataset import build_dataset, group_by_setup, list_doubts
from reporting.studies.findings import (
    GOAL_PCT,
    describe_charts,
    describe_cheapest,
    describe_place,
)
from reporting.studies.labels import (
    CLASS_NAMES,
    find_setup_look,
    identify_setup,
    label_setup,
)
from reporting.studies.paper_tables import build_figure_tables
from reporting.studies.tables import build_setup_table, build_tables, may_be_compared
from reporting.study_record import NOT_COMPARED
from rules import VERSION
from rules.bundle_format.records import Json
from rules.studies.figures import compute_setup_figures, compute_setup_front
from rules.studies.metrics.comparisons import model_key
from rules.studies.metrics.naive import choose_estimates
from rules.studies.results import ModelResult, Setup

FORMAT = "wattmark-study-report/1"
"""The format of the JSON of the page."""


@dataclass(frozen=True)
class StudyPage:
    """The content of the page."""

    groups: Mapping[Setup, Sequence[ModelResult]]
    """All results by setup, doubtful ones too."""
    tables: Mapping[str, ReportTable]
    findings: Mapping[Setup, Mapping[str, str]]
    """The titles of charts that state what a setup shows, by the id of the chart."""
    has_trends: bool
    """Whether a page of trends lies beside the page."""
    local_label: str
    """See `Collected.local_label`."""

    def describe(self) -> str:
        """Such as `5 setups, 5680 results, 48 of them doubtful`."""
        count, doubtful = self.count_results()
        setups = pluralize(len(self.groups), "setup")
        return f"{setups}, {pluralize(count, 'result')}, {doubtful} of them doubtful"

    def count_results(self) -> tuple[int, int]:
        """The number of results, and of doubtful results."""
        results = [result for group in self.groups.values() for result in group]
        return len(results), sum(bool(list_doubts(result)) for result in results)

    def build_figure_tables(self) -> Sequence[ReportTable]:
        """The tables that only figures for papers are drawn from."""
        return build_figure_tables(self.groups)

    @property
    def drawn_tables(self) -> list[ReportTable]:
        """The tables that have a chart without JavaScript."""
        return [self.tables[name] for name in ("front", "ladder") if name in self.tables]

    @property
    def shown_at_first(self) -> list[int]:
        """The setups that are chosen at first: the first that is compared, if there is one."""
        setups = list(self.groups)
        first = next((s for s in setups if s.provenance not in NOT_COMPARED), setups[0])
        return [setups.index(first)]

    @property
    def ratio_setups(self) -> Mapping[str, int]:
        """The numbers of the setups whose energies the page compares model by model at first: the
        two on one board with most models in common, or the first two that may be compared. One
        number twice if there are none."""
        groups = list(self.groups.items())
        common = {
            (over, under): len({model_key(r) for r in results} & {model_key(r) for r in others})
            for (over, (setup, results)), (under, (other, others)) in combinations(
                enumerate(groups), 2
            )
            if setup.board == other.board and setup.provenance == other.provenance
        }
        compared = (
            (over, under)
            for (over, (setup, _)), (under, (other, _)) in combinations(enumerate(groups), 2)
            if may_be_compared(setup.provenance, other.provenance)
        )
        over, under = max(common, key=lambda pair: common[pair], default=next(compared, (0, 0)))
        return {"over": over, "under": under}


def build_study_page(collected: Collected, main_page: Path) -> StudyPage:
    """Build the tables of the page beside `main_page`. There is at least one result."""
    groups = group_by_setup(result for study in collected.studies for result in study.results)
    setup_table = build_setup_table(groups, collected.studies, make_linker(main_page))
    figures = [compute_setup_figures(results) for results in groups.values()]
    fronts = [compute_setup_front(results) for results in groups.values()]
    tables = {"setups": setup_table, **build_tables(groups, figures, fronts)}
    findings = {
        setup: describe_charts(setup_figures, front)
        for setup, setup_figures, front in zip(groups, figures, fronts, strict=True)
    }
    return StudyPage(groups, tables, findings, collected.trends is not None, collected.local_label)


def describe_studies(page: StudyPage, now: datetime) -> Json:
    """The JSON of the page without its tables: setups, models and results in columns."""
    return {
        "format": FORMAT,
        "made_at": now.isoformat(timespec="seconds"),
        "rules_version": VERSION,
        **({"trust_level": page.local_label} if page.local_label else {}),
        "study": {
            "setups": [_describe_setup(setup, page.findings[setup]) for setup in page.groups],
            **build_dataset(page.groups),
        },
    }


def _describe_setup(setup: Setup, findings: Mapping[str, str]) -> dict[str, Any]:
    look = find_setup_look(setup)
    # The last has the highest peak.
    estimates = choose_estimates(setup)
    return {
        "id": identify_setup(setup),
        "label": label_setup(setup),
        "place": describe_place(setup),
        **vars(setup),
        "shape": look.shape,
        "colour": look.colour,
        "findings": findings,
        "naive": estimates[-1].describe() if estimates else None,
        "naive_joules_per_flop": estimates[-1].compute_joules(1) if estimates else None,
    }


def render_study_page(page: StudyPage, main_page: Path, now: datetime, drawing: Drawing) -> str:
    """Render the HTML of the page beside `main_page`, of which `drawing` has started the charts.

    Raises ChartError without the extra `report`.
    """
    result_count, doubtful_count = page.count_results()
    script = read_page_script(
        *PLOT_PARTS, "study/data.js", "study/comparisons.js", "study/panels.js"
    )
    tables = list(page.tables.values())
    about = describe_studies(page, now)
    template = make_environment().get_template("study/study.html")
    return template.render(
        tables=page.tables,
        render_table=TableMarkup().render,
        drawn_charts=drawing.wait_for(page.drawn_tables),
        table_data=compress_tables(tables),
        about=embed_json(about),
        script=script,
        policy=make_policy([script]),
        setup_labels=[label_setup(setup) for setup in page.groups],
        class_names=[CLASS_NAMES[name] for name in about["study"]["classes"]],
        image_sets=about["study"]["image_sets"],
        setup_ids=[identify_setup(setup) for setup in page.groups],
        ratio_setups=page.ratio_setups,
        shown_at_first=page.shown_at_first,
        goal_pct=GOAL_PCT,
        answers=[
            describe_cheapest(setup, page.groups[setup], GOAL_PCT)
            for n, setup in enumerate(page.groups)
            if n in page.shown_at_first
        ],
        main_findings=page.findings[list(page.groups)[page.shown_at_first[0]]],
        model_count=len(about["study"]["models"]["size"]),
        result_count=result_count,
        doubtful_count=doubtful_count,
        main_page=quote(main_page.name),
        trends_page=quote(name_trends_page(main_page).name) if page.has_trends else None,
        now=now,
        rules_version=VERSION,
        local_label=page.local_label,
    )
