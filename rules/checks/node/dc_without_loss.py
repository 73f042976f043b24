"""Direct current without the loss of its conversion

## What it does
Looks for meters of record that measure direct current and state no `conversion_loss`.

## Why it is bad
Power behind the power supplies lacks their loss, so it must not be compared with power at the plug.

## What to do
State the loss at this load, as the power supply's certificate gives it. Or set `of_record` to
false: the readings are then shown and no figures of nodes are computed from them.

## Source
80 PLUS certificates: 3 % to 12 %. MLPerf training logs state `conversion_eff` for the same reason.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N117", Severity.ERROR, since="1.1", added="1.6.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for meter in bundle.system_declaration.meters_of_record:
        if meter.current == "dc" and meter.conversion_loss is None:
            yield Violation(
                SYSTEM,
                f"{meter.pointer}/conversion_loss",
                f"meter {meter.id} measures direct current and states none",
                "the share of the power that its conversion loses",
            )
