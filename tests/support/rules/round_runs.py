"""Digests of runs at chosen caps and figures, for the tests of the rules across bundles."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from conftest import copy_evidence
from support.bundles import make_other_run, rederive

from checker.engine import judge_all
from rules.bundle import Bundle
from rules.finding import Finding
from rules.metrics.figures import Estimate, Headline, MeanClocks
from rules.registry import rules_by_id
from rules.run_summary import RunSummary, summarize
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap, slow_down

POWER = ("power_mw", "power_avg_mw", "energy_mj")


def make_evidence_at_cap(
    cap_w: float, power: float = 1.0, clock: float = 1.0, rate: float = 1.0, **settings: Any
) -> EvidenceFrames:
    """A good run under another cap, with its power, clock and throughput as multiples of what they
    are at 700 W."""
    evidence = make_other_run(copy_evidence(), number=round(cap_w) // 10)
    if rate != 1:
        slow_down(evidence, rate)
    for column in POWER:
        evidence.samples[column] = (evidence.samples[column] * power).round()
    evidence.samples["sm_mhz"] = (evidence.samples["sm_mhz"] * clock).round()
    evidence.result["settings"].update(settings)
    declare_cap(evidence, cap_w)
    rederive(evidence)
    return evidence


def make_summary(
    name: str, cap_w: float, evidence: EvidenceFrames | None = None, **figures: float
) -> RunSummary:
    """The digest of a run at that cap; `figures` are multiples of its means."""
    summary = summarize_evidence(evidence) if evidence else get_good_summary()
    headline = {
        key: scale_estimate(estimate, figures.pop(key, 1.0))
        for key, estimate in vars(summary.headline).items()
    }
    clocks = {
        key: scale_estimate(estimate, figures.pop(f"mean_{key}", 1.0))
        for key, estimate in vars(summary.clocks).items()
    }
    assert not figures, "there is no such figure"
    return replace(
        summary,
        path=Path("center/system") / name,
        run_id=name,
        cap_w=cap_w,
        headline=Headline(**headline),
        clocks=MeanClocks(**clocks),
    )


def scale_estimate(estimate: Estimate, factor: float) -> Estimate:
    assert estimate.ci95 is not None
    low, high = estimate.ci95
    return replace(estimate, mean=estimate.mean * factor, ci95=(low * factor, high * factor))


def replace_headline(run: RunSummary, **estimates: Estimate) -> RunSummary:
    return replace(run, headline=replace(run.headline, **estimates))


def summarize_evidence(evidence: EvidenceFrames) -> RunSummary:
    summary = summarize(Bundle(Path("center/system/run"), (), evidence.evidence()))
    assert summary is not None
    return summary


@cache
def get_good_summary() -> RunSummary:
    return summarize_evidence(copy_evidence())


def collect_findings(root: Path) -> dict[str, list[Finding]]:
    """By the bundle's name; what statistics say of readings that a test has scaled is left out."""
    statistical = {rule.id for rule in rules_by_id().values() if rule.statistical}
    return {
        v.path.name: [f for f in v.findings if f.rule not in statistical]
        for v in judge_all([root]).verdicts
    }


def list_reported_runs(rule: str, *runs: RunSummary) -> list[str]:
    return [path.name for path, _ in rules_by_id()[rule].judge_round(runs)]


def make_other_summary(name: str, number: int = 1, **changes: Any) -> RunSummary:
    """The digest of another run like the good one."""
    evidence = make_other_run(copy_evidence(), number)
    rederive(evidence)
    return replace(
        summarize_evidence(evidence),
        **{"path": Path("center/system") / name, "run_id": name, **changes},
    )
