"""Power readings are a driver's mark for "not available"

## What it does
Looks in the scored samples for values that are not power readings: all ones in 16 or 32 bits, as
milliwatts or as watts, and negative values.

## Why it is bad
Drivers return such values if a quantity is not supported or a read failed. Integrated, they give an
arbitrary energy.

## What to do
Record a failed read as an empty cell with the reason in `status`.

## Source
AMD SMI library documentation: values not supported are returned as all ones (65535 for
`current_socket_power`).
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, find_offenders
from rules.finding import Severity, Violation
from rules.metrics.power.readings import POWER_READERS, are_sentinels
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W104", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    samples = bundle.scored_samples
    for column, read_w in POWER_READERS:
        power_w = read_w(samples)
        invalid = are_sentinels(power_w)
        for accelerator, where, count in find_offenders(samples, invalid):
            yield Violation(
                SAMPLES,
                where,
                f"{accelerator}: {count} values in {column} that are no power, "
                f"such as {power_w[invalid][0]:.10g} W",
                "milliwatts, or an empty cell and a status",
            )
