"""A board was not in its declared power state

## What it does
Compares the power state of the samples in the windows with the state that the session declares. At
least 99 % must be equal. C104 says which state counts where the driver chooses it.

## Why it is bad
In another state the board has other clocks, so that speed and power are those of another setting.

## What to do
Let nothing else control the board, and measure the session again.

## Source
Section "power state" of the protocol, and rule C104.
"""

from collections.abc import Iterator

from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.metrics.power.compute_state import find_required_state
from rules.protocol import CURRENT
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y123", Severity.ERROR, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for windows in bundle.windows:
        declared, samples = windows.session.power.state, windows.samples
        read = windows.inside & samples.text("status").equals("ok")
        if declared is None or not read.any():
            continue
        states, name = samples.text("power_state"), windows.accelerator.name
        required = find_required_state(declared, name, states.at(read))
        differs = read & ~states.equals(required)
        share = 1 - differs.sum() / read.sum()
        if share < CURRENT.state_share:
            others = ", ".join(sorted(states.at(differs).distinct())[:4])
            yield Violation(
                SAMPLES,
                format_rows(samples, differs),
                f"{windows.name}: {100 * share:.1f} % of the samples in windows in {required}, "
                f"others in {others or 'no state'}",
                f"at least {100 * CURRENT.state_share:g} %",
            )
