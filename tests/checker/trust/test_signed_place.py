"""A bundle counts only in the place that it is signed for, and a key only for one center."""

import base64
import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import PRINCIPAL, Submissions, copy_evidence, make_key
from support.rounds.trust import list_rules, run_command

from checker.engine import judge, judge_all
from harness.cli import main
from harness.sign import sign

EVIL = "evil@evil.example"


def move(bundle: Path, directory: Path, principal: str = "") -> Path:
    """Copy a bundle to another directory and remove the first. Rename its signature if it is to be
    that of another principal."""
    shutil.copytree(bundle, directory)
    shutil.rmtree(bundle)
    signature = directory / "signatures" / f"submission.{PRINCIPAL}.sig"
    signature.rename(signature.with_name(f"submission.{principal or PRINCIPAL}.sig"))
    return directory


def sign_first_version(bundle: Path, key: Path, rules_version: str) -> None:
    """Sign the bundle as releases before rule book 1.5.0 did: with a manifest that names no
    place. The run claims the rule book `rules_version`."""
    result = json.loads((bundle / "result.json").read_text())
    result["rules_version"] = rules_version
    (bundle / "result.json").write_text(json.dumps(result))
    lines = subprocess.run(
        ["sha256sum", "result.json"], cwd=bundle, capture_output=True, text=True, check=True
    ).stdout.split()
    manifest = json.loads((bundle / "MANIFEST.json").read_text())
    entry = next(file for file in manifest["files"] if file["path"] == "result.json")
    entry.update(sha256=lines[0], size=(bundle / "result.json").stat().st_size)
    first_version = {"format": "wattmark-manifest/1", "files": manifest["files"]}
    (bundle / "MANIFEST.json").write_text(json.dumps(first_version))
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", "submission@wattmark"]
    (bundle / "MANIFEST.json.sig").unlink(missing_ok=True)
    subprocess.run([*command, bundle / "MANIFEST.json"], check=True, stderr=subprocess.DEVNULL)
    (bundle / "MANIFEST.json.sig").replace(bundle / "signatures" / f"submission.{PRINCIPAL}.sig")


def test_bundle_moved_with_the_public_key_of_its_center_is_refused(
    submissions: Submissions,
) -> None:
    """The other center has no private key of the victim. The keyring does not list the victim."""
    bundle = submissions.add()
    (submissions.keyring / "allowed_signers").unlink()
    submissions.allow(submissions.key, EVIL)
    moved = move(bundle, submissions.root / "evil" / "h200x2" / bundle.name, EVIL)
    assert judge(moved).status == "fail"
    assert list_rules(judge(moved)) == {"I129"}


def test_bundle_moved_below_another_center_with_its_key_in_both_is_refused(
    submissions: Submissions,
) -> None:
    bundle = submissions.add()
    sign_first_version(bundle, submissions.key, "1.4.0")
    assert judge(bundle).status == "pass"
    submissions.allow(submissions.key, EVIL)
    assert judge(bundle).status == "pass"
    moved = move(bundle, submissions.root / "evil" / "h200x2" / bundle.name, EVIL)
    assert judge(moved).status == "fail"
    assert list_rules(judge(moved)) == {"I130"}


def test_certificate_over_the_key_of_another_center_moves_no_bundle(
    submissions: Submissions, tmp_path: Path
) -> None:
    """Anyone can certify any public key, and a signature file names its key without signing it."""
    bundle = submissions.add()
    sign_first_version(bundle, submissions.key, "1.4.0")
    authority = make_key(tmp_path / "authority")
    submissions.allow(authority, EVIL, 'cert-authority,namespaces="submission@wattmark"')
    moved = move(bundle, submissions.root / "evil" / "h200x2" / bundle.name, EVIL)
    public = tmp_path / "victim.pub"
    shutil.copy(submissions.key.with_suffix(".pub"), public)
    certify = ["ssh-keygen", "-q", "-s", authority, "-I", "x", "-n", EVIL, public]
    subprocess.run(certify, check=True)
    certificate = (tmp_path / "victim-cert.pub").read_text().split()[1]
    replace_key(moved / "signatures" / f"submission.{EVIL}.sig", certificate)
    assert list_rules(judge(moved)) == {"I130"}


def replace_key(signature: Path, blob: str) -> None:
    """Replace the public key in a signature file by the one whose base64 is `blob`."""
    begin, *lines, end = signature.read_text().splitlines()
    raw = base64.b64decode("".join(lines))
    (length,) = struct.unpack(">I", raw[10:14])
    key = base64.b64decode(blob)
    changed = raw[:10] + struct.pack(">I", len(key)) + key + raw[14 + length :]
    text = base64.b64encode(changed).decode()
    parts = [text[at : at + 70] for at in range(0, len(text), 70)]
    signature.write_text("\n".join([begin, *parts, end]) + "\n")


def test_bundle_moved_to_another_system_of_its_center_is_refused(submissions: Submissions) -> None:
    bundle = submissions.add()
    moved = move(bundle, submissions.root / "example" / "gh200" / bundle.name)
    assert list_rules(judge(moved)) == {"I129"}


def test_directory_of_the_run_may_be_renamed(submissions: Submissions) -> None:
    bundle = submissions.add()
    assert list_rules(judge(move(bundle, bundle.with_name("renamed")))) == set()


@pytest.mark.parametrize(("rules_version", "rules"), [("1.4.0", set()), ("1.5.0", {"I129"})])
def test_first_version_of_the_manifest_is_for_older_rule_books(
    submissions: Submissions, rules_version: str, rules: set[str]
) -> None:
    bundle = submissions.add()
    sign_first_version(bundle, submissions.key, rules_version)
    assert list_rules(judge(bundle)) == rules


def test_bundle_of_an_older_rule_book_is_signed_again_with_the_same_manifest(
    submissions: Submissions,
) -> None:
    """The LOG and reviews hold the hash of the manifest."""
    bundle = submissions.add()
    sign_first_version(bundle, submissions.key, "1.4.0")
    before = (bundle / "MANIFEST.json").read_bytes()
    sign(bundle, submissions.key, PRINCIPAL)
    assert (bundle / "MANIFEST.json").read_bytes() == before
    assert list_rules(judge(bundle)) == set()


def test_bundle_is_signed_again_in_its_place_with_the_same_manifest(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = submissions.add()
    before = (bundle / "MANIFEST.json").read_bytes()
    key = make_key(tmp_path / "new")
    submissions.allow(key)
    sign(bundle, key, PRINCIPAL)
    assert (bundle / "MANIFEST.json").read_bytes() == before
    assert list_rules(judge(bundle)) == set()


def test_sign_writes_the_place_into_the_manifest(submissions: Submissions) -> None:
    bundle = submissions.add(system="h200/rack-7")
    manifest = json.loads((bundle / "MANIFEST.json").read_text())
    assert (manifest["center"], manifest["system"]) == ("example", "h200/rack-7")
    assert list_rules(judge(bundle)) == set()


def test_bundle_that_is_signed_elsewhere_counts_where_its_directory_is_called_alike(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = move(submissions.add(), tmp_path / "elsewhere" / "h200x2" / "run")
    shutil.rmtree(bundle / "signatures")
    command = ["sign", str(bundle), "--key", str(submissions.key), "--principal", PRINCIPAL]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert "signed for the directory example/h200x2; the signature is void" in result.output
    placed = shutil.copytree(bundle, submissions.root / "example" / "h200x2" / "run")
    # Whoever has the signed bundle may have put it there.
    assert list_rules(judge(placed)) == {"I132"}
    signed = ("--key", submissions.key, "--principal", PRINCIPAL)
    assert run_command("request", placed, *signed).exit_code == 0
    assert list_rules(judge(placed)) == set()
    placed = shutil.copytree(bundle, submissions.root / "example" / "gh200" / "run")
    assert list_rules(judge(placed)) == {"I129"}


def test_keyring_line_with_the_key_of_another_center_is_an_error(submissions: Submissions) -> None:
    bundle = submissions.add()
    submissions.allow(submissions.key, EVIL)
    verdicts = {v.path: v for v in judge_all([submissions.root]).verdicts}
    assert verdicts[bundle].status == "pass"
    (finding,) = verdicts[submissions.keyring / "allowed_signers"].findings
    assert (finding.rule, finding.severity, finding.pointer) == ("I130", "error", "line 2")
    assert EVIL in finding.found and PRINCIPAL in finding.found and "line 1" in finding.found


def test_two_roles_of_one_key_are_no_two_centers(submissions: Submissions) -> None:
    submissions.add()
    submissions.allow(submissions.key, "chair@elsewhere.org", 'namespaces="waiver@wattmark"')
    assert [v.status for v in judge_all([submissions.root]).verdicts] == ["pass"]


@pytest.mark.parametrize("keyring_above", [True, False])
def test_center_inside_the_directory_of_another_is_refused(
    submissions: Submissions, tmp_path: Path, keyring_above: bool
) -> None:
    evil_key = make_key(tmp_path / "evil")
    submissions.allow(evil_key, EVIL)
    evil = Submissions(submissions.root / "example", evil_key)
    bundle = evil.add(copy_evidence(), principal=EVIL)
    keyring = shutil.copytree(submissions.keyring, tmp_path / "keyring-of-mine")
    if not keyring_above:
        shutil.rmtree(submissions.keyring)
    verdict = judge(bundle, keyring, submissions.root / "example")
    assert (verdict.status, list_rules(verdict)) == ("fail", {"I107"})


def test_directory_of_a_center_can_be_judged_with_a_named_keyring(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = submissions.add()
    keyring = shutil.copytree(submissions.keyring, tmp_path / "keyring-of-mine")
    shutil.rmtree(submissions.keyring)
    for root in (submissions.root, submissions.root / "example"):
        assert list_rules(judge(bundle, keyring, root)) == set()
