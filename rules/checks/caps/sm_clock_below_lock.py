"""The power cap lowers the SM clock below its lock

## What it does
Counts, in runs that declare a locked SM clock, the scored samples of each accelerator whose
`sm_mhz` is more than 30 MHz below that clock while the power cap is a slowdown reason. The limit is
1 % of the samples.

## Why it is bad
A lock only sets the highest clock. Where the cap needs a lower one, the cap limits the board, and
the run measures the cap and not the clock. It is a note, because clock, cap and reason are all
recorded, and the run is valid.

## What to do
Nothing, if cap and clock are meant to act together. Otherwise lock a lower clock, or raise the cap.

## Source
Protocol, section "power state", for the share of 1 %. No run with a locked clock on a real board
was available for this threshold. NVML API reference, `nvmlDeviceSetGpuLockedClocks` and
`nvmlClocksEventReasons`.
"""

from collections.abc import Iterator

from rules.boards import CLOCK_TOLERANCE_MHZ
from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.metrics.power.slowdown import POWER_CAP, have_any_bit
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C115", Severity.NOTE, added="1.8.0")

LOWER_SHARE = 0.01
"""Highest share of samples that the cap holds below the locked clock."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    locked_mhz = bundle.declaration.power.sm_clock_mhz
    if locked_mhz is None:
        return
    for uuid, samples in bundle.scored_samples_of.items():
        lower = samples.floats("sm_mhz") < locked_mhz - CLOCK_TOLERANCE_MHZ
        lower &= have_any_bit(samples, POWER_CAP.get(bundle.vendor_of(uuid), 0))
        if lower.mean() > LOWER_SHARE:
            yield Violation(
                SAMPLES,
                format_rows(samples, lower),
                f"{uuid}: the power cap holds {100 * lower.mean():.1f} % of the scored samples "
                f"below {locked_mhz} MHz",
                f"at most {100 * LOWER_SHARE:g} %",
            )
