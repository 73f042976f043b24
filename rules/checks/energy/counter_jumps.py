"""An energy counter that jumps

## What it does
Compares every two readings of an accelerator's energy counter, in the whole run, with the most that
the board can draw in the time between them and a second and a half more. That allows for counters
that are refreshed in steps of their own, once a second at the worst: on an H200 the largest step
between two readings 100 ms apart was 192 J, while this rule allows 1 680 J.

For a board that the rule book does not know, `max_power_w` of system.json serves.

## Why it is bad
Energy does not come in lumps. The counter was written to, read from another board, or wrapped; or
counter readings of two runs were joined.

## What to do
Find out what the counter counts. Where it cannot be trusted, leave `energy_mj` empty, and the
trapezoid is the record.

## Source
Protocol, section "energy of record"; the makers' data sheets, see `rules/boards.py`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E108", Severity.ERROR, added="1.3.0")

REFRESH_S = 1.5


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    tolerance = bundle.protocol.transient_tolerance
    for accelerator, samples in bundle.samples_of.items():
        highest_w = (
            bundle.accelerators[accelerator].highest_power_w
            if accelerator in bundle.accelerators
            else np.nan
        )
        energy_mj = samples.floats("energy_mj")
        read = np.isfinite(energy_mj) if samples.has_gaps("energy_mj") else slice(None)
        steps_j = np.diff(energy_mj[read]) / 1e3
        if np.isnan(highest_w) or not len(steps_j):
            continue
        most_j = highest_w * tolerance * (np.diff(samples.ints("read_ns")[read]) / 1e9 + REFRESH_S)
        jumps = np.flatnonzero(steps_j > most_j)
        if len(jumps):
            worst = jumps[np.argmax(steps_j[jumps] - most_j[jumps])]
            index = samples.places[read]
            yield Violation(
                SAMPLES,
                f"rows {index[jumps[0]] + 1}-{index[jumps[-1] + 1] + 1}",
                f"{accelerator}: jumps {len(jumps)} times, at row {index[worst + 1] + 1} "
                f"by {steps_j[worst]:.0f} J",
                f"at most {most_j[worst]:.0f} J, at {highest_w * tolerance:g} W",
                "No board uses that much in that time: the counter was altered, or is "
                "another's. Run again, or leave it empty.",
            )
