"""A cap below what the same work draws elsewhere, and not reached

## What it does
Compares the runs of a center, on boards of one name, that differ in their cap only; neither the
directory nor the name of the system counts. It speaks of a run whose mean power is below 90 % of
its cap and which the cap did not hold down (its slowdown reason is in fewer than 1 % of the scored
samples), where a run at a higher cap draws more than the lower cap allows. Runs whose slowdown
reasons were not read are left out.

## Why it is bad
The same work that draws more than this cap elsewhere should run into it. That it stays far below
without the cap says that something else held it back, such as clocks or an idle rank, or that the
readings are too low.

## What to do
Find out what limits the run, and run again with nothing but the cap.

## Source
Protocol, section "caps". With nothing else in the way a board at a cap below its demand sits at the
cap: the reference runs, at 700 W, are held by it in 97 to 100 % of their samples and draw 94 to 99
% of it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.protocol import CURRENT
from rules.rule import RoundRule
from rules.run_summary import RunSummary, group_by_comparison_key

RULE = RoundRule(__name__, "X111", Severity.WARNING, added="1.3.0")

NEAR_SHARE = 0.9
CAPPED_SHARE = 0.01


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for runs in group_by_comparison_key(digests):
        most = runs[-1]
        for run in reversed(runs):
            cap_w = run.cap_w or 0.0
            if (
                _free(run, cap_w)
                and _power_w(most) > cap_w * CURRENT.cap_tolerance
                and (most.cap_w or 0) > cap_w
            ):
                yield run.path, _found(run, most)
            most = max(most, run, key=_power_w)


def _free(run: RunSummary, cap_w: float) -> bool:
    return (
        _power_w(run) < NEAR_SHARE * cap_w
        and run.capped_share is not None
        and run.capped_share < CAPPED_SHARE
    )


def _power_w(run: RunSummary) -> float:
    return run.headline.mean_power_w_per_accelerator.mean


def _found(run: RunSummary, other: RunSummary) -> Violation:
    return Violation(
        SAMPLES,
        "",
        f"{_power_w(run):.0f} W under a cap of {run.cap_w:g} W that did not hold it, "
        f"and {_power_w(other):.0f} W at {other.cap_w:g} W ({other.name})",
        "work that runs into a cap below what it draws elsewhere",
        "Something else than the cap held the run back, or the readings are too low. Find "
        "out, and run again.",
    )
