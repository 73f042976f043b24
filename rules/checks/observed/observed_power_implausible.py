"""The power of an observed job is not above zero, or is above the rating

## What it does
Looks for readings of the window that are not above 0 W, and compares the highest mean over 1 s of
all feeds together with the declared rated power of the nodes.

## Why it is bad
A node that runs a job draws power, and not more than its rating. Other readings have another unit,
a feed that was counted twice, or a meter that failed.

## What to do
Check the unit of the log, its feeds and the rated power, and observe the job again.

## Source
None: a convention of this rule book. N103 and W106 judge the readings of runs.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.observation_records import POWER_FILE
from rules.finding import Severity, Violation
from rules.observations.bundle import ObservationBundle
from rules.rule import ObservationRule

RULE = ObservationRule(__name__, "O102", Severity.ERROR, added="1.13.0")


@RULE.check
def check(bundle: ObservationBundle) -> Iterator[Violation]:
    start_ns, end_ns = bundle.window_ns
    for name, feed in bundle.feeds.items():
        is_inside = (feed.times_ns >= start_ns) & (feed.times_ns <= end_ns)
        if count := int(np.sum(feed.power_w[is_inside] <= 0)):
            found = f"{count} readings of feed {name} that are not above 0 W"
            yield Violation(POWER_FILE, "", found, "readings above 0 W")
    node, figures = bundle.declaration.node, bundle.figures_or_reason
    if node.rated_w is None or isinstance(figures, str):
        return
    if figures.max_w > (rated_w := node.rated_w * node.count):
        yield Violation(
            POWER_FILE, "", f"{figures.max_w:.1f} W over 1 s", f"at most {rated_w:g} W, the rating"
        )
