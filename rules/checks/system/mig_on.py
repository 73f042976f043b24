"""A partitioned GPU

## What it does
Looks in the readbacks for multi-instance GPU (MIG) mode, or AMD's compute partitions, which stand
in the same place (`mig`).

## Why it is bad
The run had a slice of the board, while power and energy are those of the whole board or not
supported at all.

## What to do
Turn MIG off (`nvidia-smi -mig 0`, as root), or let the board be one partition (`amd-smi set
--compute-partition SPX`). Then run again.

## Source
Protocol, section "invalid"; NVIDIA Multi-Instance GPU user guide; AMD SMI reference.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M104", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    on = [place for place, readback in enumerate(bundle.result["readbacks"]) if readback["mig"]]
    if on:
        yield Violation(
            RESULT,
            f"/readbacks/{on[0]}/mig",
            f"true, in {len(on)} readbacks",
            "false",
            "Power is not measured per slice. Turn MIG or partitions off and run again.",
        )
