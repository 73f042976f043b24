"""Samples that do not add up to the ticks that the sampler counted

## What it does
Counts the ticks in samples.csv.gz, and the holes between them, and compares both with
`sampling.ticks` and `sampling.missed` in result.json (sums over nodes). Every sampled accelerator
of a node must have a sample at each of its ticks.

## Why it is bad
Samples that are missing without being counted were taken out, and those taken out are never the
cheap ones.

## What to do
Leave the table as the sampler wrote it. Missed ticks are no offence as long as they are counted.

## Source
Protocol, section "sampling": missed ticks are skipped and counted, never caught up.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P107", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    interval_ns = bundle.protocol.sample_interval_ms * 1_000_000
    slots_of: dict[str, list[tuple[str, NDArray[np.int64]]]] = {}
    for accelerator, samples in bundle.samples_of.items():
        slots_taken = np.round(samples.ints("scheduled_ns") / interval_ns).astype(np.int64)
        node = samples.text("node")
        slots_of.setdefault(node.names[node.codes[0]], []).append(
            (accelerator, _distinct(slots_taken))
        )
    ticks = missed = 0
    for own in slots_of.values():
        of_node = own[0][1]
        if not all(np.array_equal(of_node, slots) for _, slots in own):
            of_node = _distinct(np.concatenate([slots for _, slots in own]))
        ticks += len(of_node)
        missed += int(of_node[-1] - of_node[0]) + 1 - len(of_node)
        for accelerator, slots in own:
            if len(slots) < len(of_node):
                yield Violation(
                    SAMPLES,
                    "",
                    f"{accelerator}: samples at {len(slots)} of the {len(of_node)} ticks "
                    "of its node",
                    "a sample at every tick, a failed one too",
                    "Samples of this accelerator were left out. Leave the table as it was written.",
                )
    for name, counted in (("ticks", ticks), ("missed", missed)):
        stated = bundle.result["sampling"][name]
        if stated != counted:
            yield Violation(
                RESULT,
                f"/sampling/{name}",
                f"{stated}",
                f"{counted}, as samples.csv.gz has it",
                "The sampler's own count and the table differ: samples were left out or added.",
            )


def _distinct(slots: NDArray[np.int64]) -> NDArray[np.int64]:
    if (slots[1:] > slots[:-1]).all():
        return slots  # mostly
    ordered = np.sort(slots, kind="stable")
    return ordered[np.diff(ordered, prepend=ordered[0] - 1) > 0]
