"""Read the signed records that lie in a bundle beside its submitter's signature: reviews,
withdrawals, requests and challenges."""

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from checker.trust.keyring import Keyring, belongs_to
from checker.trust.signature import verify_signature
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused, build_refusal, shorten
from rules.bundle_format.records import (
    CHALLENGE_FORMAT,
    MANIFEST_FILE,
    REQUEST_FORMAT,
    REVIEW_FORMAT,
    REVIEW_NAMESPACE,
    SIGNATURE_DIR,
    SUBMISSION_NAMESPACE,
    WITHDRAWAL_FORMAT,
    WITHDRAWAL_NAMESPACE,
    Json,
)
from rules.finding import Problem, Severity
from rules.rule_ids import (
    KEY_UNDER_TWO_NAMES,
    RECORD_INCOMPLETE,
    RECORD_NAMES_ANOTHER,
    RECORD_OF_ANOTHER_MANIFEST,
    REVIEW_REJECTS,
    REVIEWER_IS_SUBMITTER,
    SIGNER_EXPIRED,
    SIGNER_NOT_OF_PATH,
    SIGNER_REVOKED,
    WITHDRAWN_BY_ANOTHER_CENTER,
)
from rules.summaries.bundle_summary import Challenge

REVIEW, WITHDRAWAL, REQUEST, CHALLENGE = "review", "withdrawal", "request", "challenge"
_KINDS = {
    REVIEW: (REVIEW_FORMAT, REVIEW_NAMESPACE, "reviewer"),
    WITHDRAWAL: (WITHDRAWAL_FORMAT, WITHDRAWAL_NAMESPACE, "withdrawn_by"),
    REQUEST: (REQUEST_FORMAT, SUBMISSION_NAMESPACE, "requested_by"),
    CHALLENGE: (CHALLENGE_FORMAT, REVIEW_NAMESPACE, "issued_by"),
}
"""Format, namespace and the key of the signer's principal, by kind of record."""
_KEY_DOES_NOT_COUNT = (SIGNER_NOT_OF_PATH, SIGNER_REVOKED, SIGNER_EXPIRED)
"""The keyring may change after a record was made. That is no fault of the center whose bundle it
is."""


@dataclass(frozen=True)
class Review:
    """A review whose signature is good."""

    reviewer: str
    verdict: str
    """`accept` or `reject`."""
    comment: str
    reviewed_at: str


@dataclass(frozen=True)
class Withdrawal:
    """A withdrawal whose signature is good."""

    withdrawn_by: str
    withdrawn_at: str
    reason: str


@dataclass(frozen=True)
class Request:
    """A request to take a bundle into a round, whose signature is good."""

    requested_by: str
    requested_on: str
    """The day in UTC, such as 2026-11-29."""
    round: str
    """The title of the round; empty if it had none."""


@dataclass
class Records:
    """The good records of a bundle, and what is wrong with the others."""

    reviews: list[Review] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    """Of any center: who hands the bundle in."""
    request_refused: str = ""
    """What is wrong with the last request that does not count; empty if all do."""
    challenges: list[Challenge] = field(default_factory=list)
    withdrawal: Withdrawal | None = None
    """The first one, None if there is none."""
    withdrawal_set_aside: Withdrawal | None = None
    """The first one by another center whose key does not count. It counts if the LOG lists it."""
    problems: list[Problem] = field(default_factory=list)


def utc_now() -> str:
    """The present time in UTC, in the form of records: 2026-11-21T17:00:00Z."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_request(name: str) -> bool:
    """Whether a file of a bundle belongs to a request."""
    return name.startswith(f"{SIGNATURE_DIR}/{REQUEST}.")


def read_records(
    contents: dict[str, bytes], keyring: Keyring, center: str, valid_at: str = ""
) -> Records:
    """Read the records among the files of a bundle (bytes by name) that lies below the directory of
    `center`.

    A key counts if it is valid now, or was at `valid_at`. A record by another center whose key does
    not count is set aside with a note. Raises CheckerError without ssh-keygen.
    """
    records = Records()
    # By the fingerprint of the key.
    reviewers: dict[str, str] = {}
    names = {
        name.rpartition(".")[0]
        for name in contents
        if name.startswith(tuple(f"{SIGNATURE_DIR}/{kind}." for kind in _KINDS))
    }
    # Document and signature share the name without suffix, so a missing one of the two is noticed.
    for name in sorted(names):
        kind, _, principal = name.removeprefix(f"{SIGNATURE_DIR}/").partition(".")
        try:
            record, fingerprint = _read_record(contents, name, kind, principal, keyring, valid_at)
            if kind == REVIEW:
                review = Review(
                    principal, record["verdict"], record["comment"], record["reviewed_at"]
                )
                _check_independence(kind, principal, fingerprint, name, keyring, center)
                _check_own_key(review, name, reviewers.setdefault(fingerprint, principal))
                records.reviews.append(review)
                records.problems += _report_rejection(review, name)
            elif kind == REQUEST:
                records.requests.append(Request(principal, record["requested_on"], record["round"]))
            elif kind == CHALLENGE:
                _check_independence(kind, principal, fingerprint, name, keyring, center)
                records.challenges.append(Challenge(principal, record["issued_at"], record["seed"]))
            else:
                _check_withdrawal_right(principal, name, keyring, center)
                # A withdrawal is final, so one is enough. The names are sorted, so it is the same
                # everywhere.
                records.withdrawal = records.withdrawal or _make_withdrawal(record)
        except Refused as refusal:
            if kind == REQUEST:
                # I132 reports a bundle without a good one.
                records.request_refused = refusal.problems[0].violation.found
                continue
            if belongs_to(principal, center) or any(
                problem.rule not in _KEY_DOES_NOT_COUNT for problem in refusal.problems
            ):
                records.problems += refusal.problems
                continue
            records.problems += map(_set_aside, refusal.problems)
            if kind == WITHDRAWAL:
                # The document is good, and so is its signature: only the key does not count.
                document = f"{name}.json"
                record = read_document(document, contents[document], WITHDRAWAL_FORMAT)
                records.withdrawal_set_aside = records.withdrawal_set_aside or _make_withdrawal(
                    record
                )
    return records


def _make_withdrawal(record: Json) -> Withdrawal:
    return Withdrawal(record["withdrawn_by"], record["withdrawn_at"], record["reason"])


def _set_aside(problem: Problem) -> Problem:
    violation = replace(
        problem.violation,
        message="The statement of the other center does not count. The bundle stands without it.",
        severity=Severity.NOTE,
    )
    return replace(problem, violation=violation)


def _read_record(
    contents: dict[str, bytes],
    name: str,
    kind: str,
    principal: str,
    keyring: Keyring,
    valid_at: str,
) -> tuple[Json, str]:
    """Read the record `name` (without suffix) and verify its signature. Returns it with the
    fingerprint of the key. Raises Refused."""
    document, signature = f"{name}.json", f"{name}.sig"
    record_format, namespace, signer_key = _KINDS[kind]
    _check_both_files(kind, document, signature, contents)
    record = read_document(document, contents[document], record_format)
    if record[signer_key] != principal:
        raise build_refusal(
            RECORD_NAMES_ANOTHER,
            document,
            f"/{signer_key}",
            record[signer_key],
            f"{shorten(principal)}, as in the name of the file",
            "The name of the file contains the principal who signs it.",
        )
    fingerprint = verify_signature(
        contents[signature],
        contents[document],
        signature,
        principal,
        namespace,
        keyring,
        valid_at,
    )
    # OpenSSH accepts a line without namespaces for every namespace. Here a role must be named.
    if not keyring.grants(principal, namespace, fingerprint):
        raise refused_role(signature, namespace)
    manifest_sha256 = hashlib.sha256(contents[MANIFEST_FILE]).hexdigest()
    if record["manifest_sha256"] != manifest_sha256:
        message = (
            f"The {kind} is for another bundle, or for this one before it was changed. Remove "
            "it, and make a new one for this bundle."
        )
        raise build_refusal(
            RECORD_OF_ANOTHER_MANIFEST,
            document,
            "/manifest_sha256",
            record["manifest_sha256"],
            manifest_sha256,
            message,
        )
    return record, fingerprint


def _check_both_files(kind: str, document: str, signature: str, contents: dict[str, bytes]) -> None:
    """Raises Refused if either file of a record is missing."""
    for missing, present in ((document, signature), (signature, document)):
        if missing not in contents:
            message = (
                f"A {kind} is two files: the document, and the signature over it. Make it again "
                "with bench-check, or remove it."
            )
            raise build_refusal(
                RECORD_INCOMPLETE,
                present,
                "",
                f"there is no {shorten(missing)}",
                "both files",
                message,
            )


def refused_role(signature: str, namespace: str) -> Refused:
    """The refusal of the file `signature`: its key's line in the keyring does not name the
    namespace."""
    return build_refusal(
        SIGNER_NOT_OF_PATH,
        signature,
        "",
        "a key that is for no role",
        f"a key for the namespace {namespace}",
        f'The line of the key in the keyring must name it: namespaces="{namespace}".',
    )


def _check_independence(
    kind: str, principal: str, fingerprint: str, name: str, keyring: Keyring, center: str
) -> None:
    """Raises Refused if who reviews or challenges belongs to the center that submits."""
    tie = keyring.find_tie(principal, center, fingerprint)
    if tie:
        message = (
            "A reviewer belongs to another center, with its own name and its own key. Remove the "
            f"{kind}."
        )
        expected = f"a principal of another center than {shorten(center)}"
        pointer = f"/{_KINDS[kind][2]}"
        raise build_refusal(REVIEWER_IS_SUBMITTER, f"{name}.json", pointer, tie, expected, message)


def _check_own_key(review: Review, name: str, key_owner: str) -> None:
    """Raises Refused if the review is signed with the key of `key_owner`, another reviewer of the
    bundle."""
    if key_owner != review.reviewer:
        raise build_refusal(
            KEY_UNDER_TWO_NAMES,
            f"{name}.json",
            "/reviewer",
            f"{shorten(review.reviewer)} signs with the key of {shorten(key_owner)}, who also "
            "reviewed it",
            "a key for each reviewer",
            "One key counts for one reviewer. Remove one of the two reviews.",
        )


def _check_withdrawal_right(principal: str, name: str, keyring: Keyring, center: str) -> None:
    """Raises Refused if `principal` is of another center that submits bundles."""
    # A center must not remove the results of a competitor.
    if not belongs_to(principal, center) and keyring.grants(principal, SUBMISSION_NAMESPACE):
        message = (
            "A bundle is withdrawn by its own center, or by a principal whom the keyring lets "
            "withdraw but not submit. Remove the withdrawal."
        )
        raise build_refusal(
            WITHDRAWN_BY_ANOTHER_CENTER,
            f"{name}.json",
            "/withdrawn_by",
            principal,
            f"a principal of {shorten(center)}, or one who does not submit",
            message,
        )


def _report_rejection(review: Review, name: str) -> tuple[Problem, ...]:
    if review.verdict == "accept":
        return ()
    comment = (
        f"The reviewer writes: {review.comment}"
        if review.comment
        else "The reviewer gives no reason."
    )
    return build_refusal(
        REVIEW_REJECTS,
        f"{name}.json",
        "/verdict",
        f"{review.reviewer} rejects it",
        "a review that accepts",
        f"{comment} Answer it, or withdraw the bundle.",
    ).problems
