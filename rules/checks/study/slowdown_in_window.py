"""A board slowed down for another reason than its power cap in a window

## What it does
Looks at the slowdown reasons of the samples in the windows. Thermal slowdown, hardware slowdown and
power brake are refused. The power cap is allowed.

## Why it is bad
A board that protects itself runs slower at another power. The result depends on the cooling of the
node and not on the model.

## What to do
Mend cooling or power supply of the node, and measure the models again.

## Source
Section "invalid" of the protocol, and rule C106.
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation, format_count
from rules.metrics.power.slowdown import get_invalid_mask, have_any_bit
from rules.protocol import CURRENT
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y121", Severity.ERROR, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for windows in bundle.windows:
        mask = get_invalid_mask(CURRENT, windows.accelerator.vendor)
        counts = windows.count(have_any_bit(windows.samples, mask))
        for number, count in zip(windows.rows.tolist(), counts.tolist(), strict=True):
            if count:
                yield Violation(
                    POINTS_FILE,
                    f"row {number + 1}",
                    f"{bundle.points[number]}: {format_count(count, 'sample')} with slowdown "
                    f"reasons of {mask:#x}",
                    "none",
                )
