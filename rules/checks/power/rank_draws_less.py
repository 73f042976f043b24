"""A board draws far less power than the others of its run

## What it does
Compares, in closed, open and control runs that train or compute products on several boards of one
kind, the mean power of each board over the scored epochs with the median of all of them. The rule
reports a board below 75 % of the median of at least three boards, or of the higher one of two.

A run with this finding wins no comparison until a center reviews and accepts it or the rule is
waived.

## Why it is bad
All ranks do equal work, so their boards draw nearly equal power. A board that draws far less did
less of it, or none: its batches were counted and not computed, or the meter read another board.
Utilisation (W112) is a column that can be copied.

## What to do
Assign meters to ranks by UUID, and submit the batches that each rank ran.

## Source
Committed runs on two and four H200s: each board draws 97.9 to 102 % of the median. An idle board of
this kind with a resident model draws 18 % of what a working one does.
"""

from collections.abc import Iterator
from statistics import median

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(
    __name__,
    "W128",
    Severity.WARNING,
    standings=("closed", "open", "control"),
    added="1.10.0",
    statistical=True,
    bars_winning=True,
)

LEAST_SHARE = 0.75
"""Least usual power of a board as a share of the median of its run; measured boards have 0.979 or
more."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # The boards of a server share requests, and need not have equal shares.
    if bundle.figures is None or not bundle.runs_batches_in_turn:
        return
    power_w = {board.accelerator: board.mean_power_w for board in bundle.figures.observed}
    names = {bundle.accelerators[uuid].name for uuid in power_w if uuid in bundle.accelerators}
    if len(power_w) < 2 or len(names) != 1:
        return
    usual_w = max(power_w.values()) if len(power_w) == 2 else median(power_w.values())
    for uuid, mean_w in power_w.items():
        if mean_w < LEAST_SHARE * usual_w:
            yield Violation(
                SAMPLES,
                "",
                f"{uuid}: {mean_w:.0f} W on average, and {usual_w:.0f} W on the others",
                f"at least {LEAST_SHARE:.0%} of the power of the others",
            )
