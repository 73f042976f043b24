"""The throughput is far above every known result

## What it does
Compares closed runs in full size with the committed results of the same board, workload and
variant. The rule reports

- a throughput per accelerator that is more than 10 % above the best of them; or
- at a cap within 5 % of theirs, items per SM clock cycle that are more than 5 % above the best.

Boards, workloads and variants without a committed result are not judged.

A run with this finding wins no comparison until a reviewer accepts it or the LOG lists it. X114 and
X115 make the same comparisons with the other runs of a round.

## Why it is bad
A result far ahead of all others is more often a mistake or a false claim than a discovery: another
batch, another precision, another variant or more boards than stated. Boards differ in their clock,
and the throughput follows it; the work per cycle depends on the software. It is a warning, because
better software can be the reason.

## What to do
Explain the difference to a reviewer: batch, packages, clocks and options. If the result holds, the
next version of the rule book knows it.

## Source
`rules/known_results.py`: 18 closed runs of H200s at 700 W in eight combinations of workload and
variant, of which two have one run only. On one board each, runs of one combination differ by 3.1 %
at most in throughput, and by 1.7 % at most per clock cycle. The limits leave room for newer
software. A lower cap gives no higher throughput, but it may give more work per cycle where the
memory is the limit, so that the second comparison needs the same cap.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.known_results import KNOWN_CAP_W, KNOWN_RESULTS
from rules.metrics.run import mean_clocks
from rules.rule import BundleRule

RULE = BundleRule(
    __name__,
    "T123",
    Severity.WARNING,
    standings=("closed",),
    added="1.5.0",
    statistical=True,
    bars_winning=True,
)

MAX_GAIN = 0.1
"""Largest usual gain in throughput over the best known result, as a share; committed runs of one
combination differ by 0.031 at most."""
MAX_GAIN_PER_CYCLE = 0.05
"""The same for items per clock cycle; committed runs differ by 0.017 at most."""
SAME_CAP = 0.05
"""Largest difference of caps that count as equal, as a share."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.figures is None or bundle.declaration.size != "full":
        return
    boards = [bundle.real_board_of(uuid) for uuid in bundle.accelerator_ranks]
    items_per_s = bundle.figures.headline.items_per_s_per_accelerator.mean
    clock_mhz = mean_clocks(bundle.figures.epochs).sm_mhz
    has_known_cap = abs((bundle.cap_w or 0.0) / KNOWN_CAP_W - 1) <= SAME_CAP
    for name in sorted({board.id for board in boards if board}):
        known = KNOWN_RESULTS.get((name, bundle.declaration.workload, bundle.variant))
        if known is None:
            continue
        yield from _compare(items_per_s, known.items_per_s, MAX_GAIN, "items/s per accelerator")
        if has_known_cap and clock_mhz and clock_mhz.mean > 0:
            per_cycle = items_per_s / clock_mhz.mean
            best = known.items_per_megacycle
            yield from _compare(per_cycle, best, MAX_GAIN_PER_CYCLE, "items per million SM cycles")


def _compare(value: float, best: float, max_gain: float, unit: str) -> Iterator[Violation]:
    if value > best * (1 + max_gain):
        yield Violation(
            RESULT,
            "/headline/items_per_s_per_accelerator",
            f"{value:.4g} {unit}, {value / best - 1:.0%} above the best known result of this "
            "board, workload and variant",
            f"at most {max_gain:.0%} above {best:.4g}, or a review",
        )
