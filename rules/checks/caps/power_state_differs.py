"""Another power state than the declared one

## What it does
Takes, per accelerator, the share of scored samples in the declared power state and compares it with
the protocol's limit. Failed samples do not count.

## Why it is bad
A board in another power state has other clocks. The states of one run must be one.

## What to do
Find out what changed the state (a power manager, an idle phase in the loop), and run again.

## Source
Protocol, section "power state".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C104", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    declared = bundle.result["power"]["state"]
    if declared is None:
        return
    samples = bundle.scored_samples
    states = samples.text("power_state")
    differs = ~states.equals(declared)
    if not differs.any():
        return
    read = samples.text("status").equals("ok")
    of = samples.text("accelerator")
    for accelerator in of.at(differs & read).distinct():
        own = read & of.equals(accelerator)
        share = 1 - differs[own].mean()
        if share < bundle.protocol.state_share:
            others = sorted(states.at(differs & own).distinct())
            yield Violation(
                SAMPLES,
                rows(samples, differs & own),
                f"{accelerator}: {100 * share:.1f} % of its scored samples in {declared}, "
                "others in "
                f"{', '.join(s or 'no state' for s in others[:4])}",
                f"at least {100 * bundle.protocol.state_share:g} %",
                "The board was not kept in the declared state. Find out what changed it, "
                "and run again.",
            )
