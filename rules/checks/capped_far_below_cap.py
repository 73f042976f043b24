"""A board held down by a power cap that it does not come near

## What it does
Looks for accelerators that say in at least 90 % of their scored samples that the power cap holds the clock down (slowdown
reason 0x4), whose mean power over the scored epochs is below 80 % of the cap in force, and of whose readings fewer than 5 %
reach the cap: a work of bursts is held down by its bursts, and these show. It applies to NVIDIA's boards that are known to be
limited by nothing but their own power (rules/boards.py); on others, such as those that share a limit with a CPU, the same
reason may mean something else.

## Why it is bad
A board whose clock is held down by its power cap is at that cap. Far below it, the power readings are too low: halved,
scaled, or those of another board. Hashes, signatures and all figures derived from the readings can agree with them; physics
does not.

## What to do
Find out what the meter reads, and hand in its readings as they are.

## Source
NVML API reference, nvmlClocksEventReasonSwPowerCap: clocks are reduced because the board draws too much power. On the
measured H200s the reason stands in 97 to 100 % of the scored samples at a mean power of 94 to 99 % of the cap.
"""

from collections.abc import Iterator

import numpy as np

from rules.boards import board
from rules.records import Evidence
from rules.rule import Bundle, Found, Rule, Severity
from rules.spoil import of_first
from rules.tables import SAMPLES, floats

RULE = Rule("W119", Severity.ERROR, standings=("closed", "open"), added="1.3.0")

CAPPED_SHARE = 0.9
NEAR_SHARE = 0.8
REACHED_SHARE = 0.05


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    if isinstance(bundle.computed, str):
        return
    mean_w = {one["accelerator"]: one["mean_power_w"] for one in bundle.computed["observed"]}
    for one in bundle.series:
        if one.vendor != "NVIDIA" or board(one.name) is None:
            continue
        share = float(one.capped[one.load].mean())
        caps_w = floats(one.samples, "cap_mw")[one.load] / 1e3
        caps_w = caps_w[np.isfinite(caps_w)]
        if not len(caps_w) or share < CAPPED_SHARE or mean_w[one.accelerator] >= NEAR_SHARE * caps_w.mean():
            continue
        readings_w = one.under_load_w if np.isfinite(one.under_load_w).any() else one.average_w[one.load]
        if float((readings_w >= caps_w.mean()).mean()) < REACHED_SHARE:
            drawn = f"{mean_w[one.accelerator]:.0f} W on average"
            found = f"{one.accelerator}: {drawn}, held down by its power cap in {share:.0%} of the samples"
            expected = f"at least {NEAR_SHARE:.0%} of the cap of {caps_w.mean():.0f} W"
            message = (
                "A board that its power cap holds down is at the cap. The readings are too low: hand in what the meter read."
            )
            yield Found(SAMPLES, one.place, found, expected, message)


def _scale(evidence: Evidence, share: float, every_board: bool = True) -> None:
    """As a careful cheat: all three readings alike, and what follows from them derived anew."""
    chosen = np.ones(len(evidence.samples), dtype=bool) if every_board else of_first(evidence)
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        evidence.samples.loc[chosen, column] = (evidence.samples.loc[chosen, column] * share).round()


@RULE.mutation()
def power_and_energy_halved(evidence: Evidence) -> None:
    _scale(evidence, 0.5)


@RULE.mutation()
def power_and_energy_of_one_board_halved(evidence: Evidence) -> None:
    _scale(evidence, 0.5, every_board=False)


@RULE.mutation()
def power_and_energy_cut_by_a_quarter(evidence: Evidence) -> None:
    _scale(evidence, 0.75)
