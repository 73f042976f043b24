"""The result is far above every known result

## What it does
Compares runs in full size with the committed results of the same board, workload and variant at the
nearest batch size, all per accelerator. The rule reports

- a throughput that is more than 5 % above the best of them;
- at a cap within 5 % of theirs, or with a throughput of at least 95 % of the best, items per joule
  that are more than 5 % above the best;
- at a lower cap, items per joule that are more than 5 % above the best times the largest saving
  that was published of this board at that cap;
- at a cap within 5 % of theirs, items per SM clock cycle that are more than 3 % above the best; or
- at such a cap and with a throughput of at least 95 % of the best, an SM clock that is more than
  3 % above all of them, with items per cycle that are more than 3 % below: a clock that is stated
  too high.

Open runs, and variants without a committed result, are compared with the best of all variants and
batch sizes, with limits of 10 and 5 %. T124 reports what has no committed result, and X122 caps
without a known result.

A run with this finding wins no comparison until a center reviews and accepts it or the rule is
waived. X114 and X115 make the same comparisons with the other runs of a round.

## Why it is bad
A result far ahead of all others is more often a mistake or a false claim than a discovery: another
batch, another precision, another variant or more boards than stated, or readings that are too low.
Boards differ in their clock, and the throughput follows it; the work per cycle depends on the
software. It is a warning, because better software can be the reason.

## What to do
Explain the difference to a reviewer: batch, packages, clocks and options. If the result holds, the
next version of the rule book knows it.

## Source
`rules/known_results.py`: closed and open runs of H100s and H200s at 700 W, and the savings at lower
caps of Mayr et al. 2026. Runs on one board each, of one combination, batch size and recipe, differ
by 4.4 % at most in throughput and in items per joule, and by 2.1 % at most per clock cycle; the
limits for a known variant are the next whole percent. Newer software gains more: five new recipes
of the reference implementations brought 8 to 18 % more throughput, and 1 to 25 % more work per
cycle. Such a run waits for its review. A lower cap gives no higher throughput, but it gives more
items per joule and, where the memory is the limit, more work per cycle.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.known_results import (
    KNOWN_CAP_W,
    SAME_CAP,
    KnownResult,
    count_batch_per_accelerator,
    find_best_result,
    find_known_result,
    find_largest_saving,
)
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

MAX_GAIN, MAX_GAIN_PER_CYCLE = 0.05, 0.03
"""Largest usual gain over the best known result of a variant, as a share: in throughput or items
per joule, where committed runs of one recipe differ by 0.044 at most, and in items per clock cycle,
where they differ by 0.021."""
MAX_GAIN_OF_OTHERS, MAX_GAIN_PER_CYCLE_OF_OTHERS = 0.1, 0.05
"""The same over the best of all variants, which may be another one than that of the run."""
SAME_THROUGHPUT = 0.05
"""Throughput counts as that of the best known result if it is lower by at most this share. Boards
differ by 0.044."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.figures is None or bundle.declaration.size != "full":
        return
    boards = [bundle.real_board_of(uuid) for uuid in bundle.accelerator_ranks]
    for name in sorted({board.id for board in boards if board}):
        # Whatever an open run calls its variant, it may use the software of any of them.
        found = (
            find_known_result(
                name,
                bundle.declaration.workload,
                bundle.variant,
                count_batch_per_accelerator(bundle),
            )
            if bundle.standing == "closed"
            else None
        )
        best = find_best_result(name, bundle.declaration.workload)
        if found is not None:
            yield from _compare(bundle, name, found[1], MAX_GAIN, MAX_GAIN_PER_CYCLE)
        elif best is not None:
            yield from _compare(
                bundle, name, best, MAX_GAIN_OF_OTHERS, MAX_GAIN_PER_CYCLE_OF_OTHERS
            )


def _compare(
    bundle: Bundle, board: str, known: KnownResult, max_gain: float, max_gain_per_cycle: float
) -> Iterator[Violation]:
    assert bundle.figures is not None
    headline, clock_mhz = bundle.figures.headline, mean_clocks(bundle.figures.epochs).sm_mhz
    items_per_s = headline.items_per_s_per_accelerator.mean
    cap_w = bundle.cap_w or 0.0
    has_known_cap = abs(cap_w / KNOWN_CAP_W - 1) <= SAME_CAP
    rate_key, rate_unit = "items_per_s_per_accelerator", "items/s per accelerator"
    yield from _limit(rate_key, items_per_s, known.items_per_s, rate_unit, max_gain)
    is_as_fast = items_per_s >= known.items_per_s * (1 - SAME_THROUGHPUT)
    if headline.items_per_joule:
        saving = 1.0 if has_known_cap or is_as_fast else find_largest_saving(board, cap_w)
        per_joule = headline.items_per_joule.mean
        allowed_gain = max(1.0, saving) * (1 + max_gain) - 1
        yield from _limit(
            "items_per_joule", per_joule, known.items_per_joule, "items/J", allowed_gain
        )
    if has_known_cap and clock_mhz and clock_mhz.mean > 0:
        per_cycle, unit = items_per_s / clock_mhz.mean, "items per million SM cycles"
        yield from _limit(rate_key, per_cycle, known.items_per_megacycle, unit, max_gain_per_cycle)
        least = known.least_per_megacycle
        is_higher = clock_mhz.mean > known.highest_mhz * (1 + max_gain_per_cycle)
        if is_as_fast and is_higher and per_cycle < least * (1 - max_gain_per_cycle):
            yield Violation(
                RESULT,
                f"/headline/{rate_key}",
                f"{per_cycle:.4g} {unit}, {1 - per_cycle / least:.0%} below every known result of "
                "this board and workload that is as fast",
                f"at most {max_gain_per_cycle:.0%} below {least:.4g}, or a review",
            )


def _limit(
    figure: str, value: float, best: float, unit: str, max_gain: float
) -> Iterator[Violation]:
    if value > best * (1 + max_gain):
        yield Violation(
            RESULT,
            f"/headline/{figure}",
            f"{value:.4g} {unit}, {value / best - 1:.0%} above the best known result of this "
            "board and workload",
            f"at most {max_gain:.0%} above {best:.4g}, or a review",
        )
