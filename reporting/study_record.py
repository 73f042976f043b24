"""What a report keeps of a study that passed the check, or of a published one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from checker.verdict import TrustLevel, Verdict
from reporting.paper import cite, keep_web_address
from rules.finding import Finding
from rules.studies.published import PublishedStudy
from rules.studies.results import ModelResult

DEMO = "demo"
"""The provenance of results that are compared with none but their like: of simulated boards, or of
windows that are shorter than the method requires."""


@dataclass(frozen=True)
class BundleOrigin:
    """The bundle of a study."""

    path: Path
    signer: str | None
    trust_level: TrustLevel
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class PublicationOrigin:
    """The publication of a study."""

    citation: str
    url: str | None
    """None if it is not a web address."""


@dataclass(frozen=True)
class StudyRecord:
    """The results of a study, and where they come from."""

    results: tuple[ModelResult, ...]
    origin: BundleOrigin | PublicationOrigin


def record_study(results: tuple[ModelResult, ...], verdict: Verdict) -> StudyRecord:
    """The record of a study bundle that passed."""
    if verdict.judged_standing == DEMO:
        results = tuple(
            replace(result, setup=replace(result.setup, provenance=DEMO)) for result in results
        )
    origin = BundleOrigin(verdict.path, verdict.signer, verdict.trust_level, verdict.findings)
    return StudyRecord(results, origin)


def record_published_study(study: PublishedStudy) -> StudyRecord:
    """The record of a published study."""
    origin = PublicationOrigin(cite(study.authors, study.year), keep_web_address(study.url))
    return StudyRecord(study.results, origin)


def name_sources(studies: Sequence[StudyRecord]) -> list[StudyRecord]:
    """The studies with a source of their own: bundles of one name are named by their path."""
    counts = Counter(source for study in studies for source in _list_sources(study))
    return [
        _rename_source(study, "/".join(study.origin.path.parts[-3:]))
        if isinstance(study.origin, BundleOrigin)
        and any(counts[source] > 1 for source in _list_sources(study))
        else study
        for study in studies
    ]


def _list_sources(study: StudyRecord) -> set[str]:
    return {result.setup.source for result in study.results}


def _rename_source(study: StudyRecord, source: str) -> StudyRecord:
    results = tuple(
        replace(result, setup=replace(result.setup, source=source)) for result in study.results
    )
    return replace(study, results=results)
