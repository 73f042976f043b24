"""Thermal slowdown or power brake in a scored epoch

## What it does
Looks in the scored samples for slowdown reasons that the protocol does not allow: hardware slowdown, software and hardware
thermal slowdown, power brake. The software power cap is allowed: it is what a capped run is about.

The bits are NVML's, so only accelerators whose `vendor` in system.json is NVIDIA or `simulated` are judged. AMD's bits mean
other things.

## Why it is bad
The run measured the cooling or the power supply of that day, not the system at its cap.

## What to do
Remove the cause (air flow, inlet temperature, power supply) and run again.

## Source
Protocol, section "invalid"; NVML API reference, `nvmlClocksEventReasons`.
"""

from collections.abc import Iterator

import numpy as np

from rules.records import Evidence
from rules.rule import Bundle, Found, Rule, Severity
from rules.spoil import every, under_load
from rules.tables import SAMPLES, floats, offenders

RULE = Rule("C106", Severity.ERROR)

NVML_BITS = ("NVIDIA", "simulated")  # vendors whose meters give NVML's bits


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    samples = bundle.scored_samples
    reasons = np.clip(np.nan_to_num(floats(samples, "slowdown")), 0, 2**63).astype(np.uint64)
    wrong = (reasons & np.uint64(bundle.protocol.invalid_slowdown_mask)) != 0
    for accelerator, where, count in offenders(samples, wrong):
        if bundle.accelerators.get(accelerator, {}).get("vendor") not in NVML_BITS:
            continue
        yield Found(
            SAMPLES,
            where,
            f"{accelerator}: {count} samples with slowdown reasons {int(np.bitwise_or.reduce(reasons[wrong])):#x}",
            f"none of {bundle.protocol.invalid_slowdown_mask:#x} in a scored epoch",
            "The board slowed down for its temperature or its supply. Remove the cause and run again.",
        )


@RULE.mutation()
def thermal_slowdown_now_and_then(evidence: Evidence) -> None:
    evidence.samples.loc[every(300, under_load(evidence)), "slowdown"] = float(0x4 | 0x20)


@RULE.mutation()
def power_brake_in_one_epoch(evidence: Evidence) -> None:
    evidence.samples.loc[under_load(evidence, 8), "slowdown"] = float(0x80)
