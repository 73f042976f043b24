"""The energy counter does not advance under load

## What it does
Looks for scored epochs in which the energy counter of an accelerator does not advance.

## Why it is bad
A working board uses energy. A counter that is stuck does not show it.

## What to do
Reload the driver and run again. If the board has no working counter, leave `energy_mj` empty.

## Source
Protocol, section "energy of record": the counter's self-test.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E102", Severity.ERROR, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    stuck_epochs: dict[str, list[int]] = {}
    for part in bundle.scored_parts:
        # None means that the counter was not read, which E106 reports.
        if part.energy_j_counter == 0:
            stuck_epochs.setdefault(part.accelerator, []).append(part.epoch)
    for accelerator, epochs in stuck_epochs.items():
        yield Violation(
            SAMPLES,
            "",
            f"{accelerator}: energy_mj does not advance in epochs {', '.join(map(str, epochs))}",
            "a counter that advances under load",
        )
