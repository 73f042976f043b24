"""An accelerator was idle while its batches ran

## What it does
Looks for scored epochs in which the board reports 0 % utilisation in every sample, although batches
of its rank were active.

## Why it is bad
The meter read another board than the one that worked. The low power of an idle board gives an
efficiency that is too high.

## What to do
Assign meters to ranks by UUID, never by index: NVML ignores CUDA_VISIBLE_DEVICES.

## Source
NVML API reference, `nvmlDeviceGetUtilizationRates`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W112", Severity.ERROR, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    idle_epochs: dict[str, list[int]] = {}
    for part in bundle.scored_parts:
        utilisation = part.column("util_pct")
        if len(utilisation) and utilisation[0] > 0:
            continue  # the usual case, without a search for missing values
        utilisation = utilisation[np.isfinite(utilisation)]
        # An epoch without any utilisation proves nothing: some boards do not report it.
        if len(utilisation) and not utilisation.any():
            idle_epochs.setdefault(part.accelerator, []).append(part.epoch)
    for accelerator, epochs in idle_epochs.items():
        yield Violation(
            SAMPLES,
            "",
            f"{accelerator}: util_pct is 0 throughout epochs {', '.join(map(str, epochs))}",
            "utilisation above 0 % while batches are active",
        )
