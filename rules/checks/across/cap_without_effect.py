"""A lower cap has no effect

## What it does
Compares the runs of a center that differ only in their cap (same kind and number of accelerators,
workload, variant, precision, size, batch, standing and requests; directory and name of the system
are ignored). The rule reports two caps with equal mean power, SM clock and throughput if one of the
caps limits its run.

- Equal: the means over the scored epochs differ by less than 1 %, or their 95 % intervals overlap.
  The epochs of one run agree within some tenths of a per cent, and repeated runs on one board may
  differ more. A clock that was not read is ignored.
- Different caps: they differ by more than the tolerance of a cap, 2 %. Under two such caps that
  both limit, the mean powers differ by more than 1 %.
- Limiting: the power cap is a slowdown reason in more than 1 % of the scored samples of one of the
  runs and holds its clock (W119 says when), or a mean power lies within the tolerance of its cap.
  Otherwise the workload needs less power than both caps.

The rule reports the run at the lower cap. It sees the bundles below the paths that are checked
together, and those that passed.

## Why it is bad
There is no evidence that the lower cap is in force: the driver accepted it, and the board behaves
as without it. The efficiency at such a cap is that of another cap, as on an MI300X below 400 W.

## What to do
Nothing, if the board behaves so, or if the workload needs about the lower cap: the run stands, is
shown in parentheses and never wins a comparison. Otherwise find out why the board does not keep the
cap, and run again.

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
from rules.run_groups import group_by_comparison_key
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X101", Severity.WARNING, added="1.2.0")

EQUAL_SHARE = 0.01
"""Means that differ by less than this share count as equal."""
CAPPED_SHARE = 0.01
"""Share of capped samples above which the cap limits the run."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for group in group_by_comparison_key(runs):
        by_power = sorted(group, key=_mean_power_w)
        powers_w = [_mean_power_w(run) for run in by_power]
        widest_w = max(run.headline.mean_power_w_per_accelerator.half_width for run in group)
        for lower in group:
            # Boards may exceed a cap by the tolerance, so nearer caps may give equal power.
            min_cap_w = (lower.cap_w or 0) * CURRENT.cap_tolerance
            if (group[-1].cap_w or 0) <= min_cap_w:
                break
            # Only runs within reach can have an equal mean power. The binary search keeps large
            # groups from quadratic time.
            power_w = _mean_power_w(lower)
            half_width_w = lower.headline.mean_power_w_per_accelerator.half_width
            # Twice the share, because `_are_close` relates the difference to the larger of the two
            # means.
            reach_w = max(2 * EQUAL_SHARE * power_w, half_width_w + widest_w)
            first = bisect_left(powers_w, power_w - reach_w)
            last = bisect_right(powers_w, power_w + reach_w)
            for higher in by_power[first:last]:
                if (higher.cap_w or 0) > min_cap_w and _contradict(lower, higher):
                    yield lower.path, _violate(lower, higher)
                    break


def _mean_power_w(run: RunSummary) -> float:
    return run.headline.mean_power_w_per_accelerator.mean


def _contradict(lower: RunSummary, higher: RunSummary) -> bool:
    return (_is_limited(lower) or _is_limited(higher)) and _are_equal(lower, higher)


def _is_limited(run: RunSummary) -> bool:
    near_cap = _mean_power_w(run) * CURRENT.cap_tolerance >= (run.cap_w or 0)
    return near_cap or (run.held_share or 0) > CAPPED_SHARE


def _are_equal(lower: RunSummary, higher: RunSummary) -> bool:
    return all(
        _are_close(first, second)
        for first, second in zip(_estimates(lower), _estimates(higher), strict=True)
        if first is not None and second is not None
    )


def _estimates(run: RunSummary) -> tuple[Estimate | None, ...]:
    headline = run.headline
    return (
        headline.mean_power_w_per_accelerator,
        headline.items_per_s_per_accelerator,
        # Power and throughput can agree within 1 % each and still differ in efficiency.
        headline.joules_per_item,
        run.clocks.sm_mhz,
    )


def _are_close(first: Estimate, second: Estimate) -> bool:
    low, high = sorted((first.mean, second.mean))
    return high - low < EQUAL_SHARE * high or high - low <= first.half_width + second.half_width


def _violate(lower: RunSummary, higher: RunSummary) -> Violation:
    return Violation(
        SAMPLES,
        "",
        f"{_format_figures(lower)} at {lower.cap_w:g} W, and {_format_figures(higher)} at "
        f"{higher.cap_w:g} W ({higher.name})",
        "another power, clock or throughput at another cap",
        f"There is no evidence that the cap of {lower.cap_w:g} W is in force. The run stands and "
        "is shown as not enforced.",
    )


def _format_figures(run: RunSummary) -> str:
    clock = run.clocks.sm_mhz
    clock_text = "" if clock is None else f"{clock.mean:.5g} MHz, "
    items_per_s = run.headline.items_per_s_per_accelerator.mean
    return f"{_mean_power_w(run):.5g} W, {clock_text}{items_per_s:.5g} items/s"
