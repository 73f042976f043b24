"""Write into the LOG which bundles are accepted or withdrawn, and who committed to which."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.engine import judge_all
from checker.trust.acceptance_log import (
    ACCEPTED,
    COMMITTED,
    WITHDRAWN,
    AcceptanceLog,
    LogEntry,
    append_entries,
    read_log,
)
from checker.trust.commitments import name_commitment, read_commitments
from checker.trust.keyring import read_keyring
from checker.trust.records import utc_now
from checker.trust.statements import StatementError, find_submissions, format_problems
from checker.verdict import NON_BUNDLE_STANDINGS, Verdict
from rules import VERSION
from rules.bundle_format.files import Refused
from rules.bundle_format.records import ACCEPTANCE_FILE, KEYRING_DIR

UNCHANGED, LEFT_OUT, REFUSED = "unchanged", "left out", "refused"
"""Outcomes for which nothing is written into the LOG: it lists the bundle already, the bundle was
withdrawn before anybody accepted it, the bundle may not be accepted."""


@dataclass(frozen=True)
class AcceptanceOutcome:
    """What `accept` did with one bundle."""

    outcome: str
    """`ACCEPTED`, `WITHDRAWN` or `COMMITTED`, which the LOG records, or one of `UNCHANGED`,
    `LEFT_OUT` and `REFUSED`."""
    path: str
    """The bundle's directory below `submissions/`, with `/` between its parts, or the file of the
    commitment."""
    reason: str = ""


def accept(paths: Sequence[Path], reasons: Mapping[Path, str]) -> list[AcceptanceOutcome]:
    """Judge all submissions, and write into the LOG all new commitments and then the bundles at or
    below `paths` that pass, or were withdrawn since they were accepted.

    A bundle that no reviewer accepts, that one rejects, or that has findings which bar winning is
    refused, unless `reasons` has a reason for its directory. The LOG keeps the reason. Returns the
    outcome for each bundle. Raises StatementError if the LOG cannot be appended to, or if `reasons`
    names another directory.
    """
    directories = {find_submissions(path) for path in paths}
    # Each keyring has a LOG of its own.
    if len(directories) != 1:
        raise StatementError("the paths belong to several keyrings; accept them one by one")
    (submissions,) = directories
    # Rules across bundles need the whole round, also if only some bundles are to be accepted.
    verdicts = judge_all([submissions]).verdicts
    _require_good_log(submissions, verdicts)
    roots = [path.resolve() for path in paths]
    bundles = [
        verdict
        for verdict in verdicts
        if verdict.standing not in (*NON_BUNDLE_STANDINGS, "published")
        # Without any bundle, the directory itself is judged as one.
        and verdict.path != submissions
        and any(verdict.path.is_relative_to(root) for root in roots)
    ]
    reasons = {path.resolve(): reason for path, reason in reasons.items()}
    for named in reasons.keys() - {verdict.path for verdict in bundles}:
        raise StatementError(f"{named}: a reason is for a bundle at or below {paths[0]}")
    # One time for all lines of this acceptance.
    log, now = read_log(submissions), utc_now()
    entries, outcomes = [], []
    # Before the bundles, so that a commitment comes before a copy that is accepted together with
    # it.
    for center, manifest_sha256 in read_commitments(read_keyring(submissions / KEYRING_DIR))[0]:
        if (center.casefold(), manifest_sha256) not in log.committed:
            entries.append(LogEntry(now, COMMITTED, center, manifest_sha256, VERSION))
            file = name_commitment(center, manifest_sha256)
            outcomes.append(AcceptanceOutcome(COMMITTED, file))
    if not bundles and not entries:
        raise StatementError(f"{paths[0]}: no bundle at or below it")
    for verdict in bundles:
        path = verdict.path.relative_to(submissions).as_posix()
        reason = reasons.get(verdict.path, "")
        outcome, explanation = _decide(verdict, path, log, reason)
        outcomes.append(AcceptanceOutcome(outcome, path, explanation))
        if outcome in (ACCEPTED, WITHDRAWN):
            reason = reason if outcome == ACCEPTED else ""
            entries.append(LogEntry(now, outcome, path, verdict.manifest_sha256, VERSION, reason))
    if entries:
        try:
            append_entries(submissions, log.head, entries)
        except Refused as refusal:
            raise StatementError(
                f"{submissions / ACCEPTANCE_FILE}: {format_problems(refusal.problems)}"
            ) from None
    return outcomes


def _require_good_log(submissions: Path, verdicts: Sequence[Verdict]) -> None:
    """Raises StatementError if anything is wrong with the LOG."""
    problems = [
        f"{f.pointer}: {f.found}. {f.message}"
        for verdict in verdicts
        if verdict.standing == "log"
        for f in verdict.findings
    ]
    if problems:
        raise StatementError(
            f"{submissions / ACCEPTANCE_FILE}: nothing is accepted while it is broken:\n  "
            + "\n  ".join(problems)
        )


def _decide(verdict: Verdict, path: str, log: AcceptanceLog, reason: str) -> tuple[str, str]:
    """The outcome for a bundle, and why."""
    accepted = log.accepted.get(path)
    if verdict.status == "fail":
        errors = sorted({f.rule for f in verdict.findings if verdict.fails_by(f)})
        return REFUSED, f"it fails: {', '.join(errors)}"
    # A line of the LOG for it would say nothing: only an accepted bundle can be withdrawn there.
    if verdict.withdrawn and not accepted:
        return LEFT_OUT, "it was withdrawn before it was accepted"
    if path in log.withdrawn or (accepted and not verdict.withdrawn):
        return UNCHANGED, ""
    if accepted:
        if accepted.manifest_sha256 != verdict.manifest_sha256:
            return REFUSED, "it is another bundle than the accepted one"
        return WITHDRAWN, ""
    doubts = "; ".join(_list_doubts(verdict))
    if doubts and not reason:
        review = "bench-check review BUNDLE --key KEY --principal REVIEWER@DOMAIN --verdict accept"
        advice = "" if verdict.reviewers or verdict.rejecters else f"{review}; "
        advice += "to accept it all the same, add --despite BUNDLE REASON"
        return REFUSED, f"{doubts}; {advice}"
    return ACCEPTED, f"despite: {doubts}" if doubts else ""


def _list_doubts(verdict: Verdict) -> Iterator[str]:
    """What whoever runs the round has to answer for before the bundle is accepted."""
    if verdict.rejecters:
        yield f"rejected by {', '.join(verdict.rejecters)}"
    elif not verdict.reviewers:
        yield "no other center has reviewed it"
    if barring := verdict.findings_that_bar_winning:
        yield f"it may not win: {', '.join(sorted({finding.rule for finding in barring}))}"
