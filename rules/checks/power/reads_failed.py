"""Too many failed reads

## What it does
Counts, per accelerator, the samples of scored epochs whose power is empty or whose `status` is not
`ok`, and compares their share with the protocol's limit.

## Why it is bad
A failed read is honest, but the trapezoid bridges it. With many of them the energy is guessed, and
a meter that fails under load fails where it matters.

## What to do
Look at `status` for the reason. Usual ones are another tool that holds the driver, and quantities
that need more rights.

## Source
Protocol, section "sampling".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, rows
from rules.finding import Severity, Violation
from rules.metrics.readings import has_power
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W108", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    most = bundle.protocol.max_failed_share
    samples = bundle.scored_samples
    failed = ~has_power(samples) | ~samples.text("status").equals("ok")
    if not failed.any():
        return
    of = samples.text("accelerator")
    for accelerator in of.at(failed).distinct():
        own = of.equals(accelerator)
        share = failed[own].mean()
        if share > most:
            reasons = samples.text("status").at(failed & own).to_list()
            yield Violation(
                SAMPLES,
                rows(samples, failed & own),
                f"{accelerator}: {100 * share:.1f} % of its scored samples failed, the "
                f"first with {reasons[0]!r}",
                f"at most {100 * most:g} %",
                "Too much of the power is not known. Remove the reason and run again.",
            )
