"""The power of an observed job is too low or above the rating

## What it does
Looks for readings of the window that are not above 0 W, and compares the highest mean over 1 s of
all feeds together with the declared rated power of the nodes. The mean power must be 5 W for each
accelerator at least; a bundle without `meter.reading` may have less.

## Why it is bad
A node that runs a job draws power, and not more than its rating. The smallest accelerators idle at
7 W or more. Other readings have another unit, a feed counted twice, or a meter that failed.

## What to do
Check the unit of the log, its feeds and the rated power, and observe the job again.

## Source
None: a convention of this rule book. N103 and W106 judge the readings of runs.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.observation_records import POWER_FILE
from rules.finding import Severity, Violation, format_count
from rules.observations.bundle import ObservationBundle
from rules.rule import ObservationRule

RULE = ObservationRule(__name__, "O102", Severity.ERROR, added="1.13.0")

MIN_W_PER_ACCELERATOR = 5.0


@RULE.check
def check(bundle: ObservationBundle) -> Iterator[Violation]:
    start_ns, end_ns = bundle.window_ns
    for name, feed in bundle.feeds.items():
        is_inside = (feed.times_ns >= start_ns) & (feed.times_ns <= end_ns)
        if count := int(np.sum(feed.power_w[is_inside] <= 0)):
            found = f"{count} readings of feed {name} that are not above 0 W"
            yield Violation(POWER_FILE, "", found, "readings above 0 W")
    node, figures = bundle.declaration.node, bundle.figures_or_reason
    if not isinstance(figures, str) and bundle.declaration.meter.reading is not None:
        count = node.accelerators * node.count
        if figures.mean_w < (least_w := MIN_W_PER_ACCELERATOR * count):
            found = f"a mean of {figures.mean_w:.1f} W"
            expected = f"at least {least_w:g} W for {format_count(count, 'accelerator')}"
            yield Violation(POWER_FILE, "", found, expected)
    if node.rated_w is None or isinstance(figures, str):
        return
    if figures.max_w > (rated_w := node.rated_w * node.count):
        yield Violation(
            POWER_FILE, "", f"{figures.max_w:.1f} W over 1 s", f"at most {rated_w:g} W, the rating"
        )
