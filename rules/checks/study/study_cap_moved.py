"""The power cap differs from the declared one during a session

## What it does
Compares the cap in the readbacks of each session, and in the samples of its windows, with the cap
that the session declares.

## Why it is bad
The models were measured at another cap than the stated one, or at several.

## What to do
Let nothing else set the cap of the board, and measure the session again.

## Source
Section "caps" of the protocol, and rule C101.
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.study_records import STUDY_FILE
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation, format_count
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle

RULE = StudyRule(__name__, "Y124", Severity.ERROR, added="1.7.0")

ROUNDING_MW = 1.0
"""Drivers round a limit to whole milliwatts."""


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for session in bundle.sessions:
        if session.power.cap_w is None:
            continue
        for readback in session.readbacks:
            enforced_mw = readback.enforced_mw
            if enforced_mw is not None and _differs(enforced_mw, session.power.cap_w):
                yield Violation(
                    STUDY_FILE,
                    f"{readback.pointer}/enforced_mw",
                    f"{readback.accelerator}: {enforced_mw / 1e3:g} W ({readback.when})",
                    f"{session.power.cap_w:g} W, as the session declares",
                )
    for windows in bundle.windows:
        cap_w = windows.session.power.cap_w
        if cap_w is None:
            continue
        sampled_mw = windows.samples.floats("cap_mw")
        # A sample without a cap is NaN and differs from nothing.
        differs = windows.inside & (np.abs(sampled_mw - 1e3 * cap_w) > ROUNDING_MW)
        if differs.any():
            yield Violation(
                SAMPLES,
                format_rows(windows.samples, differs),
                f"{windows.name}: {format_count(int(differs.sum()), 'sample')} with another cap, "
                f"such as {sampled_mw[differs][0] / 1e3:g} W",
                f"{cap_w:g} W, as the session declares",
            )


def _differs(enforced_mw: float, cap_w: float) -> bool:
    return abs(enforced_mw - 1e3 * cap_w) > ROUNDING_MW
