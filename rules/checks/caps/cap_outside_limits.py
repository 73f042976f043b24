"""A declared cap outside the limits of the board

## What it does
Compares the declared cap with the least and the highest limit that each readback gives. A least
limit of 0 says nothing (AMD's driver gives it, and takes any cap), so that only the highest is
judged. Whether such a cap was kept, C102 judges.

## Why it is bad
No board can be set to such a cap, so the run was not made under it.

## What to do
Choose a cap within the limits that `bench-submit doctor` shows, and let `--cap` set it; or leave
`--cap` out, to declare the one in force.

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
    cap_w = bundle.result["power"]["cap_w"]
    if cap_w is None:
        return
    seen = set()
    for place, readback in enumerate(bundle.result["readbacks"]):
        least_mw, most_mw = readback["min_mw"] or 0, readback["max_mw"]
        below = cap_w * 1e3 < least_mw
        above = most_mw is not None and cap_w * 1e3 > most_mw
        if (below or above) and readback["accelerator"] not in seen:
            seen.add(readback["accelerator"])
            yield Violation(
                RESULT,
                "/power/cap_w",
                f"{cap_w:g} W",
                f"{_limits(least_mw, most_mw)} for {readback['accelerator']} (/readbacks/{place})",
                "The board cannot be set to this cap. Declare the one that was in force.",
            )


def _limits(least_mw: int, most_mw: int | None) -> str:
    least = f"at least {least_mw / 1e3:g} W" if least_mw else ""
    most = "" if most_mw is None else f"at most {most_mw / 1e3:g} W"
    return " and ".join(filter(None, (least, most)))
