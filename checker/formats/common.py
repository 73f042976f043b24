"""What several formats share: the summary line, paths and withdrawals as text."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from checker.printable import printable
from checker.selection import PARTIAL, RoundView
from checker.verdict import NON_BUNDLE_STANDINGS, TrustLevel, Verdict
from rules.finding import Finding, Severity
from rules.rule import BUNDLE_STANDINGS, OBSERVED_STANDING, STUDY_STANDING

_MAX_SKIPPED = 20
_ADVICE_BY_LEVEL = {
    TrustLevel.ACCEPTED: "whoever runs the round writes it into the LOG (bench-check accept)",
    TrustLevel.REPRODUCED: "another center repeats the run (bench-submit reproduce)",
}


def format_summary(view: RoundView) -> str:
    """One line: how many bundles have which status, and how many findings there are."""
    bundles = [v for v in view.verdicts if v.standing not in NON_BUNDLE_STANDINGS]
    statuses = [view.status(v) for v in bundles]
    others = [v for v in view.verdicts if v.standing in NON_BUNDLE_STANDINGS]
    # The LOG, waivers and keyrings have verdicts too, but are no bundles and must not be counted as
    # such.
    failing_others = sum(view.status(v) == "fail" for v in others)
    text = f"{len(bundles)} judged"
    if view.partial:
        text += (
            f" in part ({', '.join(view.partial)}): {statuses.count(PARTIAL)} without errors in "
            "that part"
        )
    else:
        text += f": {statuses.count('pass')} pass"
    text += f", {statuses.count('fail')} fail"
    if withdrawn := statuses.count("withdrawn"):
        text += f", {withdrawn} withdrawn"
    if failing_others:
        text += f", {failing_others} fail beside them (the LOG, a waiver or the keyring)"
    if view.unfixed:
        text += f", {view.unfixed} not fixed"
    return f"{text}; {', '.join(_format_counts(view))}"


def format_skipped(skipped: Sequence[Path]) -> str:
    """One line that names hidden directories, the first ones if there are many."""
    names = ", ".join(map(str, skipped[:_MAX_SKIPPED]))
    more = f" and {len(skipped) - _MAX_SKIPPED} more" if len(skipped) > _MAX_SKIPPED else ""
    return f"not judged, because hidden (unfinished runs): {names}{more}"


def _format_counts(view: RoundView) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for verdict in view.verdicts:
        for finding in verdict.findings:
            if view.is_known(verdict, finding):
                counts["known"] += 1
            else:
                counts["waived" if finding.waived else finding.severity] += 1
    yield from (f"{counts[s]} {s}{'' if counts[s] == 1 else 's'}" for s in Severity)
    if counts["waived"]:
        yield f"{counts['waived']} waived"
    if counts["known"] or view.gone:
        gone = f" and {len(view.gone)} no longer found" if view.gone else ""
        yield f"{counts['known']} known{gone}"


def format_withdrawal(verdict: Verdict) -> str:
    """Who withdrew a bundle, when and why."""
    return f"withdrawn by {verdict.withdrawn_by}, {verdict.withdrawn_at}: {verdict.withdrawn}"


def find_shortfalls(verdicts: Iterable[Verdict], required_level: str) -> Iterator[str]:
    """A line on each bundle that passes and is below the required trust level, `accepted` or
    `reproduced`.

    A reproduction supports its original, so nobody need reproduce it in turn. Nor can anybody
    reproduce a study or an observed job.
    """
    for verdict in verdicts:
        is_result = verdict.standing in BUNDLE_STANDINGS and verdict.status == "pass"
        is_support = verdict.reproduces is not None and verdict.reproduces.agrees
        is_final = is_support or verdict.standing in (STUDY_STANDING, OBSERVED_STANDING)
        required = TrustLevel.ACCEPTED if is_final else TrustLevel(required_level)
        if is_result and not verdict.trust_level.reaches(required):
            yield printable(
                f"{verdict.path}: {verdict.trust_level}, and --require asks for {required}; "
                f"{' and '.join(_list_advice(verdict, required))}"
            )


def _list_advice(verdict: Verdict, required: TrustLevel) -> Iterator[str]:
    if not verdict.accepted:
        yield _ADVICE_BY_LEVEL[TrustLevel.ACCEPTED]
    if required == TrustLevel.REPRODUCED and not verdict.reproducers:
        yield _ADVICE_BY_LEVEL[TrustLevel.REPRODUCED]


def format_exemption(view: RoundView, verdict: Verdict, finding: Finding) -> str:
    """The prefix of a finding that a waiver or the baseline lifts; empty for any other."""
    if finding.waived:
        return f"waived by {finding.waived}: "
    return "known: " if view.is_known(verdict, finding) else ""


def is_lifted_by_withdrawal(verdict: Verdict, finding: Finding) -> bool:
    """Whether the bundle was withdrawn, and the finding does not count for that reason or
    another."""
    return bool(verdict.withdrawn) and not verdict.fails_by(finding)


def format_file_path(verdict: Verdict, finding: Finding) -> str:
    """The path of the file that the finding is about, starting as the checked path was given."""
    # A finding on the bundle as a whole names the bundle itself as its file.
    is_inside = verdict.path.is_dir() and finding.file != verdict.path.name
    return str(verdict.path / finding.file if is_inside else verdict.path)


def relative_to_cwd(path: str) -> str | None:
    """`path` relative to the working directory, with slashes; None if it does not lie below."""
    relative = Path(os.path.relpath(path))
    # Code scanning and annotations show only files of the repository.
    return None if os.pardir in relative.parts[:1] else relative.as_posix()
