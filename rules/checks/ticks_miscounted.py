"""Samples that do not add up to the ticks that the sampler counted

## What it does
Counts the ticks in samples.csv.gz, and the holes between them, and compares both with `sampling.ticks` and
`sampling.missed` in result.json (sums over nodes). Every sampled accelerator of a node must have a sample at each of its
ticks.

## Why it is bad
Samples that are missing without being counted were taken out, and those taken out are never the cheap ones.

## What to do
Leave the table as the sampler wrote it. Missed ticks are no offence as long as they are counted.

## Source
Protocol, section "sampling": missed ticks are skipped and counted, never caught up.
"""

from collections.abc import Iterator

import numpy as np

from rules.records import Evidence
from rules.rule import Bundle, Found, Rule, Severity
from rules.spoil import every, of_first
from rules.tables import RESULT, SAMPLES, whole

RULE = Rule("P107", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    interval_ns = bundle.protocol.sample_interval_ms * 1_000_000
    slots_of: dict[str, list[tuple[str, set[int]]]] = {}
    for accelerator, samples in bundle.samples_of.items():
        slots_taken = np.round(whole(samples, "scheduled_ns") / interval_ns).astype(np.int64)
        slots_of.setdefault(str(samples["node"].iloc[0]), []).append((accelerator, set(slots_taken.tolist())))
    ticks = missed = 0
    for own in slots_of.values():
        of_node = set[int]().union(*(slots for _, slots in own))
        ticks += len(of_node)
        missed += max(of_node) - min(of_node) + 1 - len(of_node)
        for accelerator, slots in own:
            if len(slots) < len(of_node):
                yield Found(
                    SAMPLES,
                    "",
                    f"{accelerator}: samples at {len(slots)} of the {len(of_node)} ticks of its node",
                    "a sample at every tick, a failed one too",
                    "Samples of this accelerator were left out. Leave the table as it was written.",
                )
    for name, counted in (("ticks", ticks), ("missed", missed)):
        stated = bundle.result["sampling"][name]
        if stated != counted:
            yield Found(
                RESULT,
                f"/sampling/{name}",
                f"{stated}",
                f"{counted}, as samples.csv.gz has it",
                "The sampler's own count and the table differ: samples were left out or added.",
            )


@RULE.mutation()
def dear_samples_taken_out(evidence: Evidence) -> None:
    gone = every(40, of_first(evidence))
    evidence.samples = evidence.samples[~gone].reset_index(drop=True)


@RULE.mutation()
def count_of_ticks_altered(evidence: Evidence) -> None:
    evidence.result["sampling"]["ticks"] += 3


@RULE.mutation()
def missed_ticks_hidden(evidence: Evidence) -> None:
    evidence.result["sampling"]["missed"] += 1
