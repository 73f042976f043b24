"""Mutations that the rule `counter-fails-in-demo` must find."""

from rules.checks.energy.counter_fails_in_demo import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_first


def scale_counter(evidence: EvidenceFrames, factor: float) -> None:
    evidence.result["standing"] = "demo"
    first_board = select_first(evidence)
    energy_mj = evidence.samples.loc[first_board, "energy_mj"]
    evidence.samples.loc[first_board, "energy_mj"] = (
        energy_mj.min() + (energy_mj - energy_mj.min()) * factor
    ).round()


@mutation(RULE)
def counter_runs_slow_in_demo(evidence: EvidenceFrames) -> None:
    scale_counter(evidence, 0.96)


@mutation(RULE)
def counter_runs_fast_in_demo(evidence: EvidenceFrames) -> None:
    scale_counter(evidence, 1.04)


@mutation(RULE)
def counter_stands_still_in_demo(evidence: EvidenceFrames) -> None:
    scale_counter(evidence, 0.0)
