"""Power under load is below the idle power of the board

## What it does
Compares every power reading in a scored epoch with the lowest power in W that a board of that model
draws, idle or not.

## Why it is bad
The readings are in another unit (a factor of 1000 is the usual mistake), belong to another board,
or were scaled.

## What to do
Check the unit of the meter, and that it reads the board that worked.

## Source
Protocol, section "bounds"; idle powers in `rules/boards.py`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, expand_by_accelerator, find_offenders
from rules.finding import Severity, Violation, format_count
from rules.metrics.power.readings import POWER_READERS, are_sentinels
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W107", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    samples = bundle.scored_samples
    boards = {uuid: bundle.board_of(uuid) for uuid in bundle.accelerators}
    # A board without a known idle power has the limit NaN, which no reading is below.
    idle_w = {
        uuid: board.idle_power_w for uuid, board in boards.items() if board and board.idle_power_w
    }
    lowest_w = expand_by_accelerator(samples, idle_w)
    for column, read_w in POWER_READERS:
        power_w = read_w(samples)
        # W105 reports zeros and W104 sentinels.
        low = (power_w < lowest_w) & (power_w > 0) & ~are_sentinels(power_w)
        for uuid, where, count in find_offenders(samples, low):
            yield Violation(
                SAMPLES,
                where,
                f"{uuid}: {format_count(count, 'reading')} below idle power in {column}, "
                f"such as {power_w[low][0]:g} W",
                f"at least {idle_w[uuid]:g} W, the idle power of the board",
            )
