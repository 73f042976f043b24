"""More arithmetic per second than the board can do

## What it does
Multiplies the throughput of each accelerator in each scored epoch by the FLOPs that one item takes at the least, and
compares that with the board's dense peak at the precision of the run. For a precision without a known peak the board's
highest one serves.

## Why it is bad
It is impossible. The items, the time or the precision are not what the bundle says, or the model is not the workload's.

## What to do
Look for windows that do not cover the whole batch, items counted more than once (by every rank, say), and the precision
that was really used.

## Source
Protocol, section "bounds"; peaks in `rules/boards.py`; FLOPs in `rules/workloads/`.
"""

import math
from collections.abc import Iterator

from rules.boards import board
from rules.metrics import min_peak_share
from rules.records import Evidence
from rules.rule import Bundle, Found, Rule, Severity
from rules.spoil import shorten_batches
from rules.tables import BATCHES
from rules.workloads import Size, workloads

RULE = Rule("T104", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    workload = workloads().get(bundle.result["workload"])
    size: Size | None = getattr(workload, bundle.result["size"], None)
    precision = bundle.result["implementation"]["precision"]
    if size is None:
        return
    worst: dict[str, tuple[float, int, float]] = {}
    for part in bundle.scored_parts:
        known = board(bundle.accelerators.get(part.accelerator, {"name": ""})["name"])
        if known is None:
            continue
        peak_tflops = known.peak_tflops.get(precision, max(known.peak_tflops.values()))
        share = min_peak_share(part.items / part.active_s, size, peak_tflops)
        worst[part.accelerator] = max(worst.get(part.accelerator, (0.0, 0, 0.0)), (share, part.epoch, peak_tflops))
    for accelerator, (share, epoch, peak_tflops) in worst.items():
        if share > bundle.protocol.max_peak_share:
            yield Found(
                BATCHES,
                "",
                f"{accelerator}: {100 * share:.0f} % of the dense peak of {peak_tflops:g} TFLOP/s, in epoch {epoch}",
                f"at most {100 * bundle.protocol.max_peak_share:g} %",
                "No board computes that fast. Items, windows, precision or the model are not what the bundle says.",
            )


def _beyond_peak(evidence: Evidence) -> int:
    mfu: float = evidence.result["headline"]["mfu"]["mean"]
    return math.ceil(1.5 / mfu)


@RULE.mutation()
def items_multiplied(evidence: Evidence) -> None:
    factor = _beyond_peak(evidence)
    evidence.result["settings"]["batch_size"] *= factor
    evidence.batches["items"] *= factor


@RULE.mutation("P103", "T109")
def windows_cover_a_fraction_of_the_batch(evidence: Evidence) -> None:
    shorten_batches(evidence, 1 / _beyond_peak(evidence))
