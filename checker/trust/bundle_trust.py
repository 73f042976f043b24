"""Who stands behind a bundle: its submitter, reviewers and who withdrew it; what the LOG and the
waivers say of it.

All of it hangs on one keyring: the LOG and the waivers that count are those beside it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from checker.trust import acceptance_log as acceptance
from checker.trust import waivers
from checker.trust.acceptance_log import version_of
from checker.trust.authority import authority, keyrings_above, signer
from checker.trust.keyring import read_keyring
from checker.trust.records import Review, Withdrawal, read_records
from rules.bundle_format.documents import read_json
from rules.bundle_format.files import Refused, refused
from rules.bundle_format.records import (
    ACCEPTANCE_FILE,
    KEYRING_DIR,
    MANIFEST_FILE,
    SIGNERS_FILE,
    Json,
)
from rules.finding import Finding, Problem, Severity
from rules.registry import rules_by_id
from rules.rule import FormRule
from rules.rule_ids import ACCEPTED_BUNDLE_REPLACED, OUT_OF_PLACE, WITHDRAWAL_REMOVED


@dataclass(frozen=True)
class Trust:
    """What is established about one bundle."""

    problems: tuple[Problem, ...] = ()
    signer: str | None = None
    reviews: tuple[Review, ...] = ()
    withdrawal: Withdrawal | None = None
    manifest_sha256: str = ""
    keyring: Path | None = None
    place: str = ""
    """The bundle's path below `submissions/`."""
    accepted: str = ""
    """The version of the rule book under which it was accepted, empty where the LOG does not know
    it."""
    waived: Mapping[str, str] = field(default_factory=dict)
    """The rules that are not held against it, each with the waiver's file."""

    def settle(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings as they count: rules on evidence that are younger than the acceptance only
        note, and what is waived is marked. What is wrong with form and integrity now, no acceptance
        lifts."""
        return map(self._settled, findings)

    def _settled(self, finding: Finding) -> Finding:
        rule = rules_by_id().get(finding.rule)
        if rule is None:
            return finding
        younger = (
            self.accepted
            and not isinstance(rule, FormRule)
            and version_of(rule.added) > version_of(self.accepted)
        )
        if younger and finding.severity != Severity.NOTE:
            why = (
                f"A note only: accepted under rule book {self.accepted}, and {rule.added} is "
                "the first to have this rule."
            )
            finding = replace(finding, severity=Severity.NOTE, message=f"{finding.message} {why}")
        return replace(finding, waived=self.waived.get(rule.id, ""))


def establish(
    path: Path,
    contents: dict[str, bytes],
    keyring: Path | None,
    root: Path,
    result: Json | None = None,
) -> Trust:
    """What can be established about the bundle at `path`, whose files are `contents`, found below
    the checked path `root`.

    `result` is the object in result.json, where it has been read. Raises CheckerError where there
    is no ssh-keygen.
    """
    manifest = sha256(contents[MANIFEST_FILE]).hexdigest()
    try:
        own = authority(path, keyring, root)
    except Refused as refusal:
        return Trust(refusal.problems, manifest_sha256=manifest)
    log = acceptance.read_log(own.keyring.submissions)
    entry = log.accepted.get(own.place)
    problems = (
        list(_not_of(entry, manifest, _claimed(contents) if result is None else result))
        if entry
        else []
    )
    if problems:
        entry = None
    at = entry.at if entry else ""
    who = None
    try:
        who = signer(path, contents, own, at)
    except Refused as refusal:
        problems += refusal.problems
    records = read_records(path, contents, own.keyring, own.center, at)
    if entry and own.place in log.withdrawn and not records.withdrawal:
        problems += _returned(log.withdrawn[own.place])
    waived, wrong = waivers.in_force(own.keyring, own.place, own.center, manifest, now(), at)
    return Trust(
        problems=(*problems, *records.problems, *wrong),
        signer=who,
        reviews=tuple(records.reviews),
        withdrawal=records.withdrawal,
        manifest_sha256=manifest,
        keyring=own.keyring.directory,
        place=own.place,
        accepted=entry.rules_version if entry else "",
        waived=waived,
    )


def of_no_bundle(
    found: Sequence[Trust], keyring: Path | None, roots: Sequence[Path]
) -> Iterator[tuple[Path, str, Problem]]:
    """What is wrong with the LOGs, waivers and keyrings that the judged bundles hang on: path,
    standing and problem of each.

    `keyring` is the one that was named, `roots` are the checked paths: of bundles below them the
    LOG's are asked for.
    """
    for directory in dict.fromkeys(trust.keyring for trust in found if trust.keyring):
        own = read_keyring(directory)
        submissions = own.submissions
        log = acceptance.read_log(submissions)
        present = {t.place for t in found if t.keyring == directory and t.place}
        asked = _asked(submissions, roots) if keyring is None else [""] if present else []
        gone = [problem for below in asked for problem in acceptance.missing(log, below, present)]
        yield from (
            (submissions / ACCEPTANCE_FILE, "log", problem)
            for problem in dict.fromkeys((*log.problems, *gone))
        )
        yield from (
            (submissions / file, "waiver", problem)
            for file, problem in waivers.judged(own, now())[1]
        )
        yield from (
            (own.directory / SIGNERS_FILE, KEYRING_DIR, problem) for problem in own.problems
        )


def keyrings_below_centers(
    found: Iterable[Path], bundles: Iterable[Path]
) -> Iterator[tuple[Path, str, Problem]]:
    """What is wrong with keyrings that do not decide, because another lies further out: path,
    standing and problem of each.

    `found` are the directories called `keyring` that were met; those above `bundles` are looked
    for.
    """
    met = {path.resolve(): path for path in found}
    above = {
        keyring
        for parent in {path.resolve().parent for path in bundles}
        for keyring in keyrings_above(parent)[1:]
    }
    for keyring in sorted(above | met.keys()):
        outermost = next(iter(keyrings_above(keyring.parent)), keyring)
        if outermost != keyring:
            message = (
                "Its keys, its LOG and its waivers count for nothing. Remove it; whoever runs "
                "the round adds keys to the one."
            )
            (problem,) = refused(
                OUT_OF_PLACE, "", "", "a keyring below another", f"one, {outermost}", message
            ).problems
            yield met.get(keyring, keyring), KEYRING_DIR, problem


def now() -> str:
    """The present time in UTC, as records have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _asked(submissions: Path, roots: Sequence[Path]) -> Iterator[str]:
    """The paths below `submissions` that were checked, empty for all of it."""
    for root in roots:
        at = root.resolve()
        if submissions.is_relative_to(at):
            yield ""
        elif at.is_relative_to(submissions):
            yield at.relative_to(submissions).as_posix()


def _claimed(contents: dict[str, bytes]) -> Json:
    """What result.json says, empty where it is no JSON: that is refused elsewhere, and no
    acceptance lifts it."""
    try:
        claimed: Json = read_json("result.json", contents.get("result.json", b""))
    except Refused:
        return {}
    return claimed


def _not_of(entry: acceptance.Entry, manifest: str, claimed: Json) -> Iterator[Problem]:
    """Why the bundle with the SHA-256 `manifest`, whose result.json is `claimed`, is not the one
    that was accepted as `entry` says; nothing where it is.
    """
    if entry.manifest_sha256 == manifest:
        yield from acceptance.contradictions(entry, claimed)
        return
    found = f"a manifest with sha256 {manifest}"
    expected = (
        f"{entry.manifest_sha256}, accepted {entry.at} (line {entry.line} of the {ACCEPTANCE_FILE})"
    )
    message = (
        "Another bundle was accepted in this place. Restore that one; a run that is made anew "
        "has a directory of its own."
    )
    yield from refused(
        ACCEPTED_BUNDLE_REPLACED, MANIFEST_FILE, "", found, expected, message
    ).problems


def _returned(entry: acceptance.Entry) -> tuple[Problem, ...]:
    expected = f"the withdrawal of {entry.at} (line {entry.line} of the {ACCEPTANCE_FILE})"
    message = "What was withdrawn stays so. Restore the two files of the withdrawal in signatures/."
    return refused(
        WITHDRAWAL_REMOVED, "signatures", "", "no good withdrawal", expected, message
    ).problems
