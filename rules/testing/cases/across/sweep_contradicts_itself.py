"""Mutations that the rule `sweep-contradicts-itself` must find."""

from rules.checks.across.sweep_contradicts_itself import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames


def label_run(evidence: EvidenceFrames, place: int, **fields: object) -> None:
    label = {"id": "sweep", "place": place, "of": 2, "repeat": 1, "order": "random", "seed": 1}
    evidence.result["sweep"] = {**label, **fields}


@pairing(RULE, both_at_fault=True)
def two_runs_at_one_place(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    label_run(run, 1, of=1)
    label_run(other_run, 1, of=1, repeat=2)


@pairing(RULE, both_at_fault=True)
def one_cap_at_two_places(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    label_run(run, 1)
    label_run(other_run, 2)


@pairing(RULE, both_at_fault=True)
def two_plans_of_one_sweep(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    label_run(run, 1)
    label_run(other_run, 2, repeat=2, seed=2)


@pairing(RULE, both_at_fault=True)
def one_batch_size_at_two_places(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    label_run(run, 1, axes=["batch"])
    label_run(other_run, 2, axes=["batch"])


@pairing(RULE, both_at_fault=True)
def two_axes_of_one_sweep(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    label_run(run, 1, axes=["batch"])
    label_run(other_run, 2, repeat=2, axes=["cap"])


@pairing(RULE, both_at_fault=True)
def options_differ_beside_the_axis(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    label_run(run, 1, axes=["batch"])
    label_run(other_run, 2, repeat=2, axes=["batch"])
    other_run.result["settings"]["options"] = {"kernel": "other"}
