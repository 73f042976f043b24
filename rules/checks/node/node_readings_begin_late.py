"""Node readings do not surround the scored epochs

## What it does
Looks for feeds without usable readings before the first and behind the last scored batch, by at
least two intervals of the meter and the bound of its clock.

## Why it is bad
An error of the clock would move the first or last epoch out of the readings.

## What to do
Let the meter be read for 5 s before the run and after it, as `bench-submit run` does. For imported
logs, record longer.

## Source
Own derivation: the energy of an epoch needs a reading on either side of it.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import NODE_SAMPLES_FILE
from rules.finding import Severity, Violation
from rules.metrics.node.spans import join_spans, span_scored_epochs
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N114", Severity.ERROR, since="1.1", added="1.6.0")
INTERVALS = 2


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # Most runs have no node meter, and finding the spans takes time.
    if not bundle.feed_traces:
        return
    scored = span_scored_epochs(bundle.declaration, bundle.batches)
    bounds_ns = {
        (clock.meter, clock.node): clock.bound_ns for clock in bundle.declaration.node_clocks or ()
    }
    for span in join_spans(scored):
        for trace in bundle.feed_traces:
            if trace.feed.node != span.node or not trace.meter.covers_nodes:
                continue
            bound_ns = bounds_ns.get((trace.meter.id, span.node), 0)
            margin_s = max(INTERVALS * trace.meter.interval_ms / 1e3, bound_ns / 1e9)
            before_s = (span.start_ns - trace.zero_ns) / 1e9 - trace.times_s[0]
            after_s = trace.times_s[-1] - (span.end_ns - trace.zero_ns) / 1e9
            if min(before_s, after_s) < margin_s:
                yield Violation(
                    NODE_SAMPLES_FILE,
                    "",
                    f"{trace.label}: readings begin {before_s:.1f} s before the first scored batch "
                    f"and end {after_s:.1f} s behind the last",
                    f"at least {margin_s:.1f} s on either side",
                )
