"""The temperature of a board does not change

## What it does
Counts the different values of `temp_c` in the scored samples of each board that the rule book
knows, if there are at least 1 000 samples. The rule reports a board with fewer than two values. A
temperature that was never read counts as no value on NVIDIA boards, whose driver always provides
it.

## Why it is bad
The sensor has whole degrees, and a board under load moves by some of them within minutes. A
constant temperature is not read from a board. Clocks and power beside it may be invented too.

## What to do
Submit the temperatures that the meter read.

## Source
The first 19 committed runs (26 series of readings of 15 H200s): a board had 4 to 16 different
temperatures under load. No other board and no liquid cooling has been measured, so the finding is a
warning.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power.series import ENOUGH
from rules.rule import BundleRule

RULE = BundleRule(__name__, "W127", Severity.WARNING, standings=("closed", "open"), added="1.5.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for uuid, samples in bundle.scored_samples_of.items():
        board = bundle.real_board_of(uuid)
        if board is None or len(samples) < ENOUGH:
            continue
        temperatures_c = samples.floats("temp_c")
        values_c = np.unique(temperatures_c[np.isfinite(temperatures_c)])
        # AMD's driver does not always provide it.
        if len(values_c) > 1 or (not len(values_c) and board.vendor != "NVIDIA"):
            continue
        observed = f"{values_c[0]:g} °C" if len(values_c) else "no value"
        yield Violation(
            SAMPLES,
            "",
            f"{uuid}: {observed} in all {len(samples)} scored samples",
            "a temperature that changes under load",
        )
