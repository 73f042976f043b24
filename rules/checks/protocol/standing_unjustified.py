"""A standing that the facts of the run do not allow

## What it does
Looks, in bundles that claim `closed` or `open`, for what only a demo may have: the smoke size, a
simulated or replayed meter, a simulated board. In `closed` it also asks for synthetic input.

## Why it is bad
Demo bundles are there to try the pipeline. They must never be compared with measurements. In the
closed division the input is fixed, so that storage does not decide the comparison.

## What to do
Declare the standing `demo`, or measure on a real board with the full size. Declare `open` for a run
on real input.

## Source
Protocol, section "input"; words "standing".
"""

from collections.abc import Iterator

from rules.boards import SIMULATED_PREFIX
from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT, SYSTEM
from rules.rule import Bundle, Found, Rule, Severity

RULE = Rule("P112", Severity.ERROR, standings=("closed", "open"), waivable=False)

PRETENDING_METERS = ("simulated", "replayed")


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    result = bundle.result
    if result["size"] == "smoke":
        yield _found(bundle, RESULT, "/size", "smoke", "full")
    meter = result["sampling"]["meter"]
    if meter.partition(":")[0] in PRETENDING_METERS:
        yield _found(bundle, RESULT, "/sampling/meter", meter, "a meter that measures")
    if bundle.standing == "closed" and result["settings"]["input"] != "synthetic":
        yield _found(bundle, RESULT, "/settings/input", result["settings"]["input"], "synthetic")
    for n, node in enumerate(bundle.system["nodes"]):
        for a, accelerator in enumerate(node["accelerators"]):
            if accelerator["name"].startswith(SIMULATED_PREFIX):
                yield _found(
                    bundle,
                    SYSTEM,
                    f"/nodes/{n}/accelerators/{a}/name",
                    accelerator["name"],
                    "a real board",
                )


def _found(bundle: Bundle, file: str, pointer: str, found: str, expected: str) -> Found:
    message = (
        f"This is not allowed with the standing {bundle.standing}. Declare what the run was, "
        "or run again."
    )
    return Found(
        file, pointer, found, f"{expected}, in a bundle that is {bundle.standing}", message
    )


@RULE.mutation()
def simulated_meter(evidence: Evidence) -> None:
    evidence.result["sampling"]["meter"] = "simulated:h200"


@RULE.mutation("M115")
def simulated_boards(evidence: Evidence) -> None:
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = SIMULATED_PREFIX + accelerator["name"]


@RULE.mutation("T107")
def smoke_size(evidence: Evidence) -> None:
    evidence.result["size"] = "smoke"


@RULE.mutation("T112")
def real_input(evidence: Evidence) -> None:
    evidence.result["settings"]["input"] = "real"
