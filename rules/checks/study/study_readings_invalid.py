"""Power readings in windows failed or are no power

## What it does
Looks at the samples in the windows of each board. At most 1 % may have failed, none may be zero,
negative or one of the values that drivers return for "not available", and no more than 32 in a row
may be equal.

## Why it is bad
Energy is computed from these readings. A value that is no power falsifies it, and a sensor that
repeats one value has stopped.

## What to do
Update the driver, check the meter with `bench-submit doctor`, and measure the models again.

## Source
Rules W101, W103, W104 and W108 on runs.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.table import SAMPLES, Floats, Mask, format_rows
from rules.finding import Severity, Violation, format_count
from rules.metrics.power.readings import POWER_READERS, are_sentinels, has_power
from rules.metrics.power.series import IN_A_ROW
from rules.protocol import CURRENT
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y125", Severity.ERROR, added="1.7.0", standings=("study",))


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for windows in bundle.windows:
        samples, inside = windows.samples, windows.inside
        failed = inside & ~(has_power(samples) & samples.text("status").equals("ok"))
        count = int(inside.sum())
        if failed.sum() > CURRENT.max_failed_share * count:
            yield Violation(
                SAMPLES,
                format_rows(samples, failed),
                f"{windows.name}: {failed.sum()} of {count} samples in windows failed",
                f"at most {100 * CURRENT.max_failed_share:g} %",
            )
        for column, read_w in POWER_READERS:
            power_w = read_w(samples)
            invalid = inside & (are_sentinels(power_w) | (power_w == 0))
            if invalid.any():
                count_text = format_count(int(invalid.sum()), "value")
                yield Violation(
                    SAMPLES,
                    format_rows(samples, invalid),
                    f"{windows.name}: {count_text} in {column} that are no "
                    f"power, such as {power_w[invalid][0]:.10g} W",
                    "milliwatts, or an empty cell and a status",
                )
        stopped = inside & _repeat(windows.power_w)
        if stopped.any():
            yield Violation(
                SAMPLES,
                format_rows(samples, stopped),
                f"{windows.name}: one power in more than {IN_A_ROW} samples in a row",
                "readings that vary",
            )


def _repeat(power_w: Floats) -> Mask:
    """Which values, shape (n,), belong to more than `IN_A_ROW` equal ones in a row."""
    begins = np.concatenate(([True], np.diff(power_w) != 0))
    starts = np.flatnonzero(begins)
    lengths = np.diff(starts, append=len(power_w))
    return np.repeat(lengths > IN_A_ROW, lengths)
