"""The samples differ from the ticks that the sampler counted

## What it does
Counts the ticks in samples.csv.gz and the ticks missing between them, and compares both with
`sampling.ticks` and `sampling.missed` in result.json (sums over nodes). Every sampled accelerator
of a node must have a sample at each of its ticks.

## Why it is bad
Samples that are missing but not counted as missed were removed. Removing the samples with the
highest power lowers the energy.

## What to do
Submit the table as the sampler wrote it. Missed ticks are allowed if they are counted.

## Source
Protocol, section "sampling": missed ticks are skipped and counted, and not made up for.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES, Ints
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P107", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    interval_ns = bundle.protocol.sample_interval_ms * 1_000_000
    ticks_by_node: dict[str, list[tuple[str, Ints]]] = {}
    for accelerator, samples in bundle.samples_of.items():
        # Round, because P106 reports deadlines off the grid, and they should not count as lost
        # ticks here.
        scheduled_ns = samples.ints("scheduled_ns")
        # The deadlines may have a phase, such as half an interval.
        scheduled_ns = scheduled_ns - scheduled_ns[0] % interval_ns
        ticks = np.round(scheduled_ns / interval_ns).astype(np.int64)
        nodes = samples.text("node")
        node = nodes.names[nodes.codes[0]]
        ticks_by_node.setdefault(node, []).append((accelerator, _drop_duplicates(ticks)))
    taken = missed = 0
    for accelerators in ticks_by_node.values():
        node_ticks = accelerators[0][1]
        # One sampler reads all accelerators of a node at each tick, so their ticks are usually
        # equal.
        if not all(np.array_equal(node_ticks, ticks) for _, ticks in accelerators):
            node_ticks = _drop_duplicates(np.concatenate([ticks for _, ticks in accelerators]))
        taken += len(node_ticks)
        missed += int(node_ticks[-1] - node_ticks[0]) + 1 - len(node_ticks)
        for accelerator, ticks in accelerators:
            if len(ticks) < len(node_ticks):
                yield Violation(
                    SAMPLES,
                    "",
                    f"{accelerator}: samples at {len(ticks)} of the {len(node_ticks)} ticks of "
                    "its node",
                    "a sample at every tick, even if the read failed",
                )
    sampling = bundle.declaration.sampling
    for name, stated, counted in (
        ("ticks", sampling.ticks, taken),
        ("missed", sampling.missed, missed),
    ):
        if stated != counted:
            yield Violation(
                RESULT, f"/sampling/{name}", f"{stated}", f"{counted}, counted in samples.csv.gz"
            )


def _drop_duplicates(ticks: Ints) -> Ints:
    """The different ticks in ascending order."""
    if (ticks[1:] > ticks[:-1]).all():
        return ticks  # the usual case, without sorting
    ordered = np.sort(ticks, kind="stable")
    return ordered[np.diff(ordered, prepend=ordered[0] - 1) > 0]
