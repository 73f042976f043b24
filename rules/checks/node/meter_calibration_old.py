"""Calibration of a node meter missing or old

## What it does
Looks for meters of record without `calibrated_on`, which is a note, and with a calibration more
than a year before the run or after it, which is a warning.

## Why it is bad
Meters drift. The stated accuracy holds for a calibrated one.

## What to do
State the date of the last calibration. Have the meter calibrated once a year.

## Source
SPEC Power and Performance Methodology: an analyzer is calibrated within a year of the measurement.
"""

from collections.abc import Iterator
from datetime import date

from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "N110", Severity.WARNING, since="1.1", added="1.6.0")
MAX_AGE_DAYS = 366


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    run_date = _parse_date(bundle.declaration.started_at[:10])
    for meter in bundle.system_declaration.meters_of_record:
        pointer = f"{meter.pointer}/calibrated_on"
        if meter.calibrated_on is None:
            found = f"meter {meter.id}: none"
            yield Violation(
                SYSTEM, pointer, found, "the date of its calibration", severity=Severity.NOTE
            )
            continue
        calibrated_on = _parse_date(meter.calibrated_on)
        # P113 reports a run whose dates do not exist.
        if run_date is None or (
            calibrated_on is not None and 0 <= (run_date - calibrated_on).days <= MAX_AGE_DAYS
        ):
            continue
        found = f"meter {meter.id}: {meter.calibrated_on}, and a run on {run_date}"
        yield Violation(SYSTEM, pointer, found, "a date within the year before the run")


def _parse_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
