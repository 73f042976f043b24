"""Runs like the good one at another throughput, power or cap, for the tests of the report."""

import itertools

from conftest import copy_evidence
from support.bundles import make_other_run, rederive

from rules.testing.frames import EvidenceFrames

NUMBERS = itertools.count(1)


def make_altered_run(
    *, rate: float = 1.0, power: float = 1.0, cap_w: float | None = None, name: str = "example"
) -> EvidenceFrames:
    """A run like the good one, each time another, at another throughput, power or cap."""
    evidence = make_other_run(copy_evidence(), next(NUMBERS))
    batch = round(evidence.result["settings"]["batch_size"] * rate)
    evidence.batches["items"] = batch
    evidence.result["settings"]["batch_size"] = batch
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        evidence.samples[column] = (evidence.samples[column] * power).round()
    if cap_w is not None:
        evidence.result["power"]["cap_w"] = cap_w
        evidence.samples["cap_mw"] = cap_w * 1e3
        for readback in evidence.result["readbacks"]:
            readback["requested_mw"] = readback["enforced_mw"] = int(cap_w * 1e3)
    evidence.system["name"] = name
    rederive(evidence)
    return evidence
