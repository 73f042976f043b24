"""A declared cap outside the limits of the board

## What it does
Compares the declared cap with the least and the highest limit that each readback gives.

## Why it is bad
No board can be set to such a cap, so the run was not made under it.

## What to do
Declare the cap that is in force; `nvidia-smi -q -d POWER` shows it beside the limits.

## Source
Protocol, section "caps".
"""

from collections.abc import Iterator

from rules.records import Evidence
from rules.rule import Bundle, Found, Rule, Severity
from rules.tables import RESULT

RULE = Rule("C103", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    cap_w = bundle.result["power"]["cap_w"]
    if cap_w is None:
        return
    seen = set()
    for place, readback in enumerate(bundle.result["readbacks"]):
        least_mw, most_mw = readback["min_mw"], readback["max_mw"]
        below = least_mw is not None and cap_w * 1e3 < least_mw
        above = most_mw is not None and cap_w * 1e3 > most_mw
        if (below or above) and readback["accelerator"] not in seen:
            seen.add(readback["accelerator"])
            yield Found(
                RESULT,
                "/power/cap_w",
                f"{cap_w:g} W",
                f"{(least_mw or 0) / 1e3:g} W to {'any' if most_mw is None else f'{most_mw / 1e3:g}'} W for "
                f"{readback['accelerator']} (/readbacks/{place})",
                "The board cannot be set to this cap. Declare the one that was in force.",
            )


@RULE.mutation()
def cap_above_the_board(evidence: Evidence) -> None:
    cap_mw = evidence.result["readbacks"][0]["max_mw"] + 100_000
    evidence.result["power"]["cap_w"] = cap_mw / 1e3
    evidence.samples["cap_mw"] = float(cap_mw)
    for readback in evidence.result["readbacks"]:
        readback["enforced_mw"] = cap_mw


@RULE.mutation()
def cap_below_the_least_limit(evidence: Evidence) -> None:
    for readback in evidence.result["readbacks"]:
        readback["min_mw"] = round(1e3 * evidence.result["power"]["cap_w"]) + 1
