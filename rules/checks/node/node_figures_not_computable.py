"""Figures of nodes cannot be computed

## What it does
Computes the figures of nodes from node_samples.csv.gz and reports why that fails.

## Why it is bad
The bundle states a node measurement that gives no figures.

## What to do
Read the reason. Run again with a meter that reads every node of the run at least once a second.

## Source
`rules/metrics/node/figures.py`: figures need 30 readings of each feed in the scored epochs.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import NODE_SAMPLES_FILE
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N119", Severity.ERROR, since="1.1", added="1.6.0", waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    # Meters of a module or of a CPU give no figures of nodes.
    if bundle.node_figures_error and bundle.system_declaration.meters_of_record:
        found, expected = bundle.node_figures_error, "readings that give figures"
        yield Violation(NODE_SAMPLES_FILE, "", found, expected)
