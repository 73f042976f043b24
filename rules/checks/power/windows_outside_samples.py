"""Batches before the first or after the last sample

## What it does
Asks that the samples of every accelerator begin before its first batch and end after its last one.

## Why it is bad
What a board drew outside its samples is not known, and nothing is extrapolated. Usual reasons are a
sampler that died, and tables of two runs or two clocks in one bundle.

## What to do
Run again. On several nodes, give samples and batches of a node on the clock of that node.

## Source
Protocol, section "energy of record".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import BATCHES
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import drop_ticks, last_epoch, under_load

RULE = Rule("W110", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    for accelerator, rank in bundle.accelerator_ranks.items():
        spans = [span for (_, r), span in bundle.spans.items() if r == rank]
        samples = bundle.samples_of.get(accelerator)
        if samples is None or not spans:
            continue
        read_ns = samples.ints("read_ns")
        before_s = (read_ns.min() - min(s[0] for s in spans)) / 1e9
        after_s = (max(s[1] for s in spans) - read_ns.max()) / 1e9
        for missing_s, what in (
            (before_s, "begin before its first sample"),
            (after_s, "end after its last sample"),
        ):
            if missing_s > 0:
                yield Found(
                    BATCHES,
                    "",
                    f"batches of rank {rank} {what} ({accelerator}), by {missing_s:.3f} s",
                    "samples from before the first batch to after the last one",
                    "The power outside the samples is not known. Run again with a sampler "
                    "that lives as long as the run.",
                )


@RULE.mutation("T101")
def sampler_died(evidence: Evidence) -> None:
    dead = np.flatnonzero(under_load(evidence, last_epoch(evidence)))[-50]
    scheduled = evidence.samples["scheduled_ns"].to_numpy()
    drop_ticks(evidence, scheduled[scheduled > scheduled[dead]])


@RULE.mutation("T101")
def sampler_came_late(evidence: Evidence) -> None:
    born = np.flatnonzero(under_load(evidence, 0))[20]
    scheduled = evidence.samples["scheduled_ns"].to_numpy()
    drop_ticks(evidence, scheduled[scheduled < scheduled[born]])


@RULE.mutation("T101", sometimes=("P118",))
def clocks_of_two_nodes(evidence: Evidence) -> None:
    of_first_rank = evidence.batches["rank"] == evidence.result["ranks"][0]["rank"]
    evidence.batches.loc[of_first_rank, ["start_ns", "end_ns"]] += 10**15
