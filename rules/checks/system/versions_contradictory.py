"""Versions of driver and libraries that do not go together

## What it does
Compares versions in environment.json that depend on each other. The CUDA that torch was built for
(`+cu128` in its version) or whose runtime is installed (`nvidia-cuda-runtime`, where it is the only
one) needs a driver of a certain branch or newer: 450.80 for CUDA 11, 525.60 for CUDA 12, 580 for
CUDA 13. The two must be of one major version. And torchvision 0.(n + 15) belongs to torch 2.n.

## Why it is bad
With such versions the run does not start, so the environment is not that of the run: it was edited,
or read elsewhere. It is a warning, because NVIDIA's forward compatibility packages let data center
boards run newer CUDA on an older driver.

## What to do
Hand in environment.json as `bench-submit` writes it, in the environment that runs the workload.
With a forward compatibility package, say so in the submission.

## Source
CUDA Toolkit release notes, table of minimum driver versions for minor version compatibility;
torchvision's README, table of versions. Nodes with other drivers or packages are refused when they
meet, so a bundle has one environment.
"""

import re
from collections.abc import Iterator, Mapping

from rules.bundle import Bundle
from rules.bundle_format.table import ENVIRONMENT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M110", Severity.WARNING, standings=("closed", "open"), added="1.3.0")

LEAST_DRIVER = {11: (450, 80), 12: (525, 60), 13: (580, 0)}
RUNTIMES = ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12")
TORCHVISION_AHEAD = 15


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    environment = bundle.environment
    packages: Mapping[str, str] = environment["packages"]
    built = _numbers(r"\+cu(\d\d)\d+", packages.get("torch"))
    by_nvidia = any(a.vendor == "NVIDIA" for a in bundle.accelerators.values())
    runtimes = [name for name in RUNTIMES if name in packages]
    for name in (
        "torch",
        *(runtimes if len(runtimes) == 1 else ()),
    ):  # of several, the environment does not tell which is used
        cuda = built if name == "torch" else _numbers(r"(\d+)\.", packages.get(name))
        if cuda is None:
            continue
        driver, least = _numbers(r"(\d+)\.(\d+)", environment["driver"]), LEAST_DRIVER.get(cuda[0])
        if by_nvidia and driver is not None and least is not None and driver < least:
            expected = (
                f"{least[0]}.{least[1]:02d} or newer, for CUDA {cuda[0]} ({name} {packages[name]})"
            )
            yield _found("/driver", environment["driver"], expected)
        if built is not None and cuda != built:
            expected = f"that of CUDA {built[0]}, which torch {packages['torch']} was built for"
            yield _found(f"/packages/{name}", packages[name], expected)
    torch, vision = (
        _numbers(r"^2\.(\d+)", packages.get("torch")),
        _numbers(r"^0\.(\d+)", packages.get("torchvision")),
    )
    if torch is not None and vision is not None and vision[0] != torch[0] + TORCHVISION_AHEAD:
        expected = f"0.{torch[0] + TORCHVISION_AHEAD}, which belongs to torch {packages['torch']}"
        yield _found("/packages/torchvision", packages["torchvision"], expected)


def _numbers(pattern: str, version: str | None) -> tuple[int, ...] | None:
    """The groups of the pattern, searched in a version, None where it is not there."""
    found = re.search(pattern, version[:100], re.ASCII) if version else None
    return tuple(int(group) for group in found.groups()) if found else None


def _found(pointer: str, found: str, expected: str) -> Violation:
    message = "These do not run together. Hand in the environment of the run, as it was recorded."
    return Violation(ENVIRONMENT, pointer, found[:200], expected, message)
