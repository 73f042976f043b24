"""Mutations that the rule `windows-outside-samples` must find."""

import numpy as np

from rules.checks.power.windows_outside_samples import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import drop_ticks, get_last_epoch, select_load


@mutation(RULE, "T101")
def sampler_died(evidence: EvidenceFrames) -> None:
    dead = np.flatnonzero(select_load(evidence, get_last_epoch(evidence)))[-50]
    scheduled = evidence.samples["scheduled_ns"].to_numpy()
    drop_ticks(evidence, scheduled[scheduled > scheduled[dead]])


@mutation(RULE, "T101")
def sampler_came_late(evidence: EvidenceFrames) -> None:
    born = np.flatnonzero(select_load(evidence, 0))[20]
    scheduled = evidence.samples["scheduled_ns"].to_numpy()
    drop_ticks(evidence, scheduled[scheduled < scheduled[born]])


@mutation(RULE, "T101", may_report=("P118",))
def clocks_of_two_nodes(evidence: EvidenceFrames) -> None:
    of_first_rank = evidence.batches["rank"] == evidence.result["ranks"][0]["rank"]
    evidence.batches.loc[of_first_rank, ["start_ns", "end_ns"]] += 10**15
