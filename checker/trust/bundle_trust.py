"""Establish who submitted, reviewed and withdrew a bundle, and what the LOG and the waivers say of
it.

All of it depends on one keyring: the LOG and the waivers that count lie beside it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from checker.directory_names import find_collisions
from checker.find import resolve
from checker.trust.acceptance_log import (
    AcceptanceLog,
    LogLine,
    find_contradictions,
    find_missing_bundles,
    find_missing_head,
    parse_version,
    read_log,
)
from checker.trust.authority import Authority, find_authority, find_keyrings_above, verify_submitter
from checker.trust.commitments import read_commitments
from checker.trust.keyring import belongs_to, read_keyring
from checker.trust.manifest import MainDocument, check_place, read_main_document
from checker.trust.records import Records, Review, Withdrawal, is_request, read_records, utc_now
from checker.trust.requests import check_requests, read_round_title
from checker.trust.waivers import find_waivers_in_force, judge_waivers
from rules.bundle_format.files import Refused, build_refusal
from rules.bundle_format.records import (
    ACCEPTANCE_FILE,
    KEYRING_DIR,
    MANIFEST_FILE,
    SIGNERS_FILE,
)
from rules.finding import Finding, Problem, Severity
from rules.registry import rules_by_id
from rules.rule import FormRule
from rules.rule_ids import ACCEPTED_BUNDLE_REPLACED, OUT_OF_PLACE, WITHDRAWAL_REMOVED
from rules.summaries.bundle_summary import Challenge

_CHALLENGED_SINCE = (1, 12, 0)
"""The first rule book under which reproductions of accepted bundles need a challenge."""


@dataclass(frozen=True)
class Trust:
    """What is established about one bundle."""

    problems: tuple[Problem, ...] = ()
    signer: str | None = None
    reviews: tuple[Review, ...] = ()
    withdrawal: Withdrawal | None = None
    handed_in_by: tuple[str, ...] = ()
    """The principals with a good request."""
    challenges: tuple[Challenge, ...] = ()
    manifest_sha256: str = ""
    keyring: Path | None = None
    submissions: Path | None = None
    """The directory that holds the directories of centers."""
    place: str = ""
    """The bundle's path below `submissions`."""
    accepted: str = ""
    """The version of the rule book under which it was accepted, empty if the LOG does not list
    it."""
    log_line: int | None = None
    """The number of the line of the LOG that accepts it; None if none does."""
    committed_line: int | None = None
    """The number of the line of the LOG by which its center committed to it; None if none does."""
    waived: Mapping[str, str] = field(default_factory=dict)
    """The rules that are waived for it, each with the waiver's file."""

    @property
    def withdrawn_by_round(self) -> bool:
        """Whether somebody of another center withdrew it: whoever runs the round."""
        center = self.place.partition("/")[0]
        return self.withdrawal is not None and not belongs_to(self.withdrawal.withdrawn_by, center)

    @property
    def needs_challenge(self) -> bool:
        """Whether only reproductions with the seed of a challenge support it."""
        return not self.accepted or parse_version(self.accepted) >= _CHALLENGED_SINCE

    def settle(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings with waivers marked, and with severity note where the rule is newer than the
        acceptance of the bundle. Rules on form and integrity keep their severity."""
        return map(self._settle_finding, findings)

    def _settle_finding(self, finding: Finding) -> Finding:
        rule = rules_by_id().get(finding.rule)
        if rule is None:
            return finding
        is_newer = (
            self.accepted
            # Form and integrity say whether the accepted bundle is still the same, whatever the age
            # of the rule.
            and not isinstance(rule, FormRule)
            and parse_version(rule.added) > parse_version(self.accepted)
        )
        if is_newer and finding.severity != Severity.NOTE:
            reason = (
                f"A note only: accepted under rule book {self.accepted}, and {rule.added} is "
                "the first to have this rule."
            )
            finding = replace(
                finding, severity=Severity.NOTE, message=f"{finding.message} {reason}"
            )
        return replace(finding, waived=self.waived.get(rule.id, ""))


@dataclass(frozen=True)
class RoundProblem:
    """A problem of a file of the round that belongs to no bundle."""

    path: Path
    standing: str
    """`log`, `waiver`, `commitment` or `keyring`."""
    problem: Problem


def establish_trust(
    path: Path,
    contents: dict[str, bytes],
    keyring: Path | None,
    root: Path,
    document: MainDocument | None = None,
) -> Trust:
    """Establish what can be about the bundle at `path`, with the files `contents`, found below the
    checked path `root`.

    `document` is its main document if it was read already. Raises CheckerError without ssh-keygen.
    """
    manifest_sha256 = sha256(contents[MANIFEST_FILE]).hexdigest()
    try:
        # Without a keyring nobody can be trusted, so nothing else is read.
        authority = find_authority(path, keyring, root)
    except Refused as refusal:
        return Trust(refusal.problems, manifest_sha256=manifest_sha256)
    log = read_log(authority.keyring.submissions)
    problems = list(find_collisions(authority.submissions, authority.place, log.accepted))
    document = document or read_main_document(contents)
    acceptance, contradictions = _find_acceptance(log, authority.place, manifest_sha256, document)
    problems += contradictions
    # Keys and waivers of an accepted bundle must have been valid when it was accepted.
    accepted_at = acceptance.at if acceptance else ""
    submitter = None
    try:
        submitter = _verify_in_place(contents, document, authority, accepted_at)
    except Refused as refusal:
        problems += refusal.problems
    if not submitter:
        # Who does not sign the bundle cannot hand it in.
        contents = {name: raw for name, raw in contents.items() if not is_request(name)}
    records = read_records(contents, authority.keyring, authority.center, accepted_at)
    withdrawal, missing = _find_withdrawal(records, log, authority.place, bool(acceptance))
    problems += missing
    if submitter:
        title = read_round_title(authority.submissions)
        problems += check_requests(records, authority.center, title, document)
    commitment = log.committed.get((authority.center.casefold(), manifest_sha256))
    holder = authority.keyring, authority.place, authority.center
    waived, waiver_problems = find_waivers_in_force(
        *holder, manifest_sha256, utc_now(), accepted_at
    )
    return Trust(
        problems=(*problems, *records.problems, *waiver_problems),
        signer=submitter,
        reviews=tuple(records.reviews),
        withdrawal=withdrawal,
        handed_in_by=tuple(request.requested_by for request in records.requests),
        challenges=tuple(records.challenges),
        manifest_sha256=manifest_sha256,
        keyring=authority.keyring.directory,
        submissions=authority.submissions,
        place=authority.place,
        accepted=acceptance.rules_version if acceptance else "",
        log_line=acceptance.number if acceptance else None,
        committed_line=commitment.number if commitment else None,
        waived=waived,
    )


def _find_acceptance(
    log: AcceptanceLog, place: str, manifest_sha256: str, document: MainDocument
) -> tuple[LogLine | None, list[Problem]]:
    """The acceptance of a bundle, and the contradictions of one that counts for nothing."""
    acceptance = log.accepted.get(place)
    if acceptance is None:
        return None, []
    contradictions = list(_check_acceptance(acceptance, manifest_sha256, document))
    return None if contradictions else acceptance, contradictions


def _find_withdrawal(
    records: Records, log: AcceptanceLog, place: str, is_accepted: bool
) -> tuple[Withdrawal | None, tuple[Problem, ...]]:
    """The withdrawal that counts, and the problem of one that is missing. The LOG remembers
    withdrawals, so that neither removing the files of one nor its key revives the bundle."""
    if records.withdrawal or not is_accepted or place not in log.withdrawn:
        return records.withdrawal, ()
    withdrawal = records.withdrawal_set_aside
    return withdrawal, () if withdrawal else _missing_withdrawal(log.withdrawn[place])


def _verify_in_place(
    contents: dict[str, bytes], document: MainDocument, authority: Authority, valid_at: str
) -> str:
    """The principal who signed the bundle for the place where it lies. Raises Refused."""
    signer = verify_submitter(contents, authority, valid_at)
    check_place(contents, document, authority.signed_place)
    return signer


def check_round_files(
    trusts: Sequence[Trust], roots: Sequence[Path], expected_head: str
) -> Iterator[RoundProblem]:
    """Check the LOGs, waivers, commitments and keyrings on which the trust in the judged bundles
    depends.

    `roots` are the checked paths: every bundle that the LOG lists below them must be present. A
    line of the LOG must have the hash `expected_head`, unless it is empty.
    """
    for directory in dict.fromkeys(trust.keyring for trust in trusts if trust.keyring):
        try:
            # Cached: the bundles have been judged by it. It may have been removed since.
            keyring_of_round = read_keyring(directory)
        except Refused as refused:
            for problem in refused.problems:
                yield RoundProblem(directory / SIGNERS_FILE, KEYRING_DIR, problem)
            continue
        submissions = keyring_of_round.submissions
        log = read_log(submissions)
        judged = [t for t in trusts if t.keyring == directory and t.submissions]
        present = {t.place for t in judged if t.place}
        checked = [
            place
            for centers in dict.fromkeys(t.submissions for t in judged if t.submissions)
            for place in _checked_places(centers, roots)
        ]
        missing = [p for below in checked for p in find_missing_bundles(log, below, present)]
        truncated = find_missing_head(log, expected_head) if expected_head else ()
        for problem in dict.fromkeys((*log.problems, *truncated, *missing)):
            yield RoundProblem(submissions / ACCEPTANCE_FILE, "log", problem)
        for file, problem in judge_waivers(keyring_of_round, utc_now())[1]:
            yield RoundProblem(submissions / file, "waiver", problem)
        for file, problem in read_commitments(keyring_of_round)[1]:
            yield RoundProblem(submissions / file, "commitment", problem)
        for problem in keyring_of_round.problems:
            yield RoundProblem(keyring_of_round.directory / SIGNERS_FILE, KEYRING_DIR, problem)


def check_nested_keyrings(
    keyrings: Iterable[Path], bundles: Iterable[Path]
) -> Iterator[RoundProblem]:
    """Report each keyring that does not count because another one lies further out.

    `keyrings` are the directories called `keyring` that were found below the checked paths. This
    function looks for those above `bundles` itself.
    """
    paths = {resolve(path): path for path in keyrings}
    above = {
        keyring
        for parent in {resolve(path).parent for path in bundles}
        for keyring in find_keyrings_above(parent)[1:]
    }
    # Sorted, so that the order of findings does not depend on the order of a set.
    for keyring in sorted(above | paths.keys()):
        outermost = next(iter(find_keyrings_above(keyring.parent)), keyring)
        if outermost != keyring:
            message = (
                "Its keys, its LOG and its waivers do not count. Remove it. Whoever runs the round "
                "adds keys to the outermost keyring."
            )
            (problem,) = build_refusal(
                OUT_OF_PLACE, "", "", "a keyring below another", f"one, {outermost}", message
            ).problems
            yield RoundProblem(paths.get(keyring, keyring), KEYRING_DIR, problem)


def _checked_places(submissions: Path, roots: Sequence[Path]) -> Iterator[str]:
    """The checked paths below `submissions`, empty for all of it."""
    for root in roots:
        resolved = resolve(root)
        if submissions.is_relative_to(resolved):
            yield ""
        elif resolved.is_relative_to(submissions):
            yield resolved.relative_to(submissions).as_posix()


def _check_acceptance(
    line: LogLine, manifest_sha256: str, document: MainDocument
) -> Iterator[Problem]:
    """Check that the bundle with this manifest and `document` is the one that `line` accepts."""
    if line.manifest_sha256 == manifest_sha256:
        yield from find_contradictions(line, document.file, document.content)
        return
    message = (
        "Another bundle was accepted in this place. Restore that one. A run that is repeated has "
        "a directory of its own."
    )
    yield from build_refusal(
        ACCEPTED_BUNDLE_REPLACED,
        MANIFEST_FILE,
        "",
        f"a manifest with sha256 {manifest_sha256}",
        f"{line.manifest_sha256}, accepted {line.at} (line {line.number} of the {ACCEPTANCE_FILE})",
        message,
    ).problems


def _missing_withdrawal(line: LogLine) -> tuple[Problem, ...]:
    expected = f"the withdrawal of {line.at} (line {line.number} of the {ACCEPTANCE_FILE})"
    message = (
        "A withdrawal is final. Restore the two files of the withdrawal in signatures/ from the "
        "repository's history."
    )
    return build_refusal(
        WITHDRAWAL_REMOVED, "signatures", "", "no good withdrawal", expected, message
    ).problems
