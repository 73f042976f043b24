"""Scored epochs whose throughput varies too much

## What it does
Computes the coefficient of variation (standard deviation over mean) of the throughputs of the
scored epochs and compares it with the protocol's limit. Runs of a server whose requests arrive at a
rate are left out.

## Why it is bad
A run that had not settled, or that shared its node, does not have one throughput that could be
compared. Where requests arrive by chance, so does the work.

## What to do
Look at the epochs in the result: a trend means that the board was still warming up, a single slow
epoch that something else ran. Remove the cause and run again.

## Source
Protocol, section "steadiness".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P108", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    requests = bundle.result["settings"].get("requests")
    if bundle.figures is None or (requests and requests["rate_per_s"] is not None):
        return
    rate = bundle.figures.headline.items_per_s_per_accelerator
    if rate.sd is None or not rate.mean > 0:
        return
    variation = rate.sd / rate.mean
    if variation > bundle.protocol.max_throughput_cv:
        yield Violation(
            RESULT,
            "/headline/items_per_s_per_accelerator",
            f"coefficient of variation {100 * variation:.2f} % over {rate.n} epochs",
            f"at most {100 * bundle.protocol.max_throughput_cv:g} %",
            "The run was not steady. Find out what disturbed it, and run again.",
        )
