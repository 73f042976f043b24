"""The times of a session contradict each other

## What it does
Each session states when it began, and the monotonic and the wall clock of its machine before the
first and after the last sample. All samples of the session must lie between the two. The session
must begin within ten minutes of the first pair of clocks. Two sessions must not use one accelerator
at the same time.

## Why it is bad
Samples from another time belong to another measurement. A board that measures in two sessions at
once measures the sum of both.

## What to do
Restore study.json and samples.csv.gz from the machine that measured, or measure the session again.

## Source
The format of studies (docs/bundle-format.md), and rules P118 and X108 on runs.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import combinations

from rules.bundle_format.study_records import STUDY_FILE
from rules.bundle_format.table import SAMPLES, format_rows
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle
from rules.studies.declaration import Session

RULE = StudyRule(__name__, "Y130", Severity.ERROR, added="1.7.0", waivable=False)

TOLERANCE_S = 600.0
"""Checks before a session and a slow start of its processes take minutes at most."""


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for session in bundle.sessions:
        yield from _check_date(session)
    for (node, uuid), samples in bundle.samples_of.items():
        session = next(s for s in bundle.sessions if s.node == node)
        times_ns = {pair.when: pair.monotonic_ns for pair in session.clocks}
        read_ns = samples.ints("read_ns")
        outside = read_ns < times_ns.get("before", read_ns.min())
        outside |= read_ns > times_ns.get("after", read_ns.max())
        if outside.any():
            yield Violation(
                SAMPLES,
                format_rows(samples, outside),
                f"{uuid}: {outside.sum()} samples before or after session {session.session}",
                f"samples between the pairs of {session.pointer}/clocks",
            )
    for first, second in combinations(bundle.sessions, 2):
        shared = set(first.accelerators) & set(second.accelerators)
        if shared and _overlap(first, second):
            yield Violation(
                STUDY_FILE,
                f"{second.pointer}/clocks",
                f"{min(shared)} is in sessions {first.session} and {second.session} at one time",
                "one session at a time on an accelerator",
            )


def _check_date(session: Session) -> Iterator[Violation]:
    pointer = f"{session.pointer}/started_at"
    try:
        started_s = datetime.fromisoformat(session.started_at).timestamp()
    except ValueError:
        yield Violation(STUDY_FILE, pointer, session.started_at, "an existing date and time in UTC")
        return
    span_s = _read_wall_span_s(session)
    if span_s and abs(started_s - span_s[0]) > TOLERANCE_S:
        yield Violation(
            STUDY_FILE,
            pointer,
            f"{session.started_at}, {abs(started_s - span_s[0]):.0f} s from the wall clock",
            f"a date within {TOLERANCE_S:g} s of {session.pointer}/clocks",
        )


def _read_wall_span_s(session: Session) -> tuple[float, float] | None:
    """Start and end of a session in s since 1970, by the wall clock before it and the monotonic
    clock; None without both pairs."""
    pairs = {pair.when: pair for pair in session.clocks}
    if not {"before", "after"} <= pairs.keys():
        return None
    before, after = pairs["before"], pairs["after"]
    begin_s = before.wall_ns / 1e9
    return begin_s, begin_s + (after.monotonic_ns - before.monotonic_ns) / 1e9


def _overlap(first: Session, second: Session) -> bool:
    span_s, other_span_s = _read_wall_span_s(first), _read_wall_span_s(second)
    if span_s is None or other_span_s is None:
        return False
    return span_s[0] < other_span_s[1] and other_span_s[0] < span_s[1]
