"""The energy counter jumps

## What it does
Compares the increase between successive readings of an accelerator's energy counter, in the whole
run, with the energy that the board can draw at most in the interval plus 1.5 s. The 1.5 s allow for
counters that are refreshed in steps of their own, once per second in the worst case: on an H200 the
largest increase between two readings 100 ms apart was 192 J, while this rule allows 1 680 J.

For a board that the rule book does not know, the limit uses `max_power_w` of system.json.

## Why it is bad
A board cannot draw so much energy in such a time. The counter was written to, read from another
board, or wrapped, or counter readings of two runs were joined.

## What to do
Find out what the counter counts, and run again. If it is not reliable, leave `energy_mj` empty: the
trapezoid is then the energy of record.

## Source
Protocol, section "energy of record"; the vendors' data sheets, see `rules/boards.py`.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "E108", Severity.ERROR, added="1.3.0")

REFRESH_S = 1.5
"""Longest time between two refreshes of a counter, with a margin of 0.5 s."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for uuid, samples in bundle.samples_of.items():
        # M101 reports samples of unlisted accelerators, which have no known maximum.
        if uuid not in bundle.accelerators:
            continue
        limit_w = bundle.accelerators[uuid].highest_power_w * bundle.protocol.transient_tolerance
        energy_mj = samples.floats("energy_mj")
        read = np.isfinite(energy_mj) if samples.has_gaps("energy_mj") else slice(None)
        increases_j = np.diff(energy_mj[read]) / 1e3
        # Neither the rule book nor system.json states a maximum for this board.
        if np.isnan(limit_w) or not len(increases_j):
            continue
        limits_j = limit_w * (np.diff(samples.ints("read_ns")[read]) / 1e9 + REFRESH_S)
        jumps = np.flatnonzero(increases_j > limits_j)
        if len(jumps):
            # Show the jump that exceeds its limit most, because the limits depend on the intervals.
            largest = jumps[np.argmax(increases_j[jumps] - limits_j[jumps])]
            places = samples.places[read]
            yield Violation(
                SAMPLES,
                f"rows {places[jumps[0]] + 1}-{places[jumps[-1] + 1] + 1}",
                f"{uuid}: jumps {len(jumps)} times, at row {places[largest + 1] + 1} by "
                f"{increases_j[largest]:.0f} J",
                f"at most {limits_j[largest]:.0f} J, at {limit_w:g} W",
            )
