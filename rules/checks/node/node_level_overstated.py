"""Level of the node measurement overstated

## What it does
Derives the level of the measurement from the evidence, and compares it with the stated one.

## Why it is bad
Readers choose by the level which figures they compare.

## What to do
State the level that `bench-submit` derives. For a higher one, see what it needs:
[node power](../node-power.md).

## Source
EE HPC WG, Power Measurement Methodology 2.0. Level 1: a sample a second over a core phase of at
least 60 s, accuracy 5 %. Level 2: readings before and behind it too, 2 %. Level 3: an integrating
counter, 1 %.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N112", Severity.ERROR, since="1.1", added="1.6.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    stated = (bundle.result.get("node") or {}).get("level")
    if bundle.node_figures is None or stated is None:
        return
    derived = bundle.node_figures.headline.level
    if stated > derived:
        yield Violation(RESULT, "/node/level", f"level {stated}", f"at most level {derived}")
