"""Energy counter of a node meter contradicts its power

## What it does
Compares the energy counter of each feed with the integral of its power readings over the scored
epochs, where the step of the counter is at most 0.5 % of that energy. They may differ by 2 %, or by
half an interval of the meter over the length of the scored epochs if that is more.

## Why it is bad
One of the two was altered, or the meter was read too rarely.

## What to do
Submit the readings as the meter gave them. If the counter counts something else, leave `energy_mj`
empty.

## Source
Own derivation: a meter at 1 Hz and its counter agree within 0.04 % over a run. At the edges, power
rises between two readings: in scored epochs of 9 s, readings at 1 Hz of a simulated meter gave
-3.3 %.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import NODE_SAMPLES_FILE
from rules.finding import Severity, Violation
from rules.metrics.energy import MetricsError
from rules.metrics.node.spans import join_spans, span_scored_epochs
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N108", Severity.ERROR, since="1.1", added="1.6.0")
MAX_DIFFERENCE = 0.02
MAX_EDGE_INTERVALS = 0.5


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # Most runs have no node meter, and finding the spans takes time.
    if not bundle.feed_traces:
        return
    scored = span_scored_epochs(bundle.declaration, bundle.batches)
    spans = {span.node: span for span in join_spans(scored)}
    for trace in bundle.feed_traces:
        span = spans.get(trace.feed.node)
        if span is None:
            continue
        window = [span.start_ns], [span.end_ns]
        try:
            counted_j, integrated_j = trace.read_counter(*window), trace.integrate_power(*window)
        except MetricsError:
            # N114 reports readings that do not cover the scored epochs.
            continue
        if counted_j is None or not counted_j[0] > 0:
            continue
        difference = float(integrated_j[0] / counted_j[0]) - 1
        edge_s = MAX_EDGE_INTERVALS * trace.meter.interval_ms / 1e3
        limit = max(MAX_DIFFERENCE, edge_s / span.seconds)
        if abs(difference) > limit:
            yield Violation(
                NODE_SAMPLES_FILE,
                "",
                f"{trace.label}: its power readings give {difference:+.1%} of its counter's energy",
                f"within {limit:.1%}",
            )
