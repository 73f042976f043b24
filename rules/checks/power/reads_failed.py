"""Too many failed reads

## What it does
Computes, per accelerator, the share of scored samples whose power is empty or whose `status` is not
`ok`, and compares it with the limit of the protocol (1 %).

## Why it is bad
A failed read is an honest record, but the trapezoid bridges it with a straight line. With many
failed reads the energy is an estimate.

## What to do
Read the reason in `status`. Usual reasons are another tool that blocks the driver, and quantities
that need more privileges.

## Source
Protocol, section "sampling".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.metrics.power.readings import has_power
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W108", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    limit, samples = bundle.protocol.max_failed_share, bundle.scored_samples
    # A status of `ok` beside an empty power is a failed read all the same.
    failed = ~has_power(samples) | ~samples.text("status").equals("ok")
    if not failed.any():
        return
    accelerators = samples.text("accelerator")
    for accelerator in accelerators.at(failed).distinct():
        selected = accelerators.equals(accelerator)
        share = failed[selected].mean()
        if share > limit:
            reasons = samples.text("status").at(failed & selected).to_list()
            yield Violation(
                SAMPLES,
                format_rows(samples, failed & selected),
                f"{accelerator}: {100 * share:.1f} % of the scored samples failed, "
                f"the first with {reasons[0]!r}",
                f"at most {100 * limit:g} %",
            )
