"""Mutations that the rule `sampling-irregular` must find."""

from rules.checks.protocol.sampling_irregular import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_first


def delay_samples(evidence: EvidenceFrames, count: int, delay_ms: int) -> None:
    evidence.samples.loc[select_every(count, select_first(evidence)), "read_ns"] += (
        delay_ms * 1_000_000
    )


@mutation(RULE)
def every_second_sample_late(evidence: EvidenceFrames) -> None:
    delay_samples(evidence, 2, 20)


@mutation(RULE)
def every_tenth_sample_very_late(evidence: EvidenceFrames) -> None:
    delay_samples(evidence, 10, 60)
