"""Helpers for tamperings: signed records beside a sealed bundle in a `submissions` directory.

The keys are new and are added to the keyring, so that a record is valid except for what the
tampering changes.
"""

import hashlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from rules import VERSION
from rules.bundle_format.records import (
    ACCEPTANCE_FILE,
    CHALLENGE_FORMAT,
    COMMITMENT_DIR,
    COMMITMENT_FORMAT,
    KEYRING_DIR,
    LOG_ENTRY_FORMAT,
    MANIFEST_FILE,
    REQUEST_FORMAT,
    REVIEW_FORMAT,
    REVIEW_NAMESPACE,
    SIGNATURE_DIR,
    SIGNERS_FILE,
    SUBMISSION_NAMESPACE,
    WAIVER_DIR,
    WAIVER_FORMAT,
    WAIVER_NAMESPACE,
    WITHDRAWAL_FORMAT,
    WITHDRAWAL_NAMESPACE,
    Json,
)

REVIEWER = "reviewer@elsewhere.example"
CHAIR = "chair@round.example"
CHALLENGER = "challenger@third.example"
_AT = "2026-02-01T00:00:00Z"


def get_submissions(bundle: Path) -> Path:
    return bundle.parents[2]


def get_signers(bundle: Path) -> Path:
    """The file with the lines of the keyring."""
    return get_submissions(bundle) / KEYRING_DIR / SIGNERS_FILE


def get_center(bundle: Path) -> str:
    return bundle.parents[1].name


def hash_manifest(bundle: Path) -> str:
    return hashlib.sha256((bundle / MANIFEST_FILE).read_bytes()).hexdigest()


def describe_original(bundle: Path) -> Json:
    """`reproduces` of result.json in a reproduction of the bundle."""
    path = "/".join(bundle.parts[-3:])
    return {"run_id": bundle.name, "path": path, "manifest_sha256": hash_manifest(bundle)}


def add_review(
    bundle: Path,
    principal: str = REVIEWER,
    other_principal: str = "",
    namespaces: str = REVIEW_NAMESPACE,
    **changes: Any,
) -> Path:
    """Add a review to the bundle, valid except for `changes`, and return its path. The keyring also
    lists its key under `other_principal`."""
    record = {
        "format": REVIEW_FORMAT,
        "manifest_sha256": hash_manifest(bundle),
        "reviewer": principal,
        "reviewed_at": _AT,
        "checker_version": "0.1.0",
        "rules_version": VERSION,
        "status": "pass",
        "verdict": "accept",
        "comment": "",
        "findings": [],
    }
    return _sign(
        bundle,
        bundle / SIGNATURE_DIR / f"review.{principal}",
        {**record, **changes},
        principal,
        REVIEW_NAMESPACE,
        namespaces,
        other_principal,
    )


def add_withdrawal(
    bundle: Path, principal: str = CHAIR, namespaces: str = WITHDRAWAL_NAMESPACE, **changes: Any
) -> Path:
    """Add a withdrawal to the bundle, valid except for `changes`, and return its path."""
    record = {
        "format": WITHDRAWAL_FORMAT,
        "manifest_sha256": hash_manifest(bundle),
        "withdrawn_by": principal,
        "withdrawn_at": _AT,
        "reason": "The clocks were locked.",
    }
    path = bundle / SIGNATURE_DIR / f"withdrawal.{principal}"
    return _sign(bundle, path, {**record, **changes}, principal, WITHDRAWAL_NAMESPACE, namespaces)


def add_waiver(
    bundle: Path,
    principal: str = CHAIR,
    other_principal: str = "",
    namespaces: str = WAIVER_NAMESPACE,
    **changes: Any,
) -> Path:
    """Add a waiver for the center of the bundle, valid except for `changes`, and return its path.
    The keyring also lists its key under `other_principal`."""
    record = {
        "format": WAIVER_FORMAT,
        "rule": "W101",
        "reason": "The meter is known to do so.",
        **({} if "manifests" in changes else {"below": get_center(bundle)}),
        "granted_by": principal,
        "granted_at": _AT,
    }
    path = get_submissions(bundle) / WAIVER_DIR / "of-the-case"
    return _sign(
        bundle,
        path,
        {**record, **changes},
        principal,
        WAIVER_NAMESPACE,
        namespaces,
        other_principal,
    )


def add_challenge(bundle: Path, seed: int, principal: str = CHALLENGER, **changes: Any) -> Path:
    """Add a challenge to the bundle, valid except for `changes`, and return its path."""
    record = {
        "format": CHALLENGE_FORMAT,
        "manifest_sha256": hash_manifest(bundle),
        "seed": seed,
        "issued_by": principal,
        # Before the runs of the tests.
        "issued_at": "2025-12-31T00:00:00Z",
    }
    path = bundle / SIGNATURE_DIR / f"challenge.{principal}"
    return _sign(bundle, path, {**record, **changes}, principal, REVIEW_NAMESPACE, REVIEW_NAMESPACE)


def add_request(bundle: Path, principal: str, **changes: Any) -> Path:
    """Add a request to the bundle, valid except for `changes`, and return its path."""
    record = {
        "format": REQUEST_FORMAT,
        "manifest_sha256": hash_manifest(bundle),
        "round": "",
        "requested_by": principal,
        "requested_on": _AT[:10],
    }
    path = bundle / SIGNATURE_DIR / f"request.{principal}"
    return _sign(
        bundle, path, {**record, **changes}, principal, SUBMISSION_NAMESPACE, SUBMISSION_NAMESPACE
    )


def add_commitment(bundle: Path, **changes: Any) -> Path:
    """Add a commitment of the center to the bundle, valid except for `changes`, and return its
    path."""
    principal = f"{get_center(bundle)}@wattmark"
    record = {
        "format": COMMITMENT_FORMAT,
        "manifest_sha256": hash_manifest(bundle),
        "committed_by": principal,
        "committed_at": _AT,
    }
    name = f"{get_center(bundle)}-{record['manifest_sha256']}"
    path = get_submissions(bundle) / COMMITMENT_DIR / name
    namespace = SUBMISSION_NAMESPACE
    return _sign(bundle, path, {**record, **changes}, principal, namespace, namespace)


def sign_manifest(bundle: Path, manifest: Json) -> None:
    """Replace the manifest of the bundle. Its submitter signs it with a new key of the center."""
    (signature,) = (bundle / SIGNATURE_DIR).glob("submission.*.sig")
    principal = signature.name.removeprefix("submission.").removesuffix(".sig")
    content = json.dumps(manifest, indent=1).encode()
    (bundle / MANIFEST_FILE).write_bytes(content)
    signed, public = _sign_content(content, SUBMISSION_NAMESPACE)
    signature.write_bytes(signed)
    _append_key(bundle, principal, SUBMISSION_NAMESPACE, public)


def write_log(bundle: Path, *entries: Json) -> Path:
    """Write an acceptance log with one acceptance of the bundle per entry, changed by it.
    Returns its path."""
    head, text = "0" * 64, b""
    for changes in entries:
        entry = {
            "format": LOG_ENTRY_FORMAT,
            "previous": head,
            "at": _AT,
            "event": "accepted",
            "path": bundle.relative_to(get_submissions(bundle)).as_posix(),
            "manifest_sha256": hash_manifest(bundle),
            "rules_version": VERSION,
        }
        line = (json.dumps({**entry, **changes}) + "\n").encode()
        head, text = hashlib.sha256(line).hexdigest(), text + line
    path = get_submissions(bundle) / ACCEPTANCE_FILE
    path.write_bytes(text)
    return path


def _sign(
    bundle: Path,
    path: Path,
    record: Json,
    principal: str,
    namespace: str,
    namespaces: str,
    other_principal: str = "",
) -> Path:
    """Write `path`.json and its signature, by a new key that the keyring lists for `principal` and
    `namespaces`. Returns the path of the record."""
    content = json.dumps(record, indent=1).encode()
    signature, public = _sign_content(content, namespace)
    for name in filter(None, (principal, other_principal)):
        _append_key(bundle, name, namespaces, public)
    path.parent.mkdir(exist_ok=True)
    document = path.with_name(f"{path.name}.json")
    document.write_bytes(content)
    in_bundle = path.parent.name == SIGNATURE_DIR
    path.with_name(f"{path.name}.sig" if in_bundle else f"{path.name}.json.sig").write_bytes(
        signature
    )
    return document


def _sign_content(content: bytes, namespace: str) -> tuple[bytes, str]:
    """Sign `content` with a new key. Returns the signature and the public key as a line of text."""
    with tempfile.TemporaryDirectory() as directory:
        key = Path(directory) / "key"
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], check=True
        )
        sign = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", namespace]
        signature = subprocess.run(sign, input=content, capture_output=True, check=True).stdout
        return signature, key.with_suffix(".pub").read_text()


def _append_key(bundle: Path, principal: str, namespaces: str, public: str) -> None:
    with get_signers(bundle).open("a") as signers:
        signers.write(f'{principal} namespaces="{namespaces}" {public}')
