"""Signing from the command line: what is signed, what is refused, and that the check then accepts
it.

Keys in hardware (FIDO, of the kinds sk-…) are not tested: they need somebody to touch them.
"""

import errno
import json
import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import PRINCIPAL, Submissions
from support.ssh_agent import agent as agent

from checker import CheckerError
from checker.engine import judge
from harness.cli import main


@pytest.fixture
def unsigned(submissions: Submissions) -> Path:
    bundle = submissions.add()
    shutil.rmtree(bundle / "signatures")
    return bundle


def sign(bundle: Path, key: Path, principal: str = PRINCIPAL) -> Result:
    return CliRunner().invoke(
        main, ["sign", str(bundle), "--key", str(key), "--principal", principal]
    )


def test_a_signed_bundle_passes(unsigned, submissions):
    result = sign(unsigned, submissions.key)
    assert result.exit_code == 0 and f"submission.{PRINCIPAL}.sig" in result.output
    assert judge(unsigned, root=submissions.root).status == "pass"


def test_signature_and_next_step_are_printed_as_json(unsigned, submissions):
    options = ["--key", str(submissions.key), "--principal", PRINCIPAL, "--json"]
    document = json.loads(CliRunner().invoke(main, ["sign", str(unsigned), *options]).stdout)
    assert document["format"] == "wattmark-signed/1"
    assert Path(document["signature"]).name == f"submission.{PRINCIPAL}.sig"
    assert Path(document["request"]).exists() and document["removed"] == []
    assert document["next_step"].startswith(f"bench-check {submissions.root}; then, ")


def test_what_holds_bundles_and_is_none_is_not_signed(submissions):
    first, _ = submissions.add(run_id="a"), submissions.add(run_id="b")
    result = sign(first.parent, submissions.key)
    assert result.exit_code == 1 and len(result.output.splitlines()) == 1
    assert f"{first.parent}: this is not a bundle; it holds 2: sign each of" in result.output
    (first / "MANIFEST.json").unlink()
    assert "this is not a bundle" not in sign(first, submissions.key).output


def test_signature_of_a_colleague_goes_and_it_is_said(unsigned, submissions, tmp_path):
    colleague = make_key_of_kind("ed25519", "256", tmp_path / "colleague")
    submissions.allow(colleague, "example@elsewhere.org")
    assert "removed" not in sign(unsigned, colleague, "example@elsewhere.org").output
    result = sign(unsigned, submissions.key)
    assert (
        result.exit_code == 0
        and "removed: " in result.output
        and "submission.example@elsewhere.org.sig" in result.output
    )
    assert judge(unsigned).signer == PRINCIPAL


def test_own_signature_is_made_anew_and_nothing_is_said_to_be_removed(unsigned, submissions):
    sign(unsigned, submissions.key)
    lines = sign(unsigned, submissions.key).output.splitlines()
    assert [line.split(":")[0] for line in lines] == ["signed", "handed in", "next"]


# What would not count is not signed, and what was there stays.


def use_of_another_center(submissions: Submissions, key: Path) -> tuple[str, str]:
    submissions.allow(key, "other@wattmark")
    return "other@wattmark", f"Move it below {submissions.root}/other/"


def use_of_unknown_center(submissions: Submissions, key: Path) -> tuple[str, str]:
    return ("stranger@wattmark", f"the keyring in {submissions.root} lets {PRINCIPAL} sign there")


def use_unknown(submissions: Submissions, key: Path) -> tuple[str, str]:
    return PRINCIPAL, "I107"


def use_expired(submissions: Submissions, key: Path) -> tuple[str, str]:
    submissions.allow(key, options='namespaces="submission@wattmark",valid-before="20200101"')
    return PRINCIPAL, "I109"


def use_revoked(submissions: Submissions, key: Path) -> tuple[str, str]:
    submissions.allow(key)
    (submissions.keyring / "revoked_signers").write_text(key.with_suffix(".pub").read_text())
    return PRINCIPAL, "I108"


def use_for_reviews(submissions: Submissions, key: Path) -> tuple[str, str]:
    submissions.allow(key, options='namespaces="review@wattmark"')
    return PRINCIPAL, "I107"


@pytest.mark.parametrize(
    "use",
    [
        use_of_another_center,
        use_of_unknown_center,
        use_unknown,
        use_expired,
        use_revoked,
        use_for_reviews,
    ],
)
@pytest.mark.parametrize("before", [True, False], ids=["signed", "unsigned"])
def test_what_the_keyring_would_refuse_is_not_signed(unsigned, submissions, tmp_path, use, before):
    if before:
        sign(unsigned, submissions.key)
    contents = {path: path.read_bytes() for path in unsigned.rglob("*") if path.is_file()}
    key = make_key_of_kind("ed25519", "256", tmp_path / "another")
    principal, reason = use(submissions, key)
    result = sign(unsigned, key, principal)
    assert result.exit_code == 1 and reason in result.output and str(unsigned) in result.output, (
        result.output
    )
    assert {path: path.read_bytes() for path in unsigned.rglob("*") if path.is_file()} == contents


def test_signature_without_a_keyring_is_said_to_be_unasked(unsigned, submissions):
    assert "keyring" not in sign(unsigned, submissions.key).output
    shutil.rmtree(submissions.keyring)
    result = sign(unsigned, submissions.key)
    assert result.exit_code == 0 and "not compared with a keyring: no keyring" in result.output


def test_what_keeps_ssh_keygen_from_verifying_is_said(unsigned, submissions, monkeypatch):
    def fail(*_: object) -> None:
        raise CheckerError("ssh-keygen took longer than 30 s")

    monkeypatch.setattr("harness.sign.verify_signature", fail)
    result = sign(unsigned, submissions.key)
    assert result.exit_code == 1 and "ssh-keygen took longer than 30 s" in result.output
    assert not (unsigned / "signatures").exists()


@pytest.mark.parametrize("before", [True, False], ids=["signed", "unsigned"])
def test_full_disk_keeps_the_signature_that_was_there(
    unsigned, submissions, tmp_path, monkeypatch, before
):
    if before:
        sign(unsigned, submissions.key)
    contents = {path: path.read_bytes() for path in (unsigned / "signatures").glob("*")}

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = sign(unsigned, submissions.key)
    assert (
        result.exit_code == 3
        and f"submission.{PRINCIPAL}.sig: cannot be written: No space left" in result.output
    )
    assert {path: path.read_bytes() for path in (unsigned / "signatures").glob("*")} == contents
    assert (unsigned / "signatures").exists() == before


def test_nothing_is_written_through_a_linked_directory(unsigned, submissions, tmp_path):
    (tmp_path / "target").mkdir()
    (unsigned / "signatures").symlink_to(tmp_path / "target")
    result = sign(unsigned, submissions.key)
    assert result.exit_code == 1 and "a symbolic link" in result.output
    assert not list((tmp_path / "target").iterdir())


def test_files_that_are_not_those_of_the_run_are_not_signed(unsigned, submissions):
    with (unsigned / "log.txt.gz").open("ab") as file:
        file.write(b"x")
    result = sign(unsigned, submissions.key)
    assert result.exit_code == 1
    assert (
        "not signed, because its files are not those that the run wrote" in result.output
        and "I101 log.txt.gz" in result.output
    )
    assert f"bench-check --fix {unsigned}" in result.output
    assert not (unsigned / "signatures").exists()


@pytest.mark.parametrize("principal", ["example", "a b@x", "../x@y", "x@y/../z", "", "x@"])
def test_a_principal_must_be_like_an_address(unsigned, submissions, principal):
    result = sign(unsigned, submissions.key, principal)
    assert (
        result.exit_code == 1
        and f"--principal '{principal}': must be like CENTER@example.org" in result.output
    )


def test_a_missing_key_is_said_with_how_to_make_one(unsigned, tmp_path):
    result = sign(unsigned, tmp_path / "nokey")
    assert result.exit_code == 2 and "no such key; make one with: ssh-keygen" in result.output


def test_directory_is_no_key(unsigned, tmp_path):
    result = sign(unsigned, tmp_path)
    assert result.exit_code == 2 and "this is a directory; name the key in it" in result.output


def test_key_that_others_may_read_is_said_with_what_to_do(unsigned, submissions, tmp_path):
    key = make_key_of_kind("ed25519", "256", tmp_path / "key")
    key.chmod(0o644)
    result = sign(unsigned, key)
    assert (
        result.exit_code == 1 and f"chmod 600 {key}" in result.output and "@@@" not in result.output
    )


def test_what_is_no_key_is_said(unsigned, tmp_path):
    (tmp_path / "notes").write_text("hello")
    result = sign(unsigned, tmp_path / "notes")
    assert result.exit_code == 1 and "ssh-keygen could not sign with it" in result.output


# Kinds of keys, and where they are.

KINDS = [("rsa", "3072"), ("ecdsa", "256"), ("ecdsa", "521"), ("ed25519", "256")]


def make_key_of_kind(kind: str, bits: str, path: Path, passphrase: str = "") -> Path:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, "-b", bits, "-N", passphrase, "-C", "", "-f", path],
        check=True,
    )
    return path


@pytest.mark.parametrize(("kind", "bits"), KINDS)
def test_key_of_each_kind_signs(unsigned, submissions, tmp_path, kind, bits):
    key = make_key_of_kind(kind, bits, tmp_path / "key")
    submissions.allow(key)
    assert sign(unsigned, key).exit_code == 0
    assert judge(unsigned).signer == PRINCIPAL


@pytest.mark.parametrize(("kind", "bits"), KINDS)
def test_key_that_an_agent_alone_has_signs(unsigned, submissions, tmp_path, agent, kind, bits):
    key = make_key_of_kind(kind, bits, tmp_path / "key")
    submissions.allow(key)
    subprocess.run(["ssh-add", "-q", key], check=True, stderr=subprocess.DEVNULL)
    key.unlink()
    assert sign(unsigned, key.with_suffix(".pub")).exit_code == 0
    assert judge(unsigned).signer == PRINCIPAL


def test_agent_without_the_key_is_said(unsigned, submissions, tmp_path, agent):
    key = make_key_of_kind("ed25519", "256", tmp_path / "key")
    key.unlink()
    result = sign(unsigned, key.with_suffix(".pub"))
    assert result.exit_code == 1 and f"ssh-add {key}" in result.output
    assert not (unsigned / "signatures").exists()


def test_public_key_without_an_agent_is_said(unsigned, tmp_path, monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    key = make_key_of_kind("ed25519", "256", tmp_path / "key")
    key.unlink()
    result = sign(unsigned, key.with_suffix(".pub"))
    assert result.exit_code == 1 and "needs an ssh-agent" in result.output


def test_passphrase_without_a_terminal_is_refused_at_once(unsigned, tmp_path):
    """In a session of its own the command has no terminal to ask on."""
    key = make_key_of_kind("ed25519", "256", tmp_path / "key", "secret words")
    process = subprocess.run(
        make_sign_command(unsigned, key),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        check=False,
        timeout=120,
        env=disable_askpass(),
    )
    assert (
        process.returncode == 1
        and "ssh-add" in process.stderr
        and f"--key {key}.pub" in process.stderr
    )
    assert "Traceback" not in process.stderr and not (unsigned / "signatures").exists()


@pytest.mark.parametrize(("answer", "signs"), [("secret words", True), ("wrong words", False)])
def test_passphrase_is_asked_for_on_a_terminal(unsigned, submissions, tmp_path, answer, signs):
    key = make_key_of_kind("ed25519", "256", tmp_path / "key", "secret words")
    submissions.allow(key)
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, make_sign_command(unsigned, key), disable_askpass())
    output = b""
    while b"passphrase" not in output:
        chunk = read_terminal(terminal)
        assert chunk, output
        output += chunk
    os.write(terminal, answer.encode() + b"\n")
    while chunk_at_end := read_terminal(terminal):
        output += chunk_at_end
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    assert (status == 0) == signs, output
    assert output.count(b"Enter passphrase") == 1, output
    assert (judge(unsigned).signer == PRINCIPAL) == signs


def make_sign_command(bundle: Path, key: Path) -> list[str]:
    return [
        sys.executable,
        "-c",
        "from harness.cli import main; main()",
        "sign",
        str(bundle),
        "--key",
        str(key),
        "--principal",
        PRINCIPAL,
    ]


def disable_askpass() -> dict[str, str]:
    return {
        k: v
        for k, v in os.environ.items()
        if k not in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS", "SSH_AUTH_SOCK")
    }


def read_terminal(terminal: int) -> bytes:
    """What comes next, empty at the end."""
    ready, _, _ = select.select([terminal], [], [], 120)
    assert ready, "the command says nothing for two minutes"
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux tells that the other side is closed
        return b""
