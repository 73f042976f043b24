"""The run stays below a cap that the same workload exceeds in another run

## What it does
Compares the runs of a center, on boards of one name, that differ only in their cap. Directory and
name of the system are ignored. The rule reports a run whose mean power is below 90 % of its cap,
and in which the power cap is a slowdown reason in fewer than 1 % of the scored samples, if a run at
a higher cap draws more than the lower cap allows. Runs without slowdown reasons are skipped.

## Why it is bad
A workload that draws more than this cap in another run must reach it. If it stays far below without
the cap as a reason, something else limited the run, such as clocks or an idle rank, or the readings
are too low.

## What to do
Find what limits the run, and run again with no other limit than the cap.

## Source
Protocol, section "caps". Without another limit, a board at a cap below its demand draws the cap: in
the reference runs, at 700 W, the power cap is the reason in 97 to 100 % of the samples, and the
mean power is 94 to 99 % of it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.protocol import CURRENT
from rules.rule import RoundRule
from rules.run_groups import group_by_comparison_key
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X111", Severity.WARNING, added="1.3.0")

NEAR_SHARE = 0.9
"""Mean power below this share of the cap counts as below the cap; reference runs draw 0.94 or
more."""
CAPPED_SHARE = 0.01
"""Share of capped samples below which the cap did not limit the run."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for group in group_by_comparison_key(runs):
        highest = group[-1]
        # The group is sorted by cap, so in reverse order all runs at higher caps come first.
        for run in reversed(group):
            cap_w = run.cap_w or 0.0
            if (
                _is_below_cap(run, cap_w)
                # Within the tolerance, the other run does not prove that the workload exceeds this
                # cap.
                and _mean_power_w(highest) > cap_w * CURRENT.cap_tolerance
                # Repeats at the same cap differ by noise and prove nothing about the cap.
                and (highest.cap_w or 0) > cap_w
            ):
                yield run.path, _violate(run, highest)
            highest = max(highest, run, key=_mean_power_w)


def _is_below_cap(run: RunSummary, cap_w: float) -> bool:
    return (
        _mean_power_w(run) < NEAR_SHARE * cap_w
        # Bundles without slowdown reasons cannot show that the cap did not limit them.
        and run.capped_share is not None
        and run.capped_share < CAPPED_SHARE
    )


def _mean_power_w(run: RunSummary) -> float:
    return run.headline.mean_power_w_per_accelerator.mean


def _violate(run: RunSummary, other: RunSummary) -> Violation:
    return Violation(
        SAMPLES,
        "",
        f"{_mean_power_w(run):.0f} W under a cap of {run.cap_w:g} W that did not limit the run, "
        f"and {_mean_power_w(other):.0f} W at {other.cap_w:g} W ({other.name})",
        "mean power near a cap that the workload exceeds in another run",
    )
