"""The declared cap lies outside the limits of the board

## What it does
Compares the declared cap with the lowest and highest limit in each readback. A lowest limit of 0 is
ignored, because AMD's driver reports it and accepts any cap. C102 judges whether the board kept the
cap.

## Why it is bad
The board cannot be set to such a cap, so the run was not made under it.

## What to do
Choose a cap within the limits that `bench-submit doctor` prints, and let `--cap` set it. Or omit
`--cap`, so that the harness declares the cap in force.

## Source
Protocol, section "caps".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C103", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    cap_w = bundle.cap_w
    if cap_w is None:
        return
    reported: set[str] = set()
    for readback in bundle.readbacks:
        # AMD's driver reports 0 as the lowest limit, which allows every cap.
        lowest_mw, highest_mw = readback.min_mw or 0, readback.max_mw
        below = cap_w * 1e3 < lowest_mw
        above = highest_mw is not None and cap_w * 1e3 > highest_mw
        # The limits of a board do not change during a run, so one violation per board is enough.
        if (below or above) and readback.accelerator not in reported:
            reported.add(readback.accelerator)
            limits = _format_limits(lowest_mw, highest_mw)
            yield Violation(
                RESULT,
                "/power/cap_w",
                f"{cap_w:g} W",
                f"{limits} for {readback.accelerator} ({readback.pointer})",
            )


def _format_limits(lowest_mw: int, highest_mw: int | None) -> str:
    lowest = f"at least {lowest_mw / 1e3:g} W" if lowest_mw else ""
    highest = "" if highest_mw is None else f"at most {highest_mw / 1e3:g} W"
    return " and ".join(filter(None, (lowest, highest)))
