"""Other processes on the accelerator

## What it does
Looks in the readbacks for processes on an accelerator that are not the run's.

## Why it is bad
They take time, memory and energy. Their energy is counted, their work is not; and the run cannot be
repeated.

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
    for place, readback in enumerate(bundle.result["readbacks"]):
        if readback["foreign_processes"]:
            yield Violation(
                RESULT,
                f"/readbacks/{place}/foreign_processes",
                f"{readback['foreign_processes']} on {readback['accelerator']} "
                f"({readback['when']})",
                "0",
                "The accelerator was shared. Reserve it and run again.",
            )
