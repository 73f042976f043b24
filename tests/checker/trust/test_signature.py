"""What is found good in this process without ssh-keygen is what ssh-keygen finds good, and how
seldom it is asked."""

import base64
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions
from support.signatures import CONTENT, NAMESPACE, OTHER, check_signature, sign_content
from support.signatures import keys as keys
from support.signatures import signature_cache as signature_cache
from support.signatures import ssh_keygen_actions as ssh_keygen_actions
from support.ssh_agent import agent as agent

from checker.engine import judge
from checker.trust import signature, sshsig
from checker.trust.bundle_trust import establish_trust
from rules.bundle_format.files import read_files
from rules.bundle_format.records import REVIEW_NAMESPACE


def decode_blob(signature: bytes) -> bytes:
    return base64.b64decode(b"".join(signature.splitlines()[1:-1]))


def add_armour(blob: bytes, columns: int = 70) -> bytes:
    text = base64.b64encode(blob)
    lines = [text[at : at + columns] for at in range(0, len(text), columns)]
    return b"\n".join(
        [b"-----BEGIN SSH SIGNATURE-----", *lines, b"-----END SSH SIGNATURE-----", b""]
    )


def grow_s(signature: bytes) -> bytes:
    """The order of the group added to the second half of the signature: the same equation holds,
    and RFC 8032 forbids it."""
    blob = decode_blob(signature)
    order = 2**252 + 27742317777372353535851937790883648493
    grown = (
        int.from_bytes(blob[-32:], "little") + order
    ) % 2**256  # of other kinds of keys these bytes are something else
    return add_armour(blob[:-32] + grown.to_bytes(32, "little"))


def flip_bit(blob: bytes, at: int) -> bytes:
    return blob[:at] + bytes([blob[at] ^ 1]) + blob[at:][1:]


# Ways of spoiling a signature file, by name. The first three leave it good.
EDITS: dict[str, Callable[[bytes], bytes]] = {
    "as made": lambda signature: signature,
    "other columns": lambda signature: add_armour(decode_blob(signature), 64),
    "one line": lambda signature: add_armour(decode_blob(signature), 10_000),
    "carriage returns": lambda signature: signature.replace(b"\n", b"\r\n"),
    "no newline at the end": lambda signature: signature[:-1],
    "text before": lambda signature: b"text\n" + signature,
    "text after": lambda signature: signature + b"text\n",
    "a second one after": lambda signature: signature + signature,
    "blank in the armour": lambda signature: signature.replace(b"U1NI", b"U1 NI"),
    "odd letter in the armour": lambda signature: signature.replace(b"U1NI", b"U1!NI"),
    "cut armour": lambda signature: signature[:-40] + b"\n-----END SSH SIGNATURE-----\n",
    "no end": lambda signature: signature.replace(b"-----END SSH SIGNATURE-----\n", b""),
    "no beginning": lambda signature: signature.replace(b"-----BEGIN SSH SIGNATURE-----\n", b""),
    "empty": lambda signature: b"",
    "no text": lambda signature: b"\xff\x00" * 300,
    "padding set": lambda signature: signature.replace(b"\n-----END", b"=\n-----END"),
    "a byte more": lambda signature: add_armour(decode_blob(signature) + b"\0"),
    "a byte less": lambda signature: add_armour(decode_blob(signature)[:-1]),
    "S beyond the order": grow_s,
    "another version": lambda signature: add_armour(
        decode_blob(signature).replace(b"SSHSIG\0\0\0\1", b"SSHSIG\0\0\0\2")
    ),
    "another magic": lambda signature: add_armour(
        decode_blob(signature).replace(b"SSHSIG", b"SSHSIH")
    ),
    "something reserved": lambda signature: add_armour(
        decode_blob(signature).replace(b"\0\0\0\0\0\0\0\6sha", b"\0\0\0\4true\0\0\0\6sha")
    ),
    "another hash": lambda signature: add_armour(
        decode_blob(signature).replace(b"\0\0\0\6sha512", b"\0\0\0\6sha256")
    ),
    "unknown hash": lambda signature: add_armour(
        decode_blob(signature).replace(b"\0\0\0\6sha512", b"\0\0\0\3md5")
    ),
    "another namespace inside": lambda signature: add_armour(
        decode_blob(signature).replace(b"submission@", b"submitting@")
    ),
    "another kind of key": lambda signature: add_armour(
        decode_blob(signature).replace(b"ssh-ed25519", b"ssh-ed25518")
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
    original = sign_content(keys(kind))
    asking = (EDITS[edit](original), CONTENT, OTHER, NAMESPACE, "")
    outcome = check_signature(submissions.keyring, *asking)
    assert isinstance(check_signature(submissions.keyring, original, *asking[1:]), str)
    assert check_signature(submissions.keyring, *asking) == outcome
    monkeypatch.setattr(signature, "_ssh_keygen", lambda *a, **k: (False, "not asked"))
    assert isinstance(check_signature(submissions.keyring, *asking), str) == (
        kind == "ed25519" and edit == "as made"
    )


def test_every_byte_of_the_signature_counts(keys: Callable[[str], Path]) -> None:
    blob = decode_blob(sign_content(keys("ed25519")))
    for at in range(len(blob)):
        parts = sshsig.parse_signature(add_armour(flip_bit(blob, at)), NAMESPACE)
        assert parts is None or not sshsig.is_valid(*parts, CONTENT, NAMESPACE), at
    for length in range(len(blob)):
        assert sshsig.parse_signature(add_armour(blob[:length]), NAMESPACE) is None


def test_every_byte_of_the_file_counts(keys: Callable[[str], Path]) -> None:
    signature = sign_content(keys("ed25519"))
    for at in range(len(signature)):
        parts = sshsig.parse_signature(flip_bit(signature, at), NAMESPACE)
        assert parts is None or not sshsig.is_valid(*parts, CONTENT, NAMESPACE), at


# What is known of one key, for one role, says nothing of another.
ROLES: dict[str, Callable[[Callable[[str], Path]], tuple[bytes, bytes, str, str, str]]] = {
    "content altered": lambda keys: (
        sign_content(keys("ed25519")),
        CONTENT + b" ",
        OTHER,
        NAMESPACE,
        "",
    ),
    "another key": lambda keys: (sign_content(keys("ed25519-2")), CONTENT, OTHER, NAMESPACE, ""),
    "another principal": lambda keys: (
        sign_content(keys("ed25519")),
        CONTENT,
        PRINCIPAL,
        NAMESPACE,
        "",
    ),
    "another namespace": lambda keys: (
        sign_content(keys("ed25519"), CONTENT, REVIEW_NAMESPACE),
        CONTENT,
        OTHER,
        REVIEW_NAMESPACE,
        "",
    ),
    "signed for another namespace": lambda keys: (
        sign_content(keys("ed25519"), CONTENT, "git"),
        CONTENT,
        OTHER,
        NAMESPACE,
        "",
    ),
    "signed for no namespace asked": lambda keys: (
        sign_content(keys("ed25519")),
        CONTENT,
        OTHER,
        REVIEW_NAMESPACE,
        "",
    ),
    "sha256": lambda keys: (
        sign_content(keys("ed25519"), CONTENT, NAMESPACE, "-O", "hashalg=sha256"),
        CONTENT,
        OTHER,
        NAMESPACE,
        "",
    ),
    "other content, well signed": lambda keys: (
        sign_content(keys("ed25519"), b"more"),
        b"more",
        OTHER,
        NAMESPACE,
        "",
    ),
    "an earlier time": lambda keys: (
        sign_content(keys("ed25519")),
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
    signature_cache: dict[tuple[object, ...], float],
    role: str,
) -> None:
    submissions.allow(keys("ed25519"), OTHER)
    asking = ROLES[role](keys)
    outcome = check_signature(submissions.keyring, *asking)
    signature_cache.clear()
    assert isinstance(
        check_signature(
            submissions.keyring, sign_content(keys("ed25519")), CONTENT, OTHER, NAMESPACE, ""
        ),
        str,
    )
    assert check_signature(submissions.keyring, *asking) == outcome
    is_valid = role in {"sha256", "other content, well signed", "an earlier time"}
    assert isinstance(outcome, str) == is_valid


@pytest.mark.usefixtures("agent")
def test_signature_by_an_agent_is_plain(
    submissions: Submissions,
    keys: Callable[[str], Path],
    ssh_keygen_actions: list[str],
    tmp_path: Path,
) -> None:
    submissions.allow(keys("ed25519"), OTHER)
    public = Path(shutil.copy(keys("ed25519").with_suffix(".pub"), tmp_path))
    subprocess.run(["ssh-add", "-q", keys("ed25519")], check=True, stderr=subprocess.DEVNULL)
    agent_signature = signature.sign_content(CONTENT, public, NAMESPACE)
    outcomes = [
        check_signature(submissions.keyring, agent_signature, CONTENT, OTHER, NAMESPACE, "")
        for _ in range(2)
    ]
    assert isinstance(outcomes[0], str) and outcomes[0] == outcomes[1]
    assert ssh_keygen_actions == ["verify"]


def test_file_that_was_replaced_after_it_was_read_does_not_matter(submissions: Submissions) -> None:
    bundle = submissions.add()
    contents = read_files(bundle).contents
    (bundle / "signatures" / f"submission.{PRINCIPAL}.sig").write_bytes(b"replaced")
    trust = establish_trust(bundle, contents, None, bundle)
    assert (trust.signer, trust.problems) == (PRINCIPAL, ())


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("exec sleep 5", "ssh-keygen gave no answer within 0.2 s"),
        ("echo Out of luck >&2; exit 1", "Out of luck"),
    ],
)
def test_ssh_keygen_that_refuses_or_gives_no_answer_is_a_finding(
    submissions: Submissions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    found: str,
) -> None:
    bundle = submissions.add()
    program = tmp_path / "bin" / "ssh-keygen"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setattr(signature, "_TIME_LIMIT_S", 0.2, raising=False)
    (finding,) = judge(bundle).findings
    assert finding.rule == "I106"
    assert finding.found == found
