"""A clock that never moves

## What it does
Looks at the clock of the compute units in the samples of the scored epochs of each accelerator: one
and the same value in 99 % of them, below the board's highest clock, while neither the power cap nor
heat holds it down in more than 1 % of those where the reason was read, and the mean power stays
below 95 % of the cap. Where no reason was read, nothing is said (W114 does).

An H200 at its cap changes its clock all the time: in seventeen measured runs the commonest value
had at most 74 % of the samples, and the power cap was given as the reason.

## Why it is bad
That is how a locked clock looks (`nvidia-smi -lgc`, `rocm-smi --setperfdeterminism`), which no
driver tells when asked. The clock limits and not the cap, so that the efficiency is not that of the
cap. It is a warning for the reason that C108 gives.

## What to do
Unlock the clocks (`nvidia-smi -rgc`, `rocm-smi --resetperfdeterminism`, as root) and run again.

## Source
NVML API reference, `nvmlDeviceSetGpuLockedClocks`; highest clocks in `rules/boards.py`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.slowdown import POWER_CAP, get_invalid_mask, have_any_bit

RULE = BundleRule(__name__, "C111", Severity.WARNING, added="1.3.0")

ENOUGH_SAMPLES = 100
SAME_SHARE, HELD_SHARE = 0.99, 0.01


BELOW_BOOST = 0.98
AT_CAP = 0.95


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    cap_w = bundle.result["power"]["cap_w"]
    observed = () if bundle.figures is None else bundle.figures.observed
    at_cap = {
        o.accelerator for o in observed if cap_w is not None and o.mean_power_w >= AT_CAP * cap_w
    }
    for uuid, own in bundle.scored_samples_of.items():
        known = bundle.board_of(uuid)
        mhz = own.floats("sm_mhz")
        mhz = mhz[np.isfinite(mhz)]
        told = np.isfinite(own.floats("slowdown"))
        if known is None or uuid in at_cap or min(len(mhz), int(told.sum())) < ENOUGH_SAMPLES:
            continue
        usual = float(np.median(mhz))
        same = float(np.mean(mhz == usual))
        held = have_any_bit(
            own, POWER_CAP.get(known.vendor, 0) | get_invalid_mask(bundle.protocol, known.vendor)
        )[told]
        if (
            same >= SAME_SHARE
            and 0 < usual < BELOW_BOOST * known.boost_mhz
            and held.mean() <= HELD_SHARE
        ):
            yield Violation(
                SAMPLES,
                "",
                f"{uuid}: {usual:.0f} MHz in {100 * same:.1f} % of the scored samples, "
                "held neither by the cap nor by heat",
                f"a clock that cap and load move, up to {known.boost_mhz} MHz",
                "The clock looks locked, so that the cap did not decide. Unlock it and run again.",
            )
