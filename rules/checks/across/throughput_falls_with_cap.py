"""The throughput is lower at a higher cap

## What it does
Compares the runs of a center, on boards of one name, that differ only in their cap. Directory and
name of the system are ignored. The rule reports a run whose throughput is lower than that of a run
at a lower cap, by more than 2 % and by more than both 95 % intervals. Caps that differ by less than
the tolerance of a cap, 2 %, count as equal.

The rule reports the run at the higher cap and names the other.

## Why it is bad
More power does not slow a board down. Either a run was disturbed, hot or made with other clocks, or
the caps were exchanged, and the efficiency at one of the two is wrong. It is a warning, because
heat, another job on the node or another system of the center with the same boards can cause it too.

## What to do
Make both runs again on a board without other load. Repeats (`--repeat`) show which run is wrong.

## Source
Mayr et al. 2026, Tables 3 and 4: in 95 measured points no throughput falls as the cap rises. The
epochs of the reference bundles differ by 0.006 to 0.79 % (coefficient of variation); 2 % leaves
room for repeats, which differ more.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.protocol import CURRENT
from rules.rule import RoundRule
from rules.run_groups import group_by_comparison_key
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X106", Severity.WARNING, added="1.3.0")

NOISE_SHARE = 0.02
"""Largest decrease that counts as noise, as a share of the throughput at the lower cap."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for group in group_by_comparison_key(runs):
        # The group is sorted by cap. `fastest` is the fastest run of those whose cap is lower than
        # that of `run` by more than the tolerance; the run at index `pending` is the next of them.
        fastest: RunSummary | None = None
        pending = 0
        for run in group:
            # `pending` only moves forward, so a group takes linear time.
            while (group[pending].cap_w or 0) * CURRENT.cap_tolerance < (run.cap_w or 0):
                candidate = group[pending]
                fastest = max(fastest, candidate, key=_items_per_s) if fastest else candidate
                pending += 1
            if fastest is not None and _is_slower(fastest, run):
                yield run.path, _violate(fastest, run)


def _items_per_s(run: RunSummary) -> float:
    return run.headline.items_per_s_per_accelerator.mean


def _is_slower(lower: RunSummary, higher: RunSummary) -> bool:
    """Whether the run at the higher cap is slower, beyond noise and intervals."""
    decrease = _items_per_s(lower) - _items_per_s(higher)
    return decrease > NOISE_SHARE * _items_per_s(lower) and decrease > sum(
        run.headline.items_per_s_per_accelerator.half_width for run in (lower, higher)
    )


def _violate(lower: RunSummary, higher: RunSummary) -> Violation:
    return Violation(
        RESULT,
        "/headline/items_per_s",
        f"{_items_per_s(higher):.5g} items/s at {higher.cap_w:g} W, and "
        f"{_items_per_s(lower):.5g} items/s at {lower.cap_w:g} W ({lower.name})",
        "a throughput that does not decrease with the cap",
    )
