"""What a report keeps of a study that passed the check, or of a published one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checker.verdict import TrustLevel, Verdict
from reporting.paper import cite, keep_web_address
from rules.finding import Finding
from rules.studies.published import PublishedStudy
from rules.studies.results import ModelResult, Setup

DEMO, SIMULATED = "demo", "simulated"
NOT_COMPARED = frozenset({DEMO, SIMULATED})
"""The provenances of results that are compared with none but their like: of windows that are
shorter than the method requires, and of simulated boards."""


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

    id: str
    authors: str
    """Names, separated by commas."""
    title: str
    year: int
    url: str | None
    """None if it is not a web address."""

    @property
    def citation(self) -> str:
        """Such as `Mayr et al. 2026`."""
        return cite(self.authors, self.year)


@dataclass(frozen=True)
class StudyRecord:
    """The results of a study, and where they come from."""

    results: tuple[ModelResult, ...]
    origin: BundleOrigin | PublicationOrigin


def record_study(results: tuple[ModelResult, ...], verdict: Verdict) -> StudyRecord:
    """The record of a study bundle that passed."""
    if verdict.judged_standing == DEMO:
        results = tuple(
            result
            if result.setup.provenance == SIMULATED
            else replace(result, setup=replace(result.setup, provenance=DEMO))
            for result in results
        )
    origin = BundleOrigin(verdict.path, verdict.signer, verdict.trust_level, verdict.findings)
    return StudyRecord(results, origin)


def record_published_study(study: PublishedStudy) -> StudyRecord:
    """The record of a published study."""
    origin = PublicationOrigin(
        study.id, study.authors, study.title, study.year, keep_web_address(study.url)
    )
    return StudyRecord(study.results, origin)


def name_sources(studies: Sequence[StudyRecord]) -> list[StudyRecord]:
    """The studies with a source of their own: bundles of one name are named by their path. Setups
    of bundles get the name of their system, which is unique among equal setups."""
    counts = Counter(source for study in studies for source in _list_sources(study))
    named = [
        _change_setups(study, source=_name_path(study.origin.path))
        if isinstance(study.origin, BundleOrigin)
        and any(counts[source] > 1 for source in _list_sources(study))
        else study
        for study in studies
    ]
    for choose_name in (_name_system, _name_system_and_study, _name_path):
        shared = _find_shared_setups(named)
        named = [
            _change_setups(study, system=choose_name(study.origin.path))
            if isinstance(study.origin, BundleOrigin)
            and any(
                setup.system is None or _drop_source(setup) in shared
                for setup in _list_setups(study)
            )
            else study
            for study in named
        ]
    return named


def _name_system(bundle: Path) -> str:
    return bundle.parent.name


def _name_system_and_study(bundle: Path) -> str:
    """With date and last digits of the name of the study (`harness.studies.planning`)."""
    return f"{bundle.parent.name} {bundle.name[:8]}-{bundle.name[-6:]}"


def _name_path(bundle: Path) -> str:
    return "/".join(bundle.parts[-3:])


def _find_shared_setups(studies: Sequence[StudyRecord]) -> set[Setup]:
    """The setups, without their source, that several studies have."""
    counts = Counter(
        setup for study in studies for setup in {_drop_source(s) for s in _list_setups(study)}
    )
    return {setup for setup, count in counts.items() if count > 1}


def _drop_source(setup: Setup) -> Setup:
    return replace(setup, source="")


def _list_setups(study: StudyRecord) -> set[Setup]:
    return {result.setup for result in study.results}


def _list_sources(study: StudyRecord) -> set[str]:
    return {setup.source for setup in _list_setups(study)}


def _change_setups(study: StudyRecord, **changes: Any) -> StudyRecord:
    results = tuple(
        replace(result, setup=replace(result.setup, **changes)) for result in study.results
    )
    return replace(study, results=results)
