"""Mutations that the rule `sweep-incomplete` must find."""

from rules.checks.across.sweep_incomplete import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


def _label(evidence: EvidenceFrames, place: int, of: int, repeat: int = 1) -> None:
    evidence.result["sweep"] = {
        "id": "sweep",
        "place": place,
        "of": of,
        "repeat": repeat,
        "order": "random",
        "seed": 1,
    }


@pairing(RULE)
def one_of_three_runs_left_out(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _label(run, 1, 3)
    _label(other, 3, 3)
    other.result["sweep"]["repeat"] = 2


@pairing(RULE)
def best_run_of_a_sweep_handed_in_alone(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _label(run, 4, 6)
