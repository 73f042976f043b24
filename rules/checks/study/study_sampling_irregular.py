"""The samples of a session are not taken every 100 ms

## What it does
Looks at the times of the samples in the windows of each board. At least 95 % of the intervals must
be 90 to 110 ms long.

## Why it is bad
Energy is the sum over samples. Samples that come late or in bursts miss changes of power, and their
cadence shows that the sampler was disturbed or that rows were removed.

## What to do
Leave a core of the node to the sampler, and measure again.

## Source
Section "sampling" of the protocol.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.protocol import CURRENT
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y111", Severity.ERROR, added="1.7.0", standings=("study",))


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    low_ms, high_ms = CURRENT.interval_min_ms, CURRENT.interval_max_ms
    for windows in bundle.windows:
        inside = windows.inside[1:] & windows.inside[:-1]
        # Samples between windows may be left out: building a model takes long.
        intervals_ms = np.diff(windows.read_ns)[inside] / 1e6
        if len(intervals_ms) == 0:
            continue  # Y110 reports windows without samples.
        share = float(np.mean((intervals_ms >= low_ms) & (intervals_ms <= high_ms)))
        if share < CURRENT.regular_share:
            yield Violation(
                SAMPLES,
                format_rows(windows.samples, windows.inside),
                f"{windows.name}: {100 * share:.1f} % of {len(intervals_ms)} intervals in windows "
                f"within {low_ms:g}-{high_ms:g} ms",
                f"at least {100 * CURRENT.regular_share:g} %",
            )
