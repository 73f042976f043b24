"""The power state differs from the declared one

## What it does
Computes, per accelerator, the share of scored samples in the declared power state, and compares it
with the limit of the protocol (99 %). Failed samples are ignored. On a board whose driver chooses
the state (GeForce, TITAN, Quadro and RTX), the state is that of P0, P1 and P2 which most samples
have.

## Why it is bad
A board in another power state has other clocks. A run must stay in one power state.

## What to do
Find what changed the state, such as a power manager or an idle phase in the loop, and run again. A
driver's choice of P2 for all computing is no offence: name the board as the driver does.

## Source
Protocol, section "power state"; `driver_chooses_state` in `rules/boards.py`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.metrics.power.compute_state import find_required_state
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C104", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    declared = bundle.declaration.power.state
    # C105 reports a missing state.
    if declared is None:
        return
    samples, limit = bundle.scored_samples, bundle.protocol.state_share
    states = samples.text("power_state")
    # The usual case, without a pass over every accelerator.
    if not (~states.equals(declared)).any():
        return
    # A failed read has no state. W108 limits the share of failed reads.
    succeeded = samples.text("status").equals("ok")
    accelerators = samples.text("accelerator")
    for accelerator in accelerators.at(succeeded & ~states.equals(declared)).distinct():
        selected = succeeded & accelerators.equals(accelerator)
        known = bundle.accelerators.get(accelerator)
        name = known.name if known else ""
        required = find_required_state(declared, name, states.at(selected))
        differs = ~states.equals(required)
        share = 1 - differs[selected].mean()
        if share < limit:
            others = sorted(states.at(differs & selected).distinct())
            names = ", ".join(state or "no state" for state in others[:4])
            yield Violation(
                SAMPLES,
                format_rows(samples, differs & selected),
                f"{accelerator}: {100 * share:.1f} % of the scored samples in {required}, "
                f"others in {names}",
                f"at least {100 * limit:g} %",
            )
