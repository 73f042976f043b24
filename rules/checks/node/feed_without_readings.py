"""Feed of a node meter without readings

## What it does
Compares the feeds that system.json declares with node_samples.csv.gz, in both directions: a
declared feed without readings, and readings of a feed or meter that is not declared.

## Why it is bad
A feed that is left out makes the node look better than it is.

## What to do
Submit the readings of all feeds. Declare every meter and feed that was read.

## Source
Format of the bundle.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import NODE_SAMPLES_FILE
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.metrics.node.traces import list_feeds
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N115", Severity.ERROR, since="1.1", added="1.6.0", waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    read = set() if bundle.node_samples is None else list_feeds(bundle.node_samples)
    declared = {
        (meter.id, feed.feed, feed.node): feed.pointer
        for meter in bundle.meters
        for feed in meter.feeds
    }
    for (meter_id, feed_name, node), pointer in declared.items():
        if (meter_id, feed_name, node) not in read:
            found = f"feed {feed_name} of meter {meter_id} on {node}: no readings"
            yield Violation(SYSTEM, pointer, found, "readings of every declared feed")
    for meter_id, feed_name, node in sorted(read - declared.keys()):
        found = f"readings of feed {feed_name} of meter {meter_id} on {node}"
        yield Violation(NODE_SAMPLES_FILE, "", found, "readings of feeds that system.json declares")
