"""Versions of driver and libraries contradict each other

## What it does
Compares versions in environment.json that depend on each other:

- The CUDA version of the torch build (`+cu128` in its version), or of the installed runtime
  (`nvidia-cuda-runtime`, if it is the only one), needs a minimum driver: 450.80 for CUDA 11, 525.60
  for CUDA 12, 580 for CUDA 13.
- Both CUDA versions must have the same major version.
- torchvision 0.(n + 15) belongs to torch 2.n.

## Why it is bad
With such versions the run does not start, so the environment is not that of the run: it was edited,
or recorded elsewhere. It is a warning, because NVIDIA's forward compatibility packages let data
center boards run newer CUDA on an older driver.

## What to do
Submit environment.json as `bench-submit` wrote it, in the environment that runs the workload. With
a forward compatibility package, say so in the submission.

## Source
CUDA Toolkit release notes, table of minimum driver versions for minor version compatibility;
torchvision's README, table of versions. Nodes with different drivers or packages cannot form a run,
so a bundle has one environment.
"""

import re
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import ENVIRONMENT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "M110", Severity.WARNING, standings=("closed", "open", "control"), added="1.3.0"
)

MIN_DRIVER = {11: (450, 80), 12: (525, 60), 13: (580, 0)}
"""Lowest driver version by major version of CUDA."""
RUNTIMES = ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12")
TORCHVISION_OFFSET = 15
"""torchvision 0.(n + 15) belongs to torch 2.n."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    yield from _check_cuda(bundle)
    packages = bundle.environment_declaration.packages
    torch = _parse_version(r"^2\.(\d+)", packages.get("torch"))
    torchvision = _parse_version(r"^0\.(\d+)", packages.get("torchvision"))
    # The two projects release together, and torchvision fixes its version of torch.
    if torch and torchvision and torchvision[0] != torch[0] + TORCHVISION_OFFSET:
        yield Violation(
            ENVIRONMENT,
            "/packages/torchvision",
            packages["torchvision"][:200],
            f"0.{torch[0] + TORCHVISION_OFFSET}, which belongs to torch {packages['torch']}",
        )


def _check_cuda(bundle: Bundle) -> Iterator[Violation]:
    """Versions of CUDA that contradict the driver or each other."""
    packages = bundle.environment_declaration.packages
    driver_text = bundle.environment_declaration.driver or ""
    driver = _parse_version(r"(\d+)\.(\d+)", driver_text)
    build = _parse_version(r"\+cu(\d\d)\d+", packages.get("torch"))
    has_nvidia = any(board.vendor == "NVIDIA" for board in bundle.listed_accelerators)
    runtimes = [name for name in RUNTIMES if name in packages]
    if len(runtimes) > 1:
        runtimes = []  # the environment does not state which of them the run used
    for name in ("torch", *runtimes):
        cuda = build if name == "torch" else _parse_version(r"(\d+)\.", packages.get(name))
        if cuda is None:
            continue
        minimum = MIN_DRIVER.get(cuda[0])
        # The driver versions of other vendors have no relation to CUDA.
        if has_nvidia and driver is not None and minimum is not None and driver < minimum:
            yield Violation(
                ENVIRONMENT,
                "/driver",
                driver_text[:200],
                f"{minimum[0]}.{minimum[1]:02d} or newer, for CUDA {cuda[0]} "
                f"({name} {packages[name]})",
            )
        if build is not None and cuda != build:
            yield Violation(
                ENVIRONMENT,
                f"/packages/{name}",
                packages[name][:200],
                f"a version for CUDA {build[0]}, for which torch {packages['torch']} was built",
            )


def _parse_version(pattern: str, version: str | None) -> tuple[int, ...] | None:
    """The groups of the pattern as numbers; None if the version does not match."""
    match = re.search(pattern, version[:100], re.ASCII) if version else None
    return tuple(int(group) for group in match.groups()) if match else None
