"""The GPU is partitioned

## What it does
Looks in the readbacks for multi-instance GPU (MIG) mode, or for AMD's compute partitions, which the
field `mig` records too.

## Why it is bad
The run used a part of the board, while power and energy are those of the whole board or not
available.

## What to do
Disable MIG (`nvidia-smi -mig 0`, as root), or set a single partition (`amd-smi set
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
    # None means that the meter cannot tell, which M117 judges.
    partitioned = [readback for readback in bundle.readbacks if readback.mig]
    if partitioned:
        yield Violation(
            RESULT,
            f"{partitioned[0].pointer}/mig",
            f"true, in {len(partitioned)} readbacks",
            "false",
        )
