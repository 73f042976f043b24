"""Memory errors during the run

## What it does
Compares the counts of corrected and uncorrected ECC errors of every accelerator between the first
and the later readbacks.

## Why it is bad
A board with failing memory retries accesses and remaps rows. It does not represent other boards of
the model, and its speed changes.

## What to do
Have the board examined, and run on another one.

## Source
Protocol, section "invalid"; NVML API reference, `nvmlDeviceGetTotalEccErrors`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M105", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    first_counts: dict[tuple[str, str], int] = {}
    violations: dict[tuple[str, str], Violation] = {}
    for readback in bundle.readbacks:
        for name, count in (
            ("ecc_corrected", readback.ecc_corrected),
            ("ecc_uncorrected", readback.ecc_uncorrected),
        ):
            key = readback.accelerator, name
            # The counters also hold errors from before the run, which do not matter.
            if count is not None and count > first_counts.setdefault(key, count):
                violation = Violation(
                    RESULT,
                    f"{readback.pointer}/{name}",
                    f"{readback.accelerator}: {count}, after {first_counts[key]} before",
                    "a count that does not increase during the run",
                )
                # Later readbacks only repeat the higher count.
                violations.setdefault(key, violation)
    yield from violations.values()
