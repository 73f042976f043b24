"""Mutations that the rule `cap-moved` must find."""

from rules.checks.caps.cap_moved import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


@mutation(RULE)
def cap_raised_during_the_run(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_load(evidence, 4, 5, 6), "cap_mw"] += 50_000


@mutation(RULE)
def another_cap_read_back_after_an_epoch(evidence: EvidenceFrames) -> None:
    readback = next(r for r in evidence.result["readbacks"] if r["when"] == "epoch-5")
    readback["requested_mw"] = readback["enforced_mw"] = readback["enforced_mw"] - 100_000
