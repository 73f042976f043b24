"""The list of revoked keys: what of it OpenSSH reads, and lists that cannot be read."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions, make_key
from support.rounds.trust import list_rules

from checker.engine import judge
from checker.trust import revoked
from rules.bundle_format.files import read_plain


def verify_with_openssh(submissions: Submissions, bundle: Path) -> bool:
    """Whether OpenSSH finds the signature of a bundle good, beside the list of revoked keys."""
    files = {
        "-f": submissions.keyring / "allowed_signers",
        "-r": submissions.keyring / "revoked_signers",
    }
    files |= {"-s": bundle / "signatures" / f"submission.{PRINCIPAL}.sig"}
    command = ["ssh-keygen", "-Y", "verify", "-I", PRINCIPAL, "-n", "submission@wattmark"]
    command += [str(part) for option in files.items() for part in option]
    return (
        subprocess.run(
            command, check=False, input=(bundle / "MANIFEST.json").read_bytes(), capture_output=True
        ).returncode
        == 0
    )


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("", None),
        ("  # lost in May", None),
        ("KEY", None),
        (" \tKEY a comment of words\r", None),
        ("to do", "line 2"),
        ('example@wattmark namespaces="submission@wattmark" KEY', "line 2"),
        ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", "line 2"),
        ("ssh-ed25519 !", "line 2"),
        ("ssh-odd AAAAC3NzaC1lZDI1NTE5AAAA", "line 2"),
        ("\r", "line 2"),
        ("\ufeffKEY", "line 2"),
    ],
)
def test_list_of_revoked_keys_is_read_as_openssh_does(
    submissions: Submissions, tmp_path: Path, line: str, place: str | None
) -> None:
    bundle = submissions.add()
    another = make_key(tmp_path / "another").with_suffix(".pub").read_text().strip()
    text = f"{another}\n{line.replace('KEY', another)}\n"
    (submissions.keyring / "revoked_signers").write_text(text, newline="")
    verdict = judge(bundle)
    assert verify_with_openssh(submissions, bundle) == (place is None)
    assert (verdict.signer, list_rules(verdict)) == (
        (PRINCIPAL, set()) if place is None else (None, {"I128"})
    )
    assert [f.pointer for f in verdict.findings] == ([] if place is None else [place])


def make_krl(keyring: Path, key: Path) -> Path:
    krl = keyring / "revoked_signers"
    subprocess.run(["ssh-keygen", "-q", "-k", "-f", krl, key.with_suffix(".pub")], check=True)
    return krl


@pytest.mark.parametrize("whole", [True, False])
def test_krl_is_read_as_openssh_does(submissions: Submissions, tmp_path: Path, whole: bool) -> None:
    bundle = submissions.add()
    krl = make_krl(submissions.keyring, make_key(tmp_path / "another"))
    krl.write_bytes(krl.read_bytes()[: None if whole else -10])
    assert verify_with_openssh(submissions, bundle) == whole
    assert list_rules(judge(bundle)) == (set() if whole else {"I128"})
    make_krl(submissions.keyring, submissions.key)
    assert list_rules(judge(bundle)) == {"I108"}


def test_krl_that_is_replaced_after_it_was_read_does_not_matter(
    submissions: Submissions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    krl = make_krl(submissions.keyring, make_key(tmp_path / "another"))

    def read_and_replace(path: Path, label: str, max_bytes: int) -> bytes:
        content = read_plain(path, label, max_bytes)
        path.write_bytes(b"no list of keys")
        return content

    monkeypatch.setattr(revoked, "read_plain", read_and_replace)
    revoked.check_revoked(krl)
    assert krl.read_bytes() == b"no list of keys"


@pytest.mark.parametrize("is_krl", [True, False])
def test_list_of_revoked_keys_without_an_answer_of_ssh_keygen_is_a_finding(
    submissions: Submissions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_krl: bool
) -> None:
    bundle = submissions.add()
    another = make_key(tmp_path / "another")
    if is_krl:
        make_krl(submissions.keyring, another)
    else:
        content = another.with_suffix(".pub").read_bytes()
        (submissions.keyring / "revoked_signers").write_bytes(content)
    program = tmp_path / "bin" / "ssh-keygen"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 5\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setattr(revoked, "_TIME_LIMIT_S", 0.2, raising=False)
    (finding,) = judge(bundle).findings
    assert (finding.rule, finding.file) == ("I128", "keyring/revoked_signers")
    assert finding.found == "ssh-keygen gave no answer within 0.2 s"
