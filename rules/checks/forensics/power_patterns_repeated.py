"""Power that goes up and down twice alike within a run

## What it does
Looks where the instantaneous readings of each H200 under load go up and where not, in rows of 64
differences, and for such patterns that are there twice: at two times at least 20 s apart, or on two
accelerators. It speaks where there are 16 of them. Patterns that agree with themselves at a lag of
up to 32 samples in 85 % of the signs are left out, as those of batches that are in phase with the
sampling. Other boards are left alone: none has been measured.

## Why it is bad
Readings of one epoch were put in the place of another's, or those of one board in the place of
another's, perhaps with some jitter. Noise does not repeat.

It is a note. On the measured boards not one such pattern is there twice, also where a run has four
that work in step; but a work that repeats itself only after more than 32 samples may do it on a
board with little noise.

## What to do
Hand in what the meter read.

## Source
The measured bundles of this project (docs/forensics.md).
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.table import SAMPLES
from rules.finding import Severity, Violation
from rules.metrics.power_series import regular
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "W124", Severity.NOTE, standings=("closed", "open"), added="1.3.0", statistical=True
)
ENOUGH = 16
APART = 200
"""In samples: nearer to each other, the pattern is one of the work."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    repeated, accelerators = repeats(bundle)
    if repeated >= ENOUGH:
        found = (
            f"{repeated} patterns of 64 ups and downs are there twice, on "
            f"{', '.join(sorted(accelerators))}"
        )
        message = (
            "Noise does not repeat: readings were copied within the run. Hand in what the "
            "meter read."
        )
        yield Violation(SAMPLES, "", found, "ups and downs that are there once", message)


def repeats(bundle: Bundle) -> tuple[int, set[str]]:
    """How many patterns are there twice, and on which accelerators."""
    measured = list(bundle.measured_series)
    if not measured:
        return 0, set()
    every = [one.patterns for one in measured]
    patterns = np.concatenate(every)
    ordered = np.sort(patterns)
    twice = ordered[1:][np.diff(ordered) == 0]
    twice = twice[np.diff(twice, prepend=~twice[:1]) != 0]
    twice = twice[~regular(twice)]
    if not len(twice):
        return 0, set()
    there = np.isin(patterns, twice)
    places = np.concatenate([np.arange(len(own)) for own in every])[there]
    owners = np.repeat(np.arange(len(every)), list(map(len, every)))[there]
    patterns = patterns[there]
    order = np.lexsort((places, owners, patterns))
    places, patterns, owners = places[order], patterns[order], owners[order]
    again = (patterns[1:] == patterns[:-1]) & (
        (owners[1:] != owners[:-1]) | (places[1:] - places[:-1] >= APART)
    )
    of = {*owners[:-1][again].tolist(), *owners[1:][again].tolist()}
    return int(again.sum()), {measured[owner].accelerator for owner in of}
