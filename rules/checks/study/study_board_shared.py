"""A board of a study had foreign processes or was partitioned

## What it does
Looks in the readbacks of each session for processes that do not belong to the study, for
multi-instance mode (MIG), and for uncorrected memory errors that grew.

## Why it is bad
Foreign processes take time and energy, and their work does not count. On a part of a board, power
is that of the whole board. A board with memory errors is defective.

## What to do
Reserve the whole board, disable MIG, exchange a defective board, and measure the session again.

## Source
Section "invalid" of the protocol, and rules M103, M104 and M105.
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import STUDY_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y122", Severity.ERROR, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for session in bundle.sessions:
        errors: dict[str, int] = {}
        for readback in session.readbacks:
            place = f"on {readback.accelerator} ({readback.when})"
            if readback.foreign_processes:
                found = f"{readback.foreign_processes} {place}"
                yield Violation(STUDY_FILE, f"{readback.pointer}/foreign_processes", found, "0")
            if readback.mig:
                found = f"partitioned, {place}"
                yield Violation(STUDY_FILE, f"{readback.pointer}/mig", found, "one partition")
            count = readback.ecc_uncorrected
            if count is None:
                continue
            first = errors.setdefault(readback.accelerator, count)
            if count > first:
                found = f"{count} {place}"
                expected = f"{first}, as at the start of the session"
                yield Violation(STUDY_FILE, f"{readback.pointer}/ecc_uncorrected", found, expected)
                errors[readback.accelerator] = count
