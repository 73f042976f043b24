"""Too much of an imported node log is missing

## What it does
Looks for intervals of more than 1.5 typical ones between the readings of an imported log (three
quarters of the intervals are at most typical), as readings leave that are left out when a log is
attached: marks of a meter, spikes and stretches that no node can have. From the first scored batch
to the last, at most 5 % of the readings of a feed may be missing. The energy of all feeds may be
wrong by at most 5 % as if the power there were the smallest or the largest of the readings. A feed
whose energy counter gives the energy counts for the first limit only. `missing_share` and
`energy_bound_j` of `node_sampling` must be stated, and be those of all attached readings.

## Why it is bad
Power that nobody read is interpolated. A figure over many such places is a guess.

## What to do
Log again with a meter that reads every interval, such as with a larger range. State what
`bench-submit attach-power` states.

## Source
EE HPC WG, Power Measurement Methodology 2.0: 5 % is the worst accuracy of a level.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import NODE_SAMPLES_FILE
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.metrics.node.missing import measure_missing
from rules.metrics.node.spans import join_spans, span_scored_epochs
from rules.metrics.node.traces import FeedTrace
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N120", Severity.ERROR, since="1.1", added="1.12.0")
MAX_SHARE = 0.05
MAX_ENERGY_SHARE = 0.05
SHARE_ROUNDING = 1e-5
ENERGY_ROUNDING = 1e-4
ENERGY_ROUNDING_J = 0.01


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    imported: dict[tuple[str, str], list[FeedTrace]] = {}
    for trace in bundle.feed_traces:
        if trace.meter.clock == "import" and trace.meter.covers_nodes:
            imported.setdefault((trace.meter.id, trace.feed.node), []).append(trace)
    if not imported:
        return
    yield from _check_statements(bundle, imported)
    spans = join_spans(span_scored_epochs(bundle.declaration, bundle.batches))
    for (meter_id, node), traces in imported.items():
        span_ns = next(((s.start_ns, s.end_ns) for s in spans if s.node == node), None)
        missing = span_ns and measure_missing(traces, span_ns)
        if not (span_ns and missing):
            continue
        label = f"meter {meter_id} on {node}"
        if missing.share > MAX_SHARE:
            yield Violation(
                NODE_SAMPLES_FILE,
                "",
                f"{label}: {missing.share:.1%} of the readings are missing in the scored epochs",
                f"at most {MAX_SHARE:.0%}",
            )
        seconds = (span_ns[1] - span_ns[0]) / 1e9
        energy_j = sum(float(trace.power_w.mean()) for trace in traces) * seconds
        if missing.energy_bound_j > MAX_ENERGY_SHARE * energy_j:
            yield Violation(
                NODE_SAMPLES_FILE,
                "",
                f"{label}: up to {missing.energy_bound_j:.0f} J of {energy_j:.0f} J in the scored "
                "epochs are missing or too much",
                f"at most {MAX_ENERGY_SHARE:.0%}",
            )


def _check_statements(
    bundle: Bundle, imported: dict[tuple[str, str], list[FeedTrace]]
) -> Iterator[Violation]:
    """Compare what is stated of all attached readings with these readings."""
    entries = bundle.declaration.node_sampling or ()
    stated = {(entry.meter, entry.node): entry for entry in entries}
    for (meter_id, node), traces in imported.items():
        entry, missing = stated.get((meter_id, node)), measure_missing(traces)
        if missing is None:
            continue
        share = entry.missing_share if entry else None
        bound_j = entry.energy_bound_j if entry else None
        tolerance_j = ENERGY_ROUNDING * missing.energy_bound_j + ENERGY_ROUNDING_J
        if (
            share is None
            or bound_j is None
            or abs(share - missing.share) > SHARE_ROUNDING
            or abs(bound_j - missing.energy_bound_j) > tolerance_j
        ):
            found = "nothing" if share is None or bound_j is None else f"{share:.2%}, {bound_j:g} J"
            yield Violation(
                RESULT,
                entry.pointer if entry else "/node_sampling",
                f"meter {meter_id} on {node}: {found} stated as missing",
                f"{missing.share:.2%} of the readings, {missing.energy_bound_j:.3f} J",
            )
