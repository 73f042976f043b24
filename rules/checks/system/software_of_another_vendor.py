"""Software that cannot drive the board

## What it does
Compares the vendor of the boards that worked with the meter, and in the closed division with what
torch was built for: `+rocm` in its version is AMD's, `+cu` NVIDIA's, `+cpu` nobody's. A version
without such a mark is not judged.

## Why it is bad
A torch for CUDA computes nothing on an MI300X, and NVML reads no AMD board. Environment, meter and
system are then not those of one run.

## What to do
Hand in system.json and environment.json as `bench-submit` writes them, on the node that ran the
workload.

## Source
PyTorch's installation guide, on the local versions of its builds. In the open division other
frameworks may compute.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import ENVIRONMENT, RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M111", Severity.ERROR, standings=("closed", "open"), added="1.3.0")

METERS = {"nvidia": "NVIDIA", "amd": "AMD"}
BUILDS = {"+cu": "NVIDIA", "+rocm": "AMD", "+cpu": "no accelerator"}


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    known = [a.board for uuid, a in bundle.accelerators.items() if uuid in bundle.accelerator_ranks]
    vendors = sorted({b.vendor for b in known if b is not None})
    meter = bundle.result["sampling"]["meter"].partition(":")[0]
    version = bundle.environment["packages"].get("torch", "")
    for vendor in vendors:
        if METERS.get(meter, vendor) != vendor:
            yield _found(RESULT, "/sampling/meter", meter, vendor)
        for mark, built_for in BUILDS.items():
            if bundle.standing == "closed" and mark in version and built_for != vendor:
                yield _found(ENVIRONMENT, "/packages/torch", version[:200], vendor)


def _found(file: str, pointer: str, found: str, vendor: str) -> Violation:
    message = (
        "This software cannot have used these boards. Hand in what was recorded on the node "
        "that ran."
    )
    return Violation(file, pointer, found, f"one for boards of {vendor}", message)
