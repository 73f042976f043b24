"""How often ssh-keygen is asked about a key, and when again."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from support.rounds.trust import add_option, list_rules
from support.signatures import CONTENT, NAMESPACE, OTHER, check_signature, set_clock, sign_content
from support.signatures import keys as keys
from support.signatures import signature_cache as signature_cache
from support.signatures import ssh_keygen_actions as ssh_keygen_actions
from support.ssh_agent import agent as agent

from checker.engine import judge
from rules.testing import tampering as forge


def test_ssh_keygen_is_asked_once_about_a_key(
    submissions: Submissions, ssh_keygen_actions: list[str]
) -> None:
    bundles = [submissions.add(run_id=f"run-number-{n}") for n in range(4)]
    assert [judge(bundle).signer for bundle in bundles] == [PRINCIPAL] * 4
    assert ssh_keygen_actions == ["verify"]
    for bundle in bundles:
        (bundle / "MANIFEST.json").write_text((bundle / "MANIFEST.json").read_text() + "\n")
        assert "I106" in list_rules(judge(bundle))


def test_ssh_keygen_is_asked_once_about_a_key_that_expired_after_acceptance(
    submissions: Submissions, ssh_keygen_actions: list[str]
) -> None:
    bundles = [submissions.add(run_id=f"run-number-{n}") for n in range(3)]
    add_option(submissions, 'valid-before="20260301"')
    at = "2026-02-01T00:00:00Z"
    for bundle in bundles[:2]:
        signature_bytes, manifest = (
            (bundle / "signatures" / f"submission.{PRINCIPAL}.sig").read_bytes(),
            (bundle / "MANIFEST.json").read_bytes(),
        )
        assert isinstance(
            check_signature(
                submissions.keyring, signature_bytes, manifest, PRINCIPAL, NAMESPACE, at
            ),
            str,
        )
    assert ssh_keygen_actions == ["verify", "verify"]  # now, and then
    assert list_rules(judge(bundles[2])) == {"I109"}


def test_ssh_keygen_is_asked_once_about_a_reviewer(
    submissions: Submissions, ssh_keygen_actions: list[str]
) -> None:
    bundle = submissions.add()
    forge.add_review(bundle)
    assert [judge(bundle).reviewers for _ in range(3)] == [(forge.REVIEWER,)] * 3
    assert ssh_keygen_actions == ["verify", "verify"]  # about who submits, and who reviews


@pytest.mark.parametrize(
    "error", [UnsupportedAlgorithm("none here"), InvalidSignature(), ValueError("odd key")]
)
def test_ssh_keygen_has_the_last_word_where_the_library_refuses(
    submissions: Submissions,
    ssh_keygen_actions: list[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    bundle = submissions.add()

    def refuse(public: bytes) -> None:
        raise error

    monkeypatch.setattr(
        "cryptography.hazmat.primitives.asymmetric.ed25519.Ed25519PublicKey.from_public_bytes",
        refuse,
    )
    assert [judge(bundle).signer for _ in range(3)] == [PRINCIPAL] * 3
    assert ssh_keygen_actions == ["verify"] * 6  # each time about the bundle and its request


@pytest.mark.parametrize(
    "change", ["revoked", "line gone", "another namespace", "expired", "same size and date"]
)
def test_keyring_that_changes_is_asked_again(
    submissions: Submissions, tmp_path: Path, ssh_keygen_actions: list[str], change: str
) -> None:
    bundle = submissions.add()
    assert [judge(bundle).signer for _ in range(2)] == [PRINCIPAL] * 2
    assert ssh_keygen_actions == ["verify"]
    signers = submissions.keyring / "allowed_signers"
    text, dates = signers.read_text(), signers.stat()
    if change == "revoked":
        shutil.copy(submissions.key.with_suffix(".pub"), submissions.keyring / "revoked_signers")
    elif change == "expired":
        add_option(submissions, 'valid-before="20260301"')
    elif change == "another namespace":
        signers.write_text(text.replace("submission@", "review@"))
    elif change == "line gone":
        signers.write_text("# nobody\n")
    else:
        signers.write_text(text.replace("submission@", "submissiom@"))
        os.utime(signers, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    assert judge(bundle).signer is None


def test_what_was_said_of_a_key_is_believed_for_a_minute(
    submissions: Submissions, ssh_keygen_actions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that expires in the middle of a round is not good to its end."""
    bundle = submissions.add()
    assert judge(bundle).signer == PRINCIPAL
    set_clock(1059.0, monkeypatch)
    assert judge(bundle).signer == PRINCIPAL
    assert ssh_keygen_actions == ["verify"]
    set_clock(1061.0, monkeypatch)
    assert judge(bundle).signer == PRINCIPAL
    assert ssh_keygen_actions == ["verify", "verify"]


def test_key_that_a_certificate_vouches_for_is_not_good_alone(
    submissions: Submissions, keys: Callable[[str], Path]
) -> None:
    """The keyring has the key of who certifies; what was said of a certificate holds for the
    certificate."""
    submissions.allow(keys("ed25519-2"), OTHER, f'cert-authority,namespaces="{NAMESPACE}"')
    plain_key, plain = keys("ed25519-3"), sign_content(keys("ed25519-3"))
    command = [
        "ssh-keygen",
        "-q",
        "-s",
        keys("ed25519-2"),
        "-I",
        "id",
        "-n",
        OTHER,
        "-V",
        "+1h",
        plain_key.with_suffix(".pub"),
    ]
    subprocess.run(command, check=True)
    shutil.copy(plain_key.with_name(f"{plain_key.name}-cert.pub"), plain_key.with_suffix(".pub"))
    certified = sign_content(plain_key)  # with the certificate in the place of the public key
    asking = (CONTENT, OTHER, NAMESPACE, "")
    assert check_signature(submissions.keyring, plain, *asking) == [
        "I107 a good signature by a key that the keyring does not accept"
    ]
    for signature_bytes, is_valid in (
        (certified, True),
        (plain, False),
        (certified, True),
        (plain, False),
    ):
        assert (
            isinstance(check_signature(submissions.keyring, signature_bytes, *asking), str)
            == is_valid
        )
