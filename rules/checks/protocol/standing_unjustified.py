"""The standing is not allowed for this run

## What it does
Looks, in `closed` and `open` bundles, for properties that only a demo may have: the smoke size, a
simulated or replayed meter, a simulated board. In `closed` bundles the input must be synthetic. A
control run has these properties only if all its boards are simulated, or in the smoke size. The
standing `control` belongs to the workload `burn`, and that workload has no other standing. A
`closed` or `control` bundle must not declare a locked SM clock.

## Why it is bad
Demo bundles exercise the pipeline and must never be compared with measurements. In the closed
division the input is fixed, so that storage does not affect the comparison, and all boards choose
their clocks themselves. A control run computes
nothing of use, so it must never be compared with a workload. A run of a workload must not pass as
control run, because the power of other runs is stated as a share of its power.

## What to do
Declare the standing `demo`, or measure on a real board with the full size. Declare `open` for a run
on real input or with a locked SM clock. Make control runs with `bench-submit burn`.

## Source
Protocol, section "input"; words "standing".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P112", Severity.ERROR, waivable=False)

NOT_MEASURING = ("simulated", "replayed")
"""Meters that do not measure."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = bundle.workload
    # T108 reports unknown workloads.
    if workload is not None and workload.is_control != (bundle.standing == "control"):
        allowed = "control" if workload.is_control else "closed, open or demo"
        yield Violation(
            RESULT, "/standing", bundle.standing, f"{allowed}, for the workload {workload.id}"
        )
    if bundle.judged_standing == "demo":
        return
    settings_input = bundle.settings.input
    if bundle.declaration.size == "smoke":
        yield _violate(bundle, RESULT, "/size", "smoke", "full")
    if bundle.meter in NOT_MEASURING:
        meter = bundle.declaration.sampling.meter
        yield _violate(bundle, RESULT, "/sampling/meter", meter, "a meter that measures")
    # The open division may read real data.
    if bundle.standing == "closed" and settings_input != "synthetic":
        yield _violate(bundle, RESULT, "/settings/input", settings_input, "synthetic")
    locked_mhz = bundle.declaration.power.sm_clock_mhz
    # The power of a control run is what others are compared with.
    if bundle.standing in ("closed", "control") and locked_mhz is not None:
        pointer = f"{bundle.declaration.power.pointer}/sm_clock_mhz"
        yield _violate(bundle, RESULT, pointer, f"{locked_mhz} MHz", "no locked SM clock")
    for accelerator in bundle.listed_accelerators:
        if accelerator.is_simulated:
            pointer = f"{accelerator.pointer}/name"
            yield _violate(bundle, SYSTEM, pointer, accelerator.name, "a real board")


def _violate(bundle: Bundle, file: str, pointer: str, observed: str, allowed: str) -> Violation:
    return Violation(
        file, pointer, observed, f"{allowed}, in a bundle with the standing {bundle.standing}"
    )
