"""The signed records that lie in a bundle beside its submitter's signature: reviews and
withdrawals."""

import hashlib
from dataclasses import dataclass, field, fields
from pathlib import Path

from checker.trust.keyring import Keyring, is_of
from checker.trust.signature import verify
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import Refused, refused, shortened
from rules.bundle_format.records import (
    MANIFEST_FILE,
    REVIEW_FORMAT,
    REVIEW_NAMESPACE,
    SIGNATURE_DIR,
    SUBMISSION_NAMESPACE,
    WITHDRAWAL_FORMAT,
    WITHDRAWAL_NAMESPACE,
    Json,
)
from rules.finding import Problem
from rules.rule_ids import (
    RECORD_INCOMPLETE,
    RECORD_NAMES_ANOTHER,
    RECORD_OF_ANOTHER_MANIFEST,
    REVIEW_REJECTS,
    REVIEWER_IS_SUBMITTER,
    SIGNER_NOT_OF_PATH,
    WITHDRAWN_BY_ANOTHER_CENTER,
)

REVIEW, WITHDRAWAL = "review", "withdrawal"
_KINDS = {
    REVIEW: (REVIEW_FORMAT, REVIEW_NAMESPACE, "reviewer"),
    WITHDRAWAL: (WITHDRAWAL_FORMAT, WITHDRAWAL_NAMESPACE, "withdrawn_by"),
}


@dataclass(frozen=True)
class Review:
    """What a reviewer says in a good review."""

    reviewer: str
    verdict: str
    """`accept` or `reject`."""
    comment: str
    reviewed_at: str


@dataclass(frozen=True)
class Withdrawal:
    """What a good withdrawal says."""

    withdrawn_by: str
    withdrawn_at: str
    reason: str


@dataclass
class Records:
    """What the good records of a bundle say, and what is wrong with the others."""

    reviews: list[Review] = field(default_factory=list)
    withdrawal: Withdrawal | None = None
    """The first one, None where there is none."""
    problems: list[Problem] = field(default_factory=list)


def read_records(
    bundle: Path, contents: dict[str, bytes], keyring: Keyring, center: str, at: str = ""
) -> Records:
    """The records among the files of `bundle` (bytes by name), which lies below the directory of
    `center`.

    Keys count that are valid now, or were at `at`. Raises CheckerError where there is no
    ssh-keygen.
    """
    records = Records()
    names = {
        n.rpartition(".")[0]
        for n in contents
        if n.startswith(tuple(f"{SIGNATURE_DIR}/{kind}." for kind in _KINDS))
    }
    for name in sorted(names):
        try:
            kind, _, who = name.removeprefix(f"{SIGNATURE_DIR}/").partition(".")
            record = _record(bundle, contents, name, kind, who, keyring, at)
            if kind == REVIEW:
                _independent(record, name, keyring, center)
                records.reviews.append(Review(*(record[said.name] for said in fields(Review))))
                records.problems += _reviewed(records.reviews[-1], name)
            else:
                _may_withdraw(who, name, keyring, center)
                records.withdrawal = records.withdrawal or Withdrawal(
                    *(record[said.name] for said in fields(Withdrawal))
                )
        except Refused as refusal:
            records.problems += refusal.problems
    return records


def _record(
    bundle: Path,
    contents: dict[str, bytes],
    name: str,
    kind: str,
    who: str,
    keyring: Keyring,
    at: str,
) -> Json:
    """The record `name`, without suffix, if its signature is good; with its key's fingerprint as
    `key`. Raises Refused."""
    document, signature = f"{name}.json", f"{name}.sig"
    form, namespace, signer = _KINDS[kind]
    for missing, there in ((document, signature), (signature, document)):
        if missing not in contents:
            message = (
                f"A {kind} is two files: what is said, and the signature over it. Make it anew "
                "with bench-check, or remove it."
            )
            raise refused(
                RECORD_INCOMPLETE,
                there,
                "",
                f"there is no {shortened(missing)}",
                "both files",
                message,
            )
    record = read_document(document, contents[document], form)
    if record[signer] != who:
        message = "The file is named after who signs it."
        raise refused(
            RECORD_NAMES_ANOTHER,
            document,
            f"/{signer}",
            record[signer],
            f"{shortened(who)}, as in the name of the file",
            message,
        )
    fingerprint = verify(
        bundle / signature,
        contents[signature],
        contents[document],
        signature,
        who,
        namespace,
        keyring,
        at,
    )
    if not keyring.grants(who, namespace, fingerprint):
        message = f'The line of the key in the keyring must name it: namespaces="{namespace}".'
        raise refused(
            SIGNER_NOT_OF_PATH,
            signature,
            "",
            "a key that is for no role",
            f"a key for the namespace {namespace}",
            message,
        )
    manifest = hashlib.sha256(contents[MANIFEST_FILE]).hexdigest()
    if record["manifest_sha256"] != manifest:
        message = (
            f"The {kind} is of another bundle, or of this one before it was altered. Remove "
            "it; make it anew for this one."
        )
        raise refused(
            RECORD_OF_ANOTHER_MANIFEST,
            document,
            "/manifest_sha256",
            record["manifest_sha256"],
            manifest,
            message,
        )
    return {**record, "key": fingerprint}


def _independent(review: Json, name: str, keyring: Keyring, center: str) -> None:
    """Raises Refused where the reviewer is of the center that submits."""
    tie = keyring.tie(review["reviewer"], center, review["key"])
    if tie:
        expected = f"a principal of another center than {shortened(center)}"
        message = (
            "A review is by another center, under a name and with a key of its own. Remove it."
        )
        raise refused(REVIEWER_IS_SUBMITTER, f"{name}.json", "/reviewer", tie, expected, message)


def _may_withdraw(who: str, name: str, keyring: Keyring, center: str) -> None:
    """Raises Refused where `who` is another center: one that submits bundles of its own."""
    if not is_of(who, center) and keyring.grants(who, SUBMISSION_NAMESPACE):
        message = (
            "A bundle is withdrawn by its own center, or by whom the keyring lets withdraw but "
            "not submit. Remove it."
        )
        raise refused(
            WITHDRAWN_BY_ANOTHER_CENTER,
            f"{name}.json",
            "/withdrawn_by",
            who,
            f"a principal of {shortened(center)}, or such a one",
            message,
        )


def _reviewed(review: Review, name: str) -> tuple[Problem, ...]:
    if review.verdict == "accept":
        return ()
    said = (
        f"The reviewer says: {review.comment}"
        if review.comment
        else "The reviewer says nothing more."
    )
    message = f"{said} Answer it, or withdraw the bundle."
    return refused(
        REVIEW_REJECTS,
        f"{name}.json",
        "/verdict",
        f"{review.reviewer} rejects it",
        "a review that accepts",
        message,
    ).problems
