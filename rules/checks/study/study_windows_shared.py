"""Windows of another study

## What it does
Compares the samples and windows of all studies that are checked together: sequences of 32 power
readings to the milliwatt, of 32 delays between the scheduled and the actual time of a reading to
the nanosecond, of 32 steps of the energy counter to the millijoule, and of the durations of 32
parts of windows to the nanosecond, each with at least eight different values, forwards or
backwards. Time, board, model and names are ignored. One of eight sequences of readings is compared,
chosen under a salt as by X102, and all sequences of durations.

A study that continues another one (`--resume`) contains its sessions. Sessions that are equal in
two studies of one center are no finding, unless both studies have no others: then one study was
submitted twice. A session that was altered when its study was continued is a finding.

The rule reports the later of two studies, or warns of both, as X102 does. It never reports
withdrawn studies, and compares others with them.

## Why it is bad
Noise does not repeat. One of the studies was not measured, or not as stated.

## What to do
Withdraw the copy. Of studies that continue each other, submit the last one. If another
center copied your study, tell whoever runs the round.

## Source
Own derivation, as for X102: with eight different values among 32 readings, a repetition by chance
can be excluded. The limits are those of X102 and come from no study: one measured study was
committed when they were set. The 14 series of its seven sessions, each of a board in a session,
share none of all 63 713 sequences of power readings, 65 555 of delays, 65 541 of counter steps and
3 807 of durations.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.study_records import STUDY_BATCHES_FILE
from rules.bundle_format.table import SAMPLES
from rules.copies.search import choose_severity
from rules.copies.studies import find_shared_sessions
from rules.finding import Severity, Violation
from rules.metrics.power.series import IN_A_ROW
from rules.rule import StudyRoundRule
from rules.summaries.study_summary import StudySummary

RULE = StudyRoundRule(
    __name__,
    "Y131",
    Severity.ERROR,
    added="1.8.0",
    sees_withdrawn=True,
    waivable=False,
    bars_winning=True,
    review_lifts_bar=False,
)


@RULE.check
def check(studies: Sequence[StudySummary]) -> Iterator[tuple[Path, Violation]]:
    # Power may have been altered in a copy. Delays, counter and durations remain if nobody thought
    # of them.
    for name, file, sequences_of in (
        ("power readings", SAMPLES, lambda session: session.readings),
        ("delays of readings", SAMPLES, lambda session: session.delays),
        ("steps of the energy counter", SAMPLES, lambda session: session.counter),
        ("durations of parts", STUDY_BATCHES_FILE, lambda session: session.durations),
    ):
        for pair in find_shared_sessions(studies, sequences_of):
            repetition = (
                f"{pair.share:.0%} of the sequences of {IN_A_ROW} {name} of session "
                f"{pair.session.number} occur in session {pair.other_session.number} of "
                f"{pair.other_study.name}"
            )
            severity = choose_severity(pair.study, pair.other_study)
            expected = "readings that occur once"
            yield pair.study.path, Violation(file, "", repetition, expected, severity=severity)
