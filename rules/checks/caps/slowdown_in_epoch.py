"""Thermal slowdown or power brake in a scored epoch

## What it does
Looks in the scored samples for slowdown reasons that the protocol does not allow. They depend on
the `vendor` of the accelerator in system.json:

- NVIDIA and `simulated`, reasons of NVML: hardware slowdown 0x8, software and hardware thermal
  slowdown 0x20 and 0x40, power brake 0x80
- AMD, bits that the power source derives from the residency counters: processor hot 0x1, thermal
  limit of the socket 0x4, of the voltage regulators 0x8, of the memory 0x10

The power cap itself (0x4 of NVML, 0x2 of AMD) is allowed, because it is the subject of a run under
a cap. The bits of other vendors are not known and not judged.

## Why it is bad
The run measured the cooling or the power supply of that day instead of the system at its cap.

## What to do
Remove the cause (air flow, inlet temperature, power supply) and run again.

## Source
Protocol, section "invalid"; NVML API reference, `nvmlClocksEventReasons`; AMD SMI reference, GPU
metrics.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation, format_count
from rules.metrics.power.slowdown import get_invalid_mask, have_any_bit, read_masks
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C106", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator, samples in bundle.scored_samples_of.items():
        # The same bit means another reason for each vendor, so the mask depends on the vendor.
        mask = get_invalid_mask(bundle.protocol, bundle.vendor_of(accelerator))
        slowed = have_any_bit(samples, mask)
        if slowed.any():
            # Show all reasons of the affected samples, so that the reader sees also the allowed
            # ones.
            reasons = int(np.bitwise_or.reduce(read_masks(samples)[slowed]))
            yield Violation(
                SAMPLES,
                format_rows(samples, slowed),
                f"{accelerator}: {format_count(int(slowed.sum()), 'sample')} "
                f"with slowdown reasons {reasons:#x}",
                f"no reason of {mask:#x} in a scored epoch",
            )
