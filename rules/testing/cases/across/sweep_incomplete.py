"""Mutations that the rule `sweep-incomplete` must find."""

from rules.checks.across.sweep_incomplete import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


def label_run(evidence: EvidenceFrames, place: int, run_count: int, repeat: int = 1) -> None:
    evidence.result["sweep"] = {
        "id": "sweep",
        "place": place,
        "of": run_count,
        "repeat": repeat,
        "order": "random",
        "seed": 1,
    }


@pairing(RULE)
def one_of_three_runs_left_out(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    label_run(run, 1, 3)
    label_run(other_run, 3, 3)
    other_run.result["sweep"]["repeat"] = 2


@pairing(RULE)
def best_run_of_a_sweep_handed_in_alone(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    label_run(run, 4, 6)
