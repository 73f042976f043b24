"""Power readings that occur twice

## What it does
Looks for sequences of power readings under load that occur a second time, to the milliwatt: in another epoch, elsewhere in
the same one, or on another accelerator. Sequences of only a few different values are left alone.

## Why it is bad
Noise does not repeat. Such readings were copied, from a better epoch or from a better board.

## What to do
Hand in what was sampled.

## Source
None: with eight different values among 32 readings a repetition by chance is out of the question.
"""

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rules.records import Evidence
from rules.rule import Bundle, Found, Rule, Severity
from rules.spoil import under_load
from rules.tables import SAMPLES

RULE = Rule("W111", Severity.ERROR)

LENGTH = 32
DIFFERENT = 8


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    powers, places = [], []
    for part in bundle.scored_parts:
        power = part.column("power_avg_mw" if part.averaged else "power_mw")
        if len(power) >= LENGTH:
            powers.append(np.nan_to_num(power, nan=-1.0))
            places.append(part.places)
    if not powers:
        return
    sums = np.concatenate([_fingerprints(power) for power in powers])
    order = np.argsort(sums, kind="stable")
    alike = np.flatnonzero(np.diff(sums[order]) == 0)
    if not len(alike):
        return
    windows = np.concatenate([sliding_window_view(power, LENGTH) for power in powers])
    one, other = windows[order[alike]], windows[order[alike + 1]]
    different = (np.diff(np.sort(one, axis=1), axis=1) != 0).sum(axis=1) + 1
    copied = order[alike + 1][(one == other).all(axis=1) & (different >= DIFFERENT)]
    if len(copied):
        first_rows = np.concatenate([place[: len(place) - LENGTH + 1] for place in places])
        found = first_rows[np.sort(copied)]
        yield Found(
            SAMPLES,
            f"rows {found[0] + 1}-{found[-1] + 1}",
            f"{len(found)} sequences of {LENGTH} power readings that occur elsewhere too",
            "readings that were each taken once",
            "Noise does not repeat to the milliwatt: readings were copied. Hand in what was sampled.",
        )


def _fingerprints(power: NDArray[np.float64]) -> NDArray[np.int64]:
    """A number for each run of `LENGTH` readings, equal for equal runs; the sums may wrap."""
    weights = np.random.default_rng(0).integers(1, 2**40, LENGTH)
    return np.convolve(np.minimum(power, 2.0**53).astype(np.int64), weights, mode="valid")


@RULE.mutation()
def epoch_copied(evidence: Evidence) -> None:
    source, target = (np.flatnonzero(under_load(evidence, e)) for e in (2, 5))
    length = min(len(source), len(target))
    evidence.samples.loc[target[:length], "power_mw"] = evidence.samples.loc[source[:length], "power_mw"].to_numpy()


@RULE.mutation()
def four_seconds_copied(evidence: Evidence) -> None:
    own = np.flatnonzero(under_load(evidence, 4))
    evidence.samples.loc[own[100:140], "power_mw"] = evidence.samples.loc[own[20:60], "power_mw"].to_numpy()
