"""The clock of a node meter is not known to within a second

## What it does
Compares the bound of each clock offset in `node_clocks` with 1.0 s, for meters of record in closed
bundles.

## Why it is bad
Readings that lie a second beside the batches change the energy of the last epoch by about 2 %.

## What to do
Synchronise the clock of the meter by NTP, or let the harness read the meter during the run. Then
run again.

## Source
Simulated nodes around measured traces: readings that are 1 s late change the energy of a run by
0.18 % and that of its last epoch by 1.9 %.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "N105", Severity.ERROR, since="1.1", added="1.6.0", standings=("closed",)
)
MAX_BOUND_S = 1.0


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    meters_of_record = {meter.id for meter in bundle.system_declaration.meters_of_record}
    for clock in bundle.declaration.node_clocks or ():
        if clock.meter in meters_of_record and clock.bound_ns > MAX_BOUND_S * 1e9:
            yield Violation(
                RESULT,
                f"{clock.pointer}/bound_ns",
                f"meter {clock.meter} on {clock.node}: \u00b1 {clock.bound_ns / 1e9:.2f} s",
                f"at most {MAX_BOUND_S:g} s",
            )
