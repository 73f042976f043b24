"""The software belongs to another vendor than the board

## What it does
Compares the vendor of the boards that worked with the meter. In the closed division, it also
compares the vendor with the build of torch: `+rocm` in its version means AMD, `+cu` NVIDIA, `+cpu`
no accelerator. A version without such a suffix is not judged.

## Why it is bad
A torch build for CUDA cannot compute on an MI300X, and NVML cannot read an AMD board. Environment,
meter and system then do not belong to one run.

## What to do
Submit system.json and environment.json as `bench-submit` wrote them on the node of the run.

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

VENDOR_OF_METER = {"nvidia": "NVIDIA", "amd": "AMD"}
VENDOR_OF_BUILD = {"+cu": "NVIDIA", "+rocm": "AMD", "+cpu": "no accelerator"}
"""By the suffix of torch's version."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    boards = [bundle.board_of(uuid) for uuid in bundle.accelerator_ranks]
    vendors = sorted({board.vendor for board in boards if board is not None})
    torch_version = bundle.environment_declaration.packages.get("torch", "")
    for vendor in vendors:
        expected = f"software for boards of {vendor}"
        # Other meters, such as an external one, can measure boards of any vendor.
        if VENDOR_OF_METER.get(bundle.meter, vendor) != vendor:
            yield Violation(RESULT, "/sampling/meter", bundle.meter, expected)
        for suffix, build_vendor in VENDOR_OF_BUILD.items():
            # Open runs may use other software for the work and keep torch for something else.
            if bundle.standing == "closed" and suffix in torch_version and build_vendor != vendor:
                yield Violation(ENVIRONMENT, "/packages/torch", torch_version[:200], expected)
