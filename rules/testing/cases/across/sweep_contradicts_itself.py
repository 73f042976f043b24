"""Mutations that the rule `sweep-contradicts-itself` must find."""

from rules.checks.across.sweep_contradicts_itself import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


def _label(evidence: EvidenceFrames, place: int, **other: object) -> None:
    label = {"id": "sweep", "place": place, "of": 2, "repeat": 1, "order": "random", "seed": 1}
    evidence.result["sweep"] = {**label, **other}


@pairing(RULE, both=True)
def two_runs_at_one_place(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _label(run, 1, of=1)
    _label(other, 1, of=1, repeat=2)


@pairing(RULE, both=True)
def one_cap_at_two_places(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _label(run, 1)
    _label(other, 2)


@pairing(RULE, both=True)
def two_plans_of_one_sweep(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _label(run, 1)
    _label(other, 2, repeat=2, seed=2)
