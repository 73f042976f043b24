"""The result is far above every known result

## What it does
Compares runs in full size with the committed results of the same board, workload and variant, all
per accelerator. The rule reports

- a throughput that is more than 10 % above the best of them;
- at a cap within 5 % of theirs, or with a throughput of at least 95 % of the best, items per joule
  that are more than 10 % above the best; or
- at a cap within 5 % of theirs, items per SM clock cycle that are more than 5 % above the best.

Open runs, and variants without a committed result, are compared with the best of all variants. T124
reports boards and workloads without any committed result.

A run with this finding wins no comparison until a reviewer accepts it or the LOG lists it. X114 and
X115 make the same comparisons with the other runs of a round.

## Why it is bad
A result far ahead of all others is more often a mistake or a false claim than a discovery: another
batch, another precision, another variant or more boards than stated, or readings that are too low.
Boards differ in their clock, and the throughput follows it; the work per cycle depends on the
software. It is a warning, because better software can be the reason.

## What to do
Explain the difference to a reviewer: batch, packages, clocks and options. If the result holds, the
next version of the rule book knows it.

## Source
`rules/known_results.py`: closed and open runs of H100s and H200s at 700 W. Many combinations of
board, workload and variant have one run only. Runs on one board each, of one combination, batch
size and recipe, differed by 4.4 % at most in throughput and in items per joule, and by 2.1 % at
most per clock cycle, when the limits were set. The limits leave room for newer software. Five new
recipes of the reference implementations brought 8 to 18 % more throughput, and 1 to 25 % more work
per cycle. A lower cap gives no higher throughput, but it gives more items per joule and, where the
memory is the limit, more work per cycle. A lower cap that saves much energy and costs no throughput
is not known of any workload that the cap limits.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.known_results import KNOWN_CAP_W, find_known_result
from rules.metrics.run import mean_clocks
from rules.rule import BundleRule

RULE = BundleRule(
    __name__,
    "T123",
    Severity.WARNING,
    standings=("closed", "open"),
    added="1.5.0",
    statistical=True,
    bars_winning=True,
)

MAX_GAIN = 0.1
"""Largest usual gain in throughput or items per joule over the best known result, as a share;
committed runs of one combination and recipe differ by 0.044 at most in both."""
MAX_GAIN_PER_CYCLE = 0.05
"""The same for items per clock cycle; committed runs of one recipe differ by 0.021 at most."""
SAME_THROUGHPUT = 0.05
"""Throughput counts as that of the best known result if it is lower by at most this share. Boards
differ by 0.044."""
SAME_CAP = 0.05
"""Largest difference of caps that count as equal, as a share."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.figures is None or bundle.declaration.size != "full":
        return
    headline, clock_mhz = bundle.figures.headline, mean_clocks(bundle.figures.epochs).sm_mhz
    items_per_s = headline.items_per_s_per_accelerator.mean
    has_known_cap = abs((bundle.cap_w or 0.0) / KNOWN_CAP_W - 1) <= SAME_CAP
    # Whatever an open run calls its variant, it may use the software of any of them.
    variant = bundle.variant if bundle.standing == "closed" else ""
    boards = [bundle.real_board_of(uuid) for uuid in bundle.accelerator_ranks]
    for name in sorted({board.id for board in boards if board}):
        known = find_known_result(name, bundle.declaration.workload, variant)
        if known is None:
            continue
        yield from _compare(
            "items_per_s_per_accelerator", items_per_s, known.items_per_s, "items/s per accelerator"
        )
        is_as_fast = items_per_s >= known.items_per_s * (1 - SAME_THROUGHPUT)
        if (has_known_cap or is_as_fast) and headline.items_per_joule:
            per_joule = headline.items_per_joule.mean
            yield from _compare("items_per_joule", per_joule, known.items_per_joule, "items/J")
        if has_known_cap and clock_mhz and clock_mhz.mean > 0:
            yield from _compare(
                "items_per_s_per_accelerator",
                items_per_s / clock_mhz.mean,
                known.items_per_megacycle,
                "items per million SM cycles",
                MAX_GAIN_PER_CYCLE,
            )


def _compare(
    figure: str, value: float, best: float, unit: str, max_gain: float = MAX_GAIN
) -> Iterator[Violation]:
    if value > best * (1 + max_gain):
        yield Violation(
            RESULT,
            f"/headline/{figure}",
            f"{value:.4g} {unit}, {value / best - 1:.0%} above the best known result of this "
            "board and workload",
            f"at most {max_gain:.0%} above {best:.4g}, or a review",
        )
