"""All sentences of a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reporting.report_table import ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import BundleLink
from reporting.sections.repeats import ReportSpread
from reporting.sections.sweeps.caps import find_sweeps
from reporting.sentences.answers import (
    WorkloadAnswer,
    build_answer,
    describe_meaning,
    list_caps_w,
)
from reporting.sentences.cards import AnswerCard, build_card
from reporting.sentences.charts import ChartText, describe_charts, list_titles
from reporting.sentences.findings import WorkloadFindings, build_findings
from reporting.sentences.other_sources import OtherSources
from reporting.sentences.trust import TrustLine, build_trust_line
from rules.finding import Finding
from rules.workloads import workloads


@dataclass(frozen=True)
class PageSentences:
    """The generated texts of a page."""

    answers: Sequence[WorkloadAnswer]
    """One per workload with results, those with the most closed runs first, as all others."""
    cards: Sequence[AnswerCard]
    """In the order of the answers."""
    findings: Mapping[str, WorkloadFindings]
    """By the id of the workload."""
    meaning: str
    """What the words of the answers mean."""
    names_caps: bool
    """Whether each answer names a cap, because the runs have several."""
    trust: TrustLine
    chart_texts: Mapping[str, Mapping[str, ChartText]]
    """By the ids of table and chart."""


def build_page_sentences(
    rows: Sequence[ResultRow],
    passed_findings: Sequence[Sequence[Finding]],
    tables: Sequence[ReportTable],
    spread: ReportSpread,
    link: BundleLink,
    sources: OtherSources,
) -> PageSentences:
    """The sentences on all rows of a page, the findings of each passed bundle, its tables, and
    other sources."""
    answers, cards, findings, titles = [], {}, {}, {}
    names_caps = len(list_caps_w(rows)) > 1
    for workload in workloads().values():
        workload_rows = [row for row in rows if row.workload == workload.id]
        # Nothing is compared with control runs.
        if not workload_rows or workload.is_control:
            continue
        sweeps = find_sweeps([row for row in workload_rows if row.standing in ("closed", "open")])
        answers.append(build_answer(workload, workload_rows, spread, names_caps))
        cards[workload.id] = build_card(workload, workload_rows, sweeps, spread, link)
        findings[workload.id] = build_findings(workload, workload_rows, sweeps, spread, sources)
        titles.update(list_titles(workload, workload_rows, sweeps, spread))
    answers.sort(key=lambda answer: -answer.runs)
    return PageSentences(
        answers=answers,
        cards=[cards[answer.workload] for answer in answers],
        findings=findings,
        meaning=describe_meaning(rows),
        names_caps=names_caps,
        trust=build_trust_line(passed_findings, rows),
        chart_texts=describe_charts(tables, titles),
    )
