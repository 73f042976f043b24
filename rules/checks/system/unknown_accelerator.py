"""An accelerator is not listed in system.json

## What it does
Looks up the accelerators of ranks, samples and readbacks among those of system.json.

## Why it is bad
The model of the board is not known, and so neither are its peak and its limits. The system has more
boards than it states.

## What to do
List every accelerator of the run in system.json, by the UUID that the driver reports.

## Source
Bundle format, system.json.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M101", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    expected = f"an accelerator of system.json: {', '.join(list(bundle.accelerators)[:8])}"
    for file, pointer, uuids in (
        (RESULT, "/ranks", bundle.accelerator_ranks),
        (RESULT, "/readbacks", [readback.accelerator for readback in bundle.readbacks]),
        (SAMPLES, "", bundle.samples_of),
    ):
        # One violation per accelerator and file: the readbacks repeat each accelerator many times.
        for uuid in dict.fromkeys(uuids):
            if uuid not in bundle.accelerators:
                yield Violation(file, pointer, uuid, expected)
