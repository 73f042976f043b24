"""Much of an epoch outside the batches

## What it does
Compares, per scored epoch and accelerator, the time in which batches were active with the time from
the first batch to the end of the last one.

## Why it is bad
Only the time of active batches counts. Windows that cover a part of the work, such as the forward
pass alone, make a throughput that the system does not have.

## What to do
Record a batch from its first operation to its last, the optimiser's step included. If the
accelerator really waited in between, remove the reason. The run stands, but a reviewer should look
at it.

## Source
Protocol, section "what counts".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T109", Severity.WARNING)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    least = bundle.protocol.min_active_share
    low: dict[str, list[float]] = {}
    for part in bundle.scored_parts:
        start_ns, end_ns = bundle.spans[part.epoch, part.rank]
        share = 1e9 * part.active_s / (end_ns - start_ns)
        if share < least:
            low.setdefault(part.accelerator, []).append(share)
    for accelerator, shares in low.items():
        yield Violation(
            BATCHES,
            "",
            f"{accelerator}: batches active in {100 * min(shares):.1f} % of an epoch, in "
            f"{len(shares)} epochs",
            f"at least {100 * least:g} %",
            "Rates and power are of the active time alone. Record whole batches, or say "
            "why the accelerator waited.",
        )
