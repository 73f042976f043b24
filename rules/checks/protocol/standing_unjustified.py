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
from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P112", Severity.ERROR, standings=("closed", "open"), waivable=False)

PRETENDING_METERS = ("simulated", "replayed")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
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


def _found(bundle: Bundle, file: str, pointer: str, found: str, expected: str) -> Violation:
    message = (
        f"This is not allowed with the standing {bundle.standing}. Declare what the run was, "
        "or run again."
    )
    return Violation(
        file, pointer, found, f"{expected}, in a bundle that is {bundle.standing}", message
    )
