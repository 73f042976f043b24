"""Foreign processes on the accelerator

## What it does
Looks in the readbacks for processes on an accelerator that do not belong to the run.

## Why it is bad
Foreign processes take time, memory and energy. Their energy counts and their work does not, and the
run cannot be repeated.

## What to do
Reserve the whole node and run again. `nvidia-smi` or `amd-smi process` lists the processes.

## Source
Protocol, section "invalid".
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M103", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for readback in bundle.readbacks:
        # M109 reports a number that is not known.
        if readback.foreign_processes:
            yield Violation(
                RESULT,
                f"{readback.pointer}/foreign_processes",
                f"{readback.foreign_processes} on {readback.accelerator} ({readback.when})",
                "0",
            )
