"""A higher cap with less throughput

## What it does
Compares the runs of a center, on boards of one name, that differ in their cap only; neither the
directory nor the name of the system counts. It speaks where a run at a higher cap has a lower
throughput than one at a lower cap, by more than 2 % and by more than both 95 % intervals. Caps
closer than the tolerance of a cap, 2 %, count as one.

It speaks of the run at the higher cap and names the other.

## Why it is bad
More power does not slow a board down. Either run was disturbed, hot or made with other clocks, or
the caps have been exchanged; efficiency at one of the two is wrong. It is a warning, because heat,
a neighbour on the node or another system of the center with the same boards can do it to an honest
run.

## What to do
Make both runs again on a board that is otherwise left alone. Repeats (`--repeat`) show which one is
off.

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
from rules.run_summary import RunSummary, group_by_comparison_key

RULE = RoundRule(__name__, "X106", Severity.WARNING, added="1.3.0")

NOISE = 0.02


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for runs in group_by_comparison_key(digests):
        fastest, waiting = None, 0
        for run in runs:
            while (runs[waiting].cap_w or 0) * CURRENT.cap_tolerance < (run.cap_w or 0):
                fastest = max((r for r in (fastest, runs[waiting]) if r is not None), key=_rate)
                waiting += 1
            if fastest is not None and _falls(fastest, run):
                yield run.path, _found(fastest, run)


def _rate(run: RunSummary) -> float:
    return run.headline.items_per_s_per_accelerator.mean


def _falls(lower: RunSummary, higher: RunSummary) -> bool:
    less = _rate(lower) - _rate(higher)
    return less > NOISE * _rate(lower) and less > sum(
        run.headline.items_per_s_per_accelerator.half_width for run in (lower, higher)
    )


def _found(lower: RunSummary, higher: RunSummary) -> Violation:
    return Violation(
        RESULT,
        "/headline/items_per_s",
        f"{_rate(higher):.5g} items/s at {higher.cap_w:g} W, and {_rate(lower):.5g} at "
        f"{lower.cap_w:g} W ({lower.name})",
        "at a higher cap no lower throughput, but for noise",
        "One of the two runs was disturbed, or their caps are exchanged. Make both again.",
    )
