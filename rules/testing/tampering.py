"""What tamperings with trust need: signed records of one's own making, beside a sealed bundle in a
`submissions` directory.

The keys are made on the spot and put into the keyring, so that what is wrong with a record is only
what the tampering says.
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
    KEYRING_DIR,
    LOG_ENTRY_FORMAT,
    MANIFEST_FILE,
    REVIEW_FORMAT,
    REVIEW_NAMESPACE,
    SIGNATURE_DIR,
    SIGNERS_FILE,
    WAIVER_DIR,
    WAIVER_FORMAT,
    WAIVER_NAMESPACE,
    WITHDRAWAL_FORMAT,
    WITHDRAWAL_NAMESPACE,
    Json,
)

REVIEWER = "reviewer@elsewhere.example.org"
CHAIR = "chair@round.example.org"
_AT = "2026-02-01T00:00:00Z"


def submissions(bundle: Path) -> Path:
    return bundle.parents[2]


def center(bundle: Path) -> str:
    return bundle.parents[1].name


def manifest_sha256(bundle: Path) -> str:
    return hashlib.sha256((bundle / MANIFEST_FILE).read_bytes()).hexdigest()


def review(
    bundle: Path,
    who: str = REVIEWER,
    also: str = "",
    namespaces: str = REVIEW_NAMESPACE,
    **changes: Any,
) -> Path:
    """Put a review into the bundle, good but for `changes`, and return its path; `also` is another
    principal of its key."""
    said = {
        "format": REVIEW_FORMAT,
        "manifest_sha256": manifest_sha256(bundle),
        "reviewer": who,
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
        bundle / SIGNATURE_DIR / f"review.{who}",
        {**said, **changes},
        who,
        REVIEW_NAMESPACE,
        namespaces,
        also,
    )


def withdrawal(
    bundle: Path, who: str = CHAIR, namespaces: str = WITHDRAWAL_NAMESPACE, **changes: Any
) -> Path:
    """Put a withdrawal into the bundle, good but for `changes`, and return its path."""
    said = {
        "format": WITHDRAWAL_FORMAT,
        "manifest_sha256": manifest_sha256(bundle),
        "withdrawn_by": who,
        "withdrawn_at": _AT,
        "reason": "The clocks were locked.",
    }
    path = bundle / SIGNATURE_DIR / f"withdrawal.{who}"
    return _sign(bundle, path, {**said, **changes}, who, WITHDRAWAL_NAMESPACE, namespaces)


def waiver(
    bundle: Path,
    who: str = CHAIR,
    also: str = "",
    namespaces: str = WAIVER_NAMESPACE,
    **changes: Any,
) -> Path:
    """Put a waiver for the bundle's center beside the keyring, good but for `changes`, and return
    its path; `also` as above."""
    said = {
        "format": WAIVER_FORMAT,
        "rule": "W101",
        "reason": "The meter is known to do so.",
        **({} if "manifests" in changes else {"below": center(bundle)}),
        "granted_by": who,
        "granted_at": _AT,
    }
    path = submissions(bundle) / WAIVER_DIR / "of-the-case"
    return _sign(bundle, path, {**said, **changes}, who, WAIVER_NAMESPACE, namespaces, also)


def log(bundle: Path, *entries: Json) -> Path:
    """Write a LOG in which each entry is an acceptance of the bundle but for what it says, and
    return its path."""
    head, text = "0" * 64, b""
    for changes in entries:
        entry = {
            "format": LOG_ENTRY_FORMAT,
            "previous": head,
            "at": _AT,
            "event": "accepted",
            "path": bundle.relative_to(submissions(bundle)).as_posix(),
            "manifest_sha256": manifest_sha256(bundle),
            "rules_version": VERSION,
        }
        line = (json.dumps({**entry, **changes}) + "\n").encode()
        head, text = hashlib.sha256(line).hexdigest(), text + line
    path = submissions(bundle) / ACCEPTANCE_FILE
    path.write_bytes(text)
    return path


def _sign(
    bundle: Path, path: Path, said: Json, who: str, namespace: str, namespaces: str, also: str = ""
) -> Path:
    """Write `path`.json and its signature, by a new key that the keyring has for `who` and these
    namespaces."""
    content = json.dumps(said, indent=1).encode()
    with tempfile.TemporaryDirectory() as directory:
        key = Path(directory) / "key"
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], check=True
        )
        sign = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", namespace]
        signature = subprocess.run(sign, input=content, capture_output=True, check=True).stdout
        public = key.with_suffix(".pub").read_text()
    with (submissions(bundle) / KEYRING_DIR / SIGNERS_FILE).open("a") as signers:
        signers.writelines(
            f'{principal} namespaces="{namespaces}" {public}'
            for principal in filter(None, (who, also))
        )
    path.parent.mkdir(exist_ok=True)
    document = path.with_name(f"{path.name}.json")
    document.write_bytes(content)
    in_bundle = path.parent.name == SIGNATURE_DIR
    path.with_name(f"{path.name}.sig" if in_bundle else f"{path.name}.json.sig").write_bytes(
        signature
    )
    return document
