"""What is found good in this process without ssh-keygen is what ssh-keygen finds good, and how
seldom it is asked."""

import base64
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import PRINCIPAL, Submissions
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from support.ssh_agent import agent as agent
from support.trust_rounds import add_option, rules_of

from checker.engine import judge
from checker.trust import signature, sshsig
from checker.trust.keyring import read_keyring
from checker.trust.signature import verify_signature
from rules.bundle_format.files import Refused
from rules.bundle_format.records import REVIEW_NAMESPACE, SUBMISSION_NAMESPACE
from rules.testing import tampering as forge

CONTENT = b'{"format": "wattmark-manifest/1"}\n'
OTHER = "other@wattmark"
NAMESPACE = SUBMISSION_NAMESPACE


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[object, ...], float]:
    """What ssh-keygen has said so far: nothing, in each test anew. No time goes by, however long a
    test takes."""
    monkeypatch.setattr(signature, "_accepted_until_s", {})
    clock_says(1000.0, monkeypatch)
    return signature._accepted_until_s


def clock_says(now_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signature, "time", SimpleNamespace(monotonic=lambda: now_s))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What ssh-keygen was asked, as it is asked."""
    actions: list[str] = []
    real = signature._ssh_keygen
    monkeypatch.setattr(
        signature,
        "_ssh_keygen",
        lambda action, *a, **k: actions.append(action) or real(action, *a, **k),
    )
    return actions


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes a private key of a kind (`ed25519`, `ed25519-2`, `ecdsa`, `rsa`), once each."""
    directory = tmp_path_factory.mktemp("keys")

    def make(kind: str) -> Path:
        path = directory / kind
        if not path.exists():
            subprocess.run(
                ["ssh-keygen", "-q", "-t", kind.partition("-")[0], "-N", "", "-C", "", "-f", path],
                check=True,
            )
        return path

    return make


def signed(key: Path, content: bytes = CONTENT, namespace: str = NAMESPACE, *options: str) -> bytes:
    """A signature as ssh-keygen makes it."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", namespace, *options]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout


def outcome(
    keyring: Path, made: bytes, content: bytes, principal: str, namespace: str, at: str
) -> str | list[str]:
    """The fingerprint of the key that is found good, or what is wrong."""
    path = keyring.parent / "made.sig"
    path.write_bytes(made)
    try:
        return verify_signature(
            path, made, content, "made.sig", principal, namespace, read_keyring(keyring), at
        )
    except Refused as refusal:
        return [f"{p.rule} {p.violation.found}" for p in refusal.problems]


def blob_of(made: bytes) -> bytes:
    return base64.b64decode(b"".join(made.splitlines()[1:-1]))


def armoured(blob: bytes, columns: int = 70) -> bytes:
    text = base64.b64encode(blob)
    lines = [text[at : at + columns] for at in range(0, len(text), columns)]
    return b"\n".join(
        [b"-----BEGIN SSH SIGNATURE-----", *lines, b"-----END SSH SIGNATURE-----", b""]
    )


def with_s_grown(made: bytes) -> bytes:
    """The order of the group added to the second half of the signature: the same equation holds,
    and RFC 8032 forbids it."""
    blob = blob_of(made)
    order = 2**252 + 27742317777372353535851937790883648493
    grown = (
        int.from_bytes(blob[-32:], "little") + order
    ) % 2**256  # of other kinds of keys these bytes are something else
    return armoured(blob[:-32] + grown.to_bytes(32, "little"))


def flipped(blob: bytes, at: int) -> bytes:
    return blob[:at] + bytes([blob[at] ^ 1]) + blob[at:][1:]


# Ways of spoiling a signature file, by name. The first three leave it good.
EDITS: dict[str, Callable[[bytes], bytes]] = {
    "as made": lambda made: made,
    "other columns": lambda made: armoured(blob_of(made), 64),
    "one line": lambda made: armoured(blob_of(made), 10_000),
    "carriage returns": lambda made: made.replace(b"\n", b"\r\n"),
    "no newline at the end": lambda made: made[:-1],
    "text before": lambda made: b"text\n" + made,
    "text after": lambda made: made + b"text\n",
    "a second one after": lambda made: made + made,
    "blank in the armour": lambda made: made.replace(b"U1NI", b"U1 NI"),
    "odd letter in the armour": lambda made: made.replace(b"U1NI", b"U1!NI"),
    "cut armour": lambda made: made[:-40] + b"\n-----END SSH SIGNATURE-----\n",
    "no end": lambda made: made.replace(b"-----END SSH SIGNATURE-----\n", b""),
    "no beginning": lambda made: made.replace(b"-----BEGIN SSH SIGNATURE-----\n", b""),
    "empty": lambda made: b"",
    "no text": lambda made: b"\xff\x00" * 300,
    "padding set": lambda made: made.replace(b"\n-----END", b"=\n-----END"),
    "a byte more": lambda made: armoured(blob_of(made) + b"\0"),
    "a byte less": lambda made: armoured(blob_of(made)[:-1]),
    "S beyond the order": with_s_grown,
    "another version": lambda made: armoured(
        blob_of(made).replace(b"SSHSIG\0\0\0\1", b"SSHSIG\0\0\0\2")
    ),
    "another magic": lambda made: armoured(blob_of(made).replace(b"SSHSIG", b"SSHSIH")),
    "something reserved": lambda made: armoured(
        blob_of(made).replace(b"\0\0\0\0\0\0\0\6sha", b"\0\0\0\4true\0\0\0\6sha")
    ),
    "another hash": lambda made: armoured(
        blob_of(made).replace(b"\0\0\0\6sha512", b"\0\0\0\6sha256")
    ),
    "unknown hash": lambda made: armoured(blob_of(made).replace(b"\0\0\0\6sha512", b"\0\0\0\3md5")),
    "another namespace inside": lambda made: armoured(
        blob_of(made).replace(b"submission@", b"submitting@")
    ),
    "another kind of key": lambda made: armoured(
        blob_of(made).replace(b"ssh-ed25519", b"ssh-ed25518")
    ),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_edited_signature_is_as_good_as_ssh_keygen_says(
    submissions: Submissions,
    keys: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    edit: str,
) -> None:
    """The key is known as good before; what is said of the edited file is what ssh-keygen alone
    says."""
    submissions.allow(keys(kind), OTHER)
    made = signed(keys(kind))
    asking = (EDITS[edit](made), CONTENT, OTHER, NAMESPACE, "")
    alone = outcome(submissions.keyring, *asking)
    assert isinstance(outcome(submissions.keyring, made, *asking[1:]), str)
    assert outcome(submissions.keyring, *asking) == alone
    monkeypatch.setattr(signature, "_ssh_keygen", lambda *a, **k: (False, "not asked"))
    assert isinstance(outcome(submissions.keyring, *asking), str) == (
        kind == "ed25519" and edit == "as made"
    )


def test_every_byte_of_the_signature_counts(keys: Callable[[str], Path]) -> None:
    blob = blob_of(signed(keys("ed25519")))
    for at in range(len(blob)):
        parts = sshsig.parse_signature(armoured(flipped(blob, at)), NAMESPACE)
        assert parts is None or not sshsig.is_valid(*parts, CONTENT, NAMESPACE), at
    for length in range(len(blob)):
        assert sshsig.parse_signature(armoured(blob[:length]), NAMESPACE) is None


def test_every_byte_of_the_file_counts(keys: Callable[[str], Path]) -> None:
    made = signed(keys("ed25519"))
    for at in range(len(made)):
        parts = sshsig.parse_signature(flipped(made, at), NAMESPACE)
        assert parts is None or not sshsig.is_valid(*parts, CONTENT, NAMESPACE), at


# What is known of one key, for one role, says nothing of another.
ROLES: dict[str, Callable[[Callable[[str], Path]], tuple[bytes, bytes, str, str, str]]] = {
    "content altered": lambda keys: (signed(keys("ed25519")), CONTENT + b" ", OTHER, NAMESPACE, ""),
    "another key": lambda keys: (signed(keys("ed25519-2")), CONTENT, OTHER, NAMESPACE, ""),
    "another principal": lambda keys: (signed(keys("ed25519")), CONTENT, PRINCIPAL, NAMESPACE, ""),
    "another namespace": lambda keys: (
        signed(keys("ed25519"), CONTENT, REVIEW_NAMESPACE),
        CONTENT,
        OTHER,
        REVIEW_NAMESPACE,
        "",
    ),
    "signed for another namespace": lambda keys: (
        signed(keys("ed25519"), CONTENT, "git"),
        CONTENT,
        OTHER,
        NAMESPACE,
        "",
    ),
    "signed for no namespace asked": lambda keys: (
        signed(keys("ed25519")),
        CONTENT,
        OTHER,
        REVIEW_NAMESPACE,
        "",
    ),
    "sha256": lambda keys: (
        signed(keys("ed25519"), CONTENT, NAMESPACE, "-O", "hashalg=sha256"),
        CONTENT,
        OTHER,
        NAMESPACE,
        "",
    ),
    "other content, well signed": lambda keys: (
        signed(keys("ed25519"), b"more"),
        b"more",
        OTHER,
        NAMESPACE,
        "",
    ),
    "an earlier time": lambda keys: (
        signed(keys("ed25519")),
        CONTENT,
        OTHER,
        NAMESPACE,
        "2020-01-01T00:00:00Z",
    ),
}


@pytest.mark.parametrize("role", ROLES)
def test_what_is_known_of_a_key_is_for_its_role_alone(
    submissions: Submissions,
    keys: Callable[[str], Path],
    forgotten: dict[tuple[object, ...], float],
    role: str,
) -> None:
    submissions.allow(keys("ed25519"), OTHER)
    asking = ROLES[role](keys)
    alone = outcome(submissions.keyring, *asking)
    forgotten.clear()
    assert isinstance(
        outcome(submissions.keyring, signed(keys("ed25519")), CONTENT, OTHER, NAMESPACE, ""), str
    )
    assert outcome(submissions.keyring, *asking) == alone
    good = role in {"sha256", "other content, well signed", "an earlier time"}
    assert isinstance(alone, str) == good


@pytest.mark.usefixtures("agent")
def test_signature_by_an_agent_is_plain(
    submissions: Submissions, keys: Callable[[str], Path], asked: list[str], tmp_path: Path
) -> None:
    submissions.allow(keys("ed25519"), OTHER)
    public = Path(shutil.copy(keys("ed25519").with_suffix(".pub"), tmp_path))
    subprocess.run(["ssh-add", "-q", keys("ed25519")], check=True, stderr=subprocess.DEVNULL)
    made = signature.sign_content(CONTENT, public, NAMESPACE)
    found = [outcome(submissions.keyring, made, CONTENT, OTHER, NAMESPACE, "") for _ in range(2)]
    assert isinstance(found[0], str) and found[0] == found[1]
    assert asked == ["verify"]


# How often it is asked, and when again.


def test_ssh_keygen_is_asked_once_about_a_key(submissions: Submissions, asked: list[str]) -> None:
    bundles = [submissions.add(run_id=f"run-number-{n}") for n in range(4)]
    assert [judge(bundle).signer for bundle in bundles] == [PRINCIPAL] * 4
    assert asked == ["verify"]
    for bundle in bundles:
        (bundle / "MANIFEST.json").write_text((bundle / "MANIFEST.json").read_text() + "\n")
        assert "I106" in rules_of(judge(bundle))


def test_ssh_keygen_is_asked_once_about_a_key_that_expired_after_acceptance(
    submissions: Submissions, asked: list[str]
) -> None:
    bundles = [submissions.add(run_id=f"run-number-{n}") for n in range(3)]
    add_option(submissions, 'valid-before="20260301"')
    at = "2026-02-01T00:00:00Z"
    for bundle in bundles[:2]:
        made, manifest = (
            (bundle / "signatures" / f"submission.{PRINCIPAL}.sig").read_bytes(),
            (bundle / "MANIFEST.json").read_bytes(),
        )
        assert isinstance(
            outcome(submissions.keyring, made, manifest, PRINCIPAL, NAMESPACE, at), str
        )
    assert asked == ["verify", "verify"]  # now, and then
    assert rules_of(judge(bundles[2])) == {"I109"}


def test_ssh_keygen_is_asked_once_about_a_reviewer(
    submissions: Submissions, asked: list[str]
) -> None:
    bundle = submissions.add()
    forge.review(bundle)
    assert [judge(bundle).reviewers for _ in range(3)] == [(forge.REVIEWER,)] * 3
    assert asked == ["verify", "verify"]  # about who submits, and who reviews


@pytest.mark.parametrize(
    "error", [UnsupportedAlgorithm("none here"), InvalidSignature(), ValueError("odd key")]
)
def test_ssh_keygen_has_the_last_word_where_the_library_refuses(
    submissions: Submissions, asked: list[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    bundle = submissions.add()

    def refuse(public: bytes) -> None:
        raise error

    monkeypatch.setattr(
        "cryptography.hazmat.primitives.asymmetric.ed25519.Ed25519PublicKey.from_public_bytes",
        refuse,
    )
    assert [judge(bundle).signer for _ in range(3)] == [PRINCIPAL] * 3
    assert asked == ["verify"] * 3


@pytest.mark.parametrize(
    "change", ["revoked", "line gone", "another namespace", "expired", "same size and date"]
)
def test_keyring_that_changes_is_asked_again(
    submissions: Submissions, tmp_path: Path, asked: list[str], change: str
) -> None:
    bundle = submissions.add()
    assert [judge(bundle).signer for _ in range(2)] == [PRINCIPAL] * 2
    assert asked == ["verify"]
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
    submissions: Submissions, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that expires in the middle of a round is not good to its end."""
    bundle = submissions.add()
    assert judge(bundle).signer == PRINCIPAL
    clock_says(1059.0, monkeypatch)
    assert judge(bundle).signer == PRINCIPAL
    assert asked == ["verify"]
    clock_says(1061.0, monkeypatch)
    assert judge(bundle).signer == PRINCIPAL
    assert asked == ["verify", "verify"]


def test_key_that_a_certificate_vouches_for_is_not_good_alone(
    submissions: Submissions, keys: Callable[[str], Path]
) -> None:
    """The keyring has the key of who certifies; what was said of a certificate holds for the
    certificate."""
    submissions.allow(keys("ed25519-2"), OTHER, f'cert-authority,namespaces="{NAMESPACE}"')
    own, plain = keys("ed25519-3"), signed(keys("ed25519-3"))
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
        own.with_suffix(".pub"),
    ]
    subprocess.run(command, check=True)
    shutil.copy(own.with_name(f"{own.name}-cert.pub"), own.with_suffix(".pub"))
    certified = signed(own)  # with the certificate in the place of the public key
    asking = (CONTENT, OTHER, NAMESPACE, "")
    assert outcome(submissions.keyring, plain, *asking) == [
        "I107 a good signature by a key that the keyring does not accept"
    ]
    for made, good in ((certified, True), (plain, False), (certified, True), (plain, False)):
        assert isinstance(outcome(submissions.keyring, made, *asking), str) == good
