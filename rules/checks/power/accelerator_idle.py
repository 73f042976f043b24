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

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import SAMPLES
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import under_load

RULE = Rule("W112", Severity.ERROR, standings=("closed", "open"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    idle: dict[str, list[int]] = {}
    for part in bundle.scored_parts:
        use = part.column("util_pct")
        if len(use) and use[0] > 0:
            continue  # mostly
        use = use[np.isfinite(use)]
        if len(use) and not use.any():
            idle.setdefault(part.accelerator, []).append(part.epoch)
    for accelerator, epochs in idle.items():
        yield Found(
            SAMPLES,
            "",
            f"{accelerator}: util_pct is 0 throughout epochs {', '.join(map(str, epochs))}",
            "a board that is in use while its batches are active",
            "Another board was read than the one that worked. Match ranks and meters by UUID.",
        )


@RULE.mutation()
def idle_in_all_epochs(evidence: Evidence) -> None:
    evidence.samples.loc[under_load(evidence), "util_pct"] = 0.0


@RULE.mutation()
def idle_in_one_epoch(evidence: Evidence) -> None:
    evidence.samples.loc[under_load(evidence, 6), "util_pct"] = 0.0
