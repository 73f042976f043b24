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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import last_epoch, shorten_batches

RULE = Rule("P108", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    requests = bundle.result["settings"].get("requests")
    if isinstance(bundle.computed, str) or (requests and requests["rate_per_s"] is not None):
        return
    rate = bundle.computed["headline"]["items_per_s_per_accelerator"]
    if rate is None or rate["sd"] is None or not rate["mean"] > 0:
        return
    variation = rate["sd"] / rate["mean"]
    if variation > bundle.protocol.max_throughput_cv:
        yield Found(
            RESULT,
            "/headline/items_per_s_per_accelerator",
            f"coefficient of variation {100 * variation:.2f} % over {rate['n']} epochs",
            f"at most {100 * bundle.protocol.max_throughput_cv:g} %",
            "The run was not steady. Find out what disturbed it, and run again.",
        )


@RULE.mutation("P103")
def every_second_epoch_faster(evidence: Evidence) -> None:
    shorten_batches(evidence, 0.92, *range(1, last_epoch(evidence) + 1, 2))


@RULE.mutation("P103")
def later_half_faster(evidence: Evidence) -> None:
    shorten_batches(evidence, 0.92, *range(6, last_epoch(evidence) + 1))
