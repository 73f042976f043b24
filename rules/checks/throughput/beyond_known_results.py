"""The throughput is far above every known result

## What it does
Compares the throughput per accelerator of closed runs in full size with the best committed result
of the same board, workload and variant. The rule reports a run that is more than 10 % faster.
Boards, workloads and variants without a committed result are not judged.

A run with this finding wins no comparison until a reviewer accepts it or the LOG lists it. X114
makes the same comparison with the other runs of a round.

## Why it is bad
A result far ahead of all others is more often a mistake or a false claim than a discovery: another
batch, another precision, another variant or more boards than stated. It is a warning, because
better software can be the reason.

## What to do
Explain the difference to a reviewer: batch, packages, clocks and options. If the result holds, the
next version of the rule book knows it.

## Source
`rules/known_results.py`: 18 closed runs of H200s at 700 W in eight combinations of workload and
variant, of which three have one run only. Runs of one combination on one board each differ by 3.1 %
at most; the limit leaves room for newer software. Other caps need no value of their own, because a
lower cap gives no higher throughput.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.known_results import BEST_ITEMS_PER_S
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
"""Largest usual gain over the best known result, as a share; committed runs of one combination
differ by 0.031 at most."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.figures is None or bundle.declaration.size != "full":
        return
    boards = [bundle.real_board_of(uuid) for uuid in bundle.accelerator_ranks]
    items_per_s = bundle.figures.headline.items_per_s_per_accelerator.mean
    for name in sorted({board.id for board in boards if board}):
        best = BEST_ITEMS_PER_S.get((name, bundle.declaration.workload, bundle.variant))
        if best is not None and items_per_s > best * (1 + MAX_GAIN):
            yield Violation(
                RESULT,
                "/headline/items_per_s_per_accelerator",
                f"{items_per_s:.4g} items/s per accelerator, {items_per_s / best - 1:.0%} above "
                f"the best known result of this variant on {name}",
                f"at most {MAX_GAIN:.0%} above {best:g}, or a review",
            )
