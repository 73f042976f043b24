"""An accelerator that was idle while its batches ran

## What it does
Looks for scored epochs in which the board reports 0 % utilisation in every sample, although batches
of its rank are said to be active.

## Why it is bad
The meter read another board than the one that worked. An idle neighbour gives a splendid
efficiency.

## What to do
Match ranks and meters by UUID, never by index: NVML ignores CUDA_VISIBLE_DEVICES.

## Source
NVML API reference, `nvmlDeviceGetUtilizationRates`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W112", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    idle: dict[str, list[int]] = {}
    for part in bundle.scored_parts:
        use = part.column("util_pct")
        if len(use) and use[0] > 0:
            continue  # mostly
        use = use[np.isfinite(use)]
        if len(use) and not use.any():
            idle.setdefault(part.accelerator, []).append(part.epoch)
    for accelerator, epochs in idle.items():
        yield Violation(
            SAMPLES,
            "",
            f"{accelerator}: util_pct is 0 throughout epochs {', '.join(map(str, epochs))}",
            "a board that is in use while its batches are active",
            "Another board was read than the one that worked. Match ranks and meters by UUID.",
        )
