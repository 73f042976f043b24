"""Memory errors during the run

## What it does
Compares the counts of corrected and uncorrected ECC errors of every accelerator between the first
and the last readback.

## Why it is bad
A board whose memory fails retries and remaps. It is neither the board that others buy nor one that
keeps its speed.

## What to do
Have the board looked at, and run on another one.

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
    first: dict[tuple[str, str], int] = {}
    grown: dict[tuple[str, str], tuple[int, int]] = {}
    for place, readback in enumerate(bundle.result["readbacks"]):
        for name in ("ecc_corrected", "ecc_uncorrected"):
            count, key = readback[name], (readback["accelerator"], name)
            if count is not None and count > first.setdefault(key, count):
                grown.setdefault(key, (place, count))
    for (accelerator, name), (place, count) in grown.items():
        yield Violation(
            RESULT,
            f"/readbacks/{place}/{name}",
            f"{count} on {accelerator}, {first[accelerator, name]} before",
            "a count that does not grow during the run",
            "The board's memory fails. Have it looked at, and run on another one.",
        )
