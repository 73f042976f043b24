"""Runs at chosen caps and throughputs, for the tests of the report."""

from conftest import Submissions
from support.bundles import make_evidence, make_other_run, rederive

from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import declare_cap
from rules.workloads import workloads


def make_run_at_cap(
    cap_w: float, rate: float, draw_w: float | None = None, standing: str = "closed"
) -> EvidenceFrames:
    """A good run under a cap that it keeps, or draws `draw_w`, at a multiple of the usual
    throughput."""
    evidence = make_evidence(rate=rate)
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        evidence.samples[column] = (
            evidence.samples[column] * (draw_w or 0.99 * cap_w) / 685
        ).round()
    evidence.result["standing"] = standing
    declare_cap(evidence, cap_w)
    rederive(evidence)
    return evidence


def convert_to_baseline(evidence: EvidenceFrames) -> EvidenceFrames:
    """The same run as one of the variant `baseline`, as its workload has it."""
    workload, implementation = (
        workloads()[evidence.result["workload"]],
        evidence.result["implementation"],
    )
    settings = {name: choice[0] for name, choice in workload.fixed["baseline"].items()}
    implementation.update(
        variant="baseline", precision=workload.variants["baseline"], settings=settings
    )
    rederive(evidence)
    return evidence


def on_one(evidence: EvidenceFrames, standing: str = "closed") -> EvidenceFrames:
    """The same run on the first of its two accelerators only."""
    evidence.result["standing"] = standing
    evidence.result["ranks"] = evidence.result["ranks"][:1]
    (uuid,) = evidence.result["ranks"][0]["accelerators"]
    evidence.result["settings"]["accelerators"] = 1
    evidence.result["readbacks"] = [
        r for r in evidence.result["readbacks"] if r["accelerator"] == uuid
    ]
    evidence.batches = evidence.batches[evidence.batches["rank"] == 0].reset_index(drop=True)
    evidence.samples = evidence.samples[evidence.samples["accelerator"] == uuid].reset_index(
        drop=True
    )
    accelerators = evidence.system["nodes"][0]["accelerators"]
    accelerators[:] = [a for a in accelerators if a["uuid"] == uuid]
    rederive(evidence)
    return evidence


def add_sweep(submissions: Submissions, *runs: EvidenceFrames) -> list[EvidenceFrames]:
    for place, evidence in enumerate(runs):
        rederive(make_other_run(evidence, place))
        submissions.add(evidence, f"20260101T000000Z-run-{place}")
    return list(runs)
