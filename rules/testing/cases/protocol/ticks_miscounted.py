"""Mutations that the rule `ticks-miscounted` must find."""

from rules.checks.protocol.ticks_miscounted import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import add_twin, select_every, select_first


@mutation(RULE)
def dear_samples_taken_out(evidence: EvidenceFrames) -> None:
    removed = select_every(40, select_first(evidence))
    evidence.samples = evidence.samples[~removed].reset_index(drop=True)


@mutation(RULE)
def count_of_ticks_altered(evidence: EvidenceFrames) -> None:
    evidence.result["sampling"]["ticks"] += 3


@mutation(RULE)
def missed_ticks_hidden(evidence: EvidenceFrames) -> None:
    evidence.result["sampling"]["missed"] += 1


@mutation(RULE)
def tick_without_one_of_the_accelerators(evidence: EvidenceFrames) -> None:
    add_twin(evidence)
    evidence.samples = evidence.samples.drop(index=evidence.samples.index[-40]).reset_index(
        drop=True
    )
