"""A lower cap that changes nothing

## What it does
Compares the runs of a center that differ in their cap only (same kind and number of accelerators,
workload, variant, precision, size, batch, standing, requests; neither the directory nor the name of
the system counts). It speaks where two caps give the same mean power, SM clock and throughput
though a cap is said to limit.

- The same: the means over the scored epochs differ by less than 1 %, or their 95 % intervals
  overlap. Epochs of one run agree within some tenths of a per cent; repeated runs on one board
  may be further apart. A clock that was not read is left out.
- Different caps: further apart than the tolerance of a cap, 2 %. Under two such caps that both
  limit, mean powers differ by more than 1 %.
- Said to limit: the power cap was the slowdown reason of more than 1 % of the scored samples of
  either run, or a mean power comes within the tolerance of its cap. Where neither holds, the
  work needs less than both caps, and there is nothing to find.

It speaks of the lower cap. It sees the bundles below the paths that are checked together, and those
that passed.

## Why it is bad
The lower cap is not shown to be in force: the driver took it and the board does what it does
without. Efficiency at such a cap is that of another one, as that of an MI300X is below 400 W.

## What to do
Nothing, if that is how the board behaves, or if the work needs just about the lower cap: the run
stands, is shown in parentheses and is never a peak. Otherwise find out why the cap is not kept, and
run again.

## Source
Protocol, section "caps"; Mayr et al. 2026, Tables 3 and 4, which put the caps of the MI300X below
400 W in parentheses.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.figures import Estimate
from rules.protocol import CURRENT
from rules.rule import RoundRule
from rules.run_summary import RunSummary, group_by_comparison_key

RULE = RoundRule(__name__, "X101", Severity.WARNING, added="1.2.0")

SAME_SHARE = 0.01
CAPPED_SHARE = 0.01


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for runs in group_by_comparison_key(digests):
        by_power = sorted(runs, key=_power_w)
        powers_w = [_power_w(run) for run in by_power]
        widest_w = max(run.headline.mean_power_w_per_accelerator.half_width for run in runs)
        for lower in runs:
            above_w = (lower.cap_w or 0) * CURRENT.cap_tolerance
            if (runs[-1].cap_w or 0) <= above_w:
                break
            reach_w = max(
                2 * SAME_SHARE * _power_w(lower),
                lower.headline.mean_power_w_per_accelerator.half_width + widest_w,
            )
            near = by_power[
                bisect_left(powers_w, _power_w(lower) - reach_w) : bisect_right(
                    powers_w, _power_w(lower) + reach_w
                )
            ]
            other = next(
                (run for run in near if (run.cap_w or 0) > above_w and _contradict(lower, run)),
                None,
            )
            if other is not None:
                yield lower.path, _found(lower, other)


def _power_w(run: RunSummary) -> float:
    return run.headline.mean_power_w_per_accelerator.mean


def _contradict(lower: RunSummary, higher: RunSummary) -> bool:
    return any(_said_to_limit(run) for run in (lower, higher)) and _same(lower, higher)


def _said_to_limit(run: RunSummary) -> bool:
    near = _power_w(run) * CURRENT.cap_tolerance >= (run.cap_w or 0)
    return near or (run.capped_share or 0) > CAPPED_SHARE


def _same(one: RunSummary, other: RunSummary) -> bool:
    return all(
        _close(first, second)
        for first, second in zip(_estimates(one), _estimates(other), strict=True)
        if first is not None and second is not None
    )


def _estimates(run: RunSummary) -> tuple[Estimate | None, ...]:
    headline = run.headline
    return (
        headline.mean_power_w_per_accelerator,
        headline.items_per_s_per_accelerator,
        headline.joules_per_item,
        run.clocks.sm_mhz,
    )


def _close(first: Estimate, second: Estimate) -> bool:
    low, high = sorted((first.mean, second.mean))
    return high - low < SAME_SHARE * high or high - low <= first.half_width + second.half_width


def _found(lower: RunSummary, higher: RunSummary) -> Violation:
    return Violation(
        SAMPLES,
        "",
        f"{_shown(lower)} at {lower.cap_w:g} W, and {_shown(higher)} at {higher.cap_w:g} W "
        f"({higher.name})",
        "another power, clock or throughput at another cap",
        f"The cap of {lower.cap_w:g} W is not shown to be in force. The run stands, but is "
        "shown as not enforced.",
    )


def _shown(run: RunSummary) -> str:
    power, rate = (
        run.headline.mean_power_w_per_accelerator,
        run.headline.items_per_s_per_accelerator,
    )
    clock = run.clocks.sm_mhz
    mhz = "" if clock is None else f"{clock.mean:.5g} MHz, "
    return f"{power.mean:.5g} W, {mhz}{rate.mean:.5g} items/s"
