"""Read commitments: signed files in `submissions/commitments/` by which a center publishes the hash
of a manifest before the bundle.

Whoever copies a run from a public pull request cannot have published the hash before. The LOG gives
commitments their order.
"""

from collections.abc import Iterator
from pathlib import Path

from checker.trust.keyring import Keyring, belongs_to
from checker.trust.records import refused_role
from checker.trust.signature import verify_signature
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import (
    MAX_SIGNATURE_BYTES,
    Refused,
    build_refusal,
    read_plain,
    shorten,
)
from rules.bundle_format.records import COMMITMENT_DIR, COMMITMENT_FORMAT, SUBMISSION_NAMESPACE
from rules.finding import Problem
from rules.rule_ids import COMMITMENT_NOT_GOOD

Commitment = tuple[str, str]
"""Center and SHA-256 of the manifest."""
_MAX_BYTES = 64 * 1024
_ADVICE = "Make it again with bench-check commit, or remove it."


def name_commitment(center: str, manifest_sha256: str) -> str:
    """The path of a commitment below `submissions/`."""
    return f"{COMMITMENT_DIR}/{center}-{manifest_sha256}.json"


def read_commitments(
    keyring: Keyring,
) -> tuple[list[Commitment], list[tuple[str, Problem]]]:
    """The commitments beside the keyring that are good, sorted, and the problems of the others,
    each with the path of the file below `submissions/`.

    Their keys must be valid now: the LOG keeps those that were good before. Raises CheckerError
    without ssh-keygen.
    """
    commitments: list[Commitment] = []
    problems: list[tuple[str, Problem]] = []
    for name in _list_names(keyring.submissions / COMMITMENT_DIR):
        file = f"{COMMITMENT_DIR}/{name}"
        try:
            commitments.append(_read_commitment(keyring, name))
        except Refused as refusal:
            problems += [(file, problem) for problem in refusal.problems]
    return commitments, problems


def _list_names(directory: Path) -> Iterator[str]:
    """The names of the documents, sorted. A signature without its document stands for a missing
    one: reading that reports it."""
    if directory.is_symlink() or not directory.is_dir():
        return
    names = {path.name.removesuffix(".sig") for path in directory.iterdir()}
    yield from sorted(names)


def _read_commitment(keyring: Keyring, name: str) -> Commitment:
    directory = keyring.submissions / COMMITMENT_DIR
    content = read_plain(directory / name, name, _MAX_BYTES)
    record = read_document(name, content, COMMITMENT_FORMAT)
    principal, manifest_sha256 = record["committed_by"], record["manifest_sha256"]
    center = principal.partition("@")[0]
    expected_name = Path(name_commitment(center, manifest_sha256)).name
    if name != expected_name:
        raise build_refusal(
            COMMITMENT_NOT_GOOD, name, "", shorten(name), expected_name, f"{_ADVICE}"
        )
    try:
        signature = read_plain(directory / f"{name}.sig", f"{name}.sig", MAX_SIGNATURE_BYTES)
    except Refused as refusal:
        found = refusal.problems[0].violation.found
        raise build_refusal(
            COMMITMENT_NOT_GOOD, f"{name}.sig", "", found, "a signature", _ADVICE
        ) from None
    fingerprint = verify_signature(
        signature, content, f"{name}.sig", principal, SUBMISSION_NAMESPACE, keyring
    )
    if not keyring.grants(principal, SUBMISSION_NAMESPACE, fingerprint):
        raise refused_role(f"{name}.sig", SUBMISSION_NAMESPACE)
    owner = keyring.find_key_owner(fingerprint)
    if owner and not belongs_to(owner, center):
        raise build_refusal(
            COMMITMENT_NOT_GOOD,
            name,
            "/committed_by",
            f"{shorten(principal)} with the key of {shorten(owner)}",
            "a key that only this center has",
            _ADVICE,
        )
    return center, manifest_sha256
