"""What a report keeps of an observed job that passed the check."""

from dataclasses import dataclass
from pathlib import Path

from checker.verdict import TrustLevel, Verdict
from rules.declarations.observation import ObservationDeclaration
from rules.finding import Finding
from rules.metrics.energy import MetricsError
from rules.metrics.node.observed import ObservedFigures
from rules.observations.bundle import ObservationBundle


@dataclass(frozen=True)
class ObservedJob:
    """What ran, and its recomputed power."""

    declaration: ObservationDeclaration
    figures: ObservedFigures


@dataclass(frozen=True)
class ObservedRecord:
    """An observed job, and where it comes from."""

    job: ObservedJob
    path: Path
    signer: str | None
    trust_level: TrustLevel
    findings: tuple[Finding, ...]


def summarize_observation(bundle: ObservationBundle) -> ObservedJob:
    """What the report keeps of a bundle. Raises MetricsError if its readings give no figures; such
    a bundle does not pass the check."""
    figures = bundle.figures_or_reason
    if isinstance(figures, str):
        raise MetricsError(figures)
    return ObservedJob(bundle.declaration, figures)


def record_observation(job: ObservedJob, verdict: Verdict) -> ObservedRecord:
    """The record of a bundle that passed."""
    return ObservedRecord(
        job, verdict.path, verdict.signer, verdict.trust_level, tuple(verdict.findings)
    )
