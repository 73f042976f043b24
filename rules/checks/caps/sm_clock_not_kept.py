"""The SM clock is not the one at which the run locked it

## What it does
Compares `sm_mhz` of the scored samples of each accelerator with the SM clock that the run declares
to have locked (`power.sm_clock_mhz`). Clocks within 30 MHz of it, two steps of a board, count as
equal. The rule reports an accelerator

- without any sampled clock;
- whose clock is higher in more than 1 % of the samples;
- whose clock is lower in more than 5 % of the samples, while neither the power cap nor a thermal
  limit is the slowdown reason. This is a warning, because clock and reason are not sampled at
  exactly the same instant. C115 reports a clock that the power cap lowers.

Also reports a declared clock above the highest one of a known board.

## Why it is bad
No driver reports a lock. Only the clock under load shows that it is in force. A run at another
clock is not the run that it declares to be.

## What to do
Check that nothing else on the node sets clocks, such as a monitoring service or another user, and
run again.

## Source
Protocol, section "power state", for the share of 1 %; C112 for that of 5 %. No run with a locked
clock on a real board was available for these thresholds. NVML API reference,
`nvmlDeviceSetGpuLockedClocks`; highest clocks in `rules/boards.py`.
"""

from collections.abc import Iterator

import numpy as np

from rules.boards import CLOCK_TOLERANCE_MHZ
from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES, Mask, Table, format_rows
from rules.finding import Severity, Violation
from rules.metrics.power.slowdown import POWER_CAP, get_invalid_mask, have_any_bit
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C114", Severity.ERROR, added="1.8.0")

HIGHER_SHARE = 0.01
"""Highest share of samples above the locked clock."""
LOWER_SHARE = 0.05
"""Highest share of samples below the locked clock without a reason."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    locked_mhz = bundle.declaration.power.sm_clock_mhz
    if locked_mhz is None:
        return
    for uuid, samples in bundle.scored_samples_of.items():
        board = bundle.board_of(uuid)
        highest_mhz = None if board is None else board.boost_mhz
        if highest_mhz is not None and locked_mhz > highest_mhz:
            yield Violation(
                RESULT,
                f"{bundle.declaration.power.pointer}/sm_clock_mhz",
                f"{locked_mhz} MHz",
                f"at most {highest_mhz} MHz, the highest clock of {uuid}",
            )
        vendor = bundle.vendor_of(uuid)
        limits = POWER_CAP.get(vendor, 0) | get_invalid_mask(bundle.protocol, vendor)
        yield from _compare_clocks(uuid, samples, locked_mhz, limits)


def _compare_clocks(uuid: str, samples: Table, locked_mhz: int, limits: int) -> Iterator[Violation]:
    """`limits` are the bits of the slowdown mask that lower a clock below its lock."""
    sm_mhz = samples.floats("sm_mhz")
    if np.isnan(sm_mhz).all():
        yield Violation(
            SAMPLES, "", f"{uuid}: no sm_mhz", f"clocks that show the lock at {locked_mhz} MHz"
        )
        return
    higher = sm_mhz > locked_mhz + CLOCK_TOLERANCE_MHZ
    if higher.mean() > HIGHER_SHARE:
        yield _violate(uuid, samples, higher, f"above {locked_mhz} MHz", HIGHER_SHARE)
    lower = (sm_mhz < locked_mhz - CLOCK_TOLERANCE_MHZ) & ~have_any_bit(samples, limits)
    # W114 reports a reason that was not read.
    lower &= np.isfinite(samples.floats("slowdown"))
    if lower.mean() > LOWER_SHARE:
        place = f"below {locked_mhz} MHz, limited neither by the cap nor by heat"
        yield _violate(uuid, samples, lower, place, LOWER_SHARE, Severity.WARNING)


def _violate(
    uuid: str,
    samples: Table,
    offending: Mask,
    place: str,
    allowed_share: float,
    severity: Severity | None = None,
) -> Violation:
    median_mhz = float(np.median(samples.floats("sm_mhz")[offending]))
    return Violation(
        SAMPLES,
        format_rows(samples, offending),
        f"{uuid}: {100 * offending.mean():.1f} % of the scored samples {place}, with a median of "
        f"{median_mhz:.0f} MHz",
        f"at most {100 * allowed_share:g} %",
        severity=severity,
    )
