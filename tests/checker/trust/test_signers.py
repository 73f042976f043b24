"""Who may sign what: unknown, expired and revoked keys, and other centers."""

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions, make_key
from support.rounds.verdicts import run_bench_check

from checker import CheckerError
from checker.engine import judge
from harness.sign import sign
from rules.bundle_format.records import (
    MANIFEST_FILE,
)


def list_rules(path: Path, keyring: Path | None = None, root: Path | None = None) -> set[str]:
    return {f.rule for f in judge(path, keyring, root).findings}


def sign_by_hand(bundle: Path, key: Path, namespace: str) -> None:
    """Sign with ssh-keygen alone, in any namespace."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", namespace]
    process = subprocess.run(
        command, input=(bundle / MANIFEST_FILE).read_bytes(), capture_output=True, check=True
    )
    (bundle / "signatures" / f"submission.{PRINCIPAL}.sig").write_bytes(process.stdout)


# Who signed.


def test_signature_by_an_unknown_key(submissions: Submissions, tmp_path: Path) -> None:
    bundle = submissions.add()
    sign(bundle, make_key(tmp_path / "stranger"), PRINCIPAL)
    verdict = judge(bundle)
    assert {f.rule for f in verdict.findings} == {"I107"}
    assert verdict.signer is None


def test_signature_in_another_namespace(submissions: Submissions) -> None:
    bundle = submissions.add()
    sign_by_hand(bundle, submissions.key, "review@wattmark")
    assert list_rules(bundle) == {"I106"}


def test_signature_of_another_bundle(submissions: Submissions) -> None:
    bundle, other_bundle = submissions.add(run_id="bundle-1"), submissions.add(run_id="bundle-2")
    shutil.copy(*(b / "signatures" / f"submission.{PRINCIPAL}.sig" for b in (bundle, other_bundle)))
    assert list_rules(other_bundle) == {"I106"}


def test_bundle_moved_to_another_center(submissions: Submissions) -> None:
    submissions.allow(submissions.key, "other@wattmark")
    moved = submissions.root / "other" / "h200x2" / "run"
    shutil.copytree(submissions.add(), moved)
    assert list_rules(moved) == {"I107"}


def test_signature_renamed_to_the_principal_of_the_path(
    submissions: Submissions, tmp_path: Path
) -> None:
    """The other center has a key in the keyring, and it is not the one that signed."""
    submissions.allow(make_key(tmp_path / "other"), "other@wattmark")
    moved = submissions.root / "other" / "h200x2" / "run"
    shutil.copytree(submissions.add(), moved)
    signatures = moved / "signatures"
    (signatures / f"submission.{PRINCIPAL}.sig").rename(
        signatures / "submission.other@wattmark.sig"
    )
    assert list_rules(moved) == {"I107"}


def test_second_key_of_a_principal_is_as_good(submissions: Submissions, tmp_path: Path) -> None:
    key = make_key(tmp_path / "second")
    submissions.allow(key)
    bundle = submissions.add()
    sign(bundle, key, PRINCIPAL)
    assert list_rules(bundle) == set()


def test_expired_key_beside_a_valid_one(submissions: Submissions, tmp_path: Path) -> None:
    old_key = make_key(tmp_path / "old")
    submissions.allow(old_key, options='valid-before="20200101"')
    bundle = submissions.add()
    assert list_rules(bundle) == set()
    sign(bundle, old_key, PRINCIPAL)
    assert list_rules(bundle) == {"I109"}


def test_revoked_key_of_somebody_else_does_not_matter(
    submissions: Submissions, tmp_path: Path
) -> None:
    lost_key = make_key(tmp_path / "lost")
    shutil.copy(lost_key.with_suffix(".pub"), submissions.keyring / "revoked_signers")
    bundle = submissions.add()
    assert list_rules(bundle) == set()
    submissions.allow(lost_key)
    sign(bundle, lost_key, PRINCIPAL)
    assert list_rules(bundle) == {"I108"}


def test_one_bad_signature_beside_a_good_one(submissions: Submissions) -> None:
    bundle = submissions.add()
    (bundle / "signatures" / "submission.zoe@wattmark.sig").write_text("nonsense")
    verdict = judge(bundle)
    assert {f.rule for f in verdict.findings} == {"I107"}
    assert verdict.signer is None


def test_named_keyring(submissions: Submissions, tmp_path: Path) -> None:
    """The user may check all submissions, or those of a center, of a system or of a run."""
    bundle = submissions.add()
    keyring = shutil.move(submissions.keyring, tmp_path / "named")
    assert list_rules(bundle) == {"I110"}
    for path in (submissions.root, bundle.parents[1], bundle.parent, bundle):
        assert run_bench_check(path, "--keyring", keyring).exit_code == 0
    elsewhere = shutil.copytree(bundle, tmp_path / "h200x2" / "run")
    assert "I107" in run_bench_check(elsewhere, "--keyring", keyring).output


def test_named_keyring_wins_over_the_one_beside(submissions: Submissions, tmp_path: Path) -> None:
    submissions.add()
    named_round = Submissions(tmp_path / "elsewhere", make_key(tmp_path / "stranger"))
    named_round.allow(named_round.key)
    result = run_bench_check(submissions.root, "--keyring", named_round.keyring)
    assert (result.exit_code, "I107" in result.output) == (1, True)


def test_nothing_passes_without_ssh_keygen(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = submissions.add()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CheckerError, match="ssh-keygen was not found"):
        judge(bundle)
    result = run_bench_check(submissions.root)
    assert result.exit_code == 3
    assert "ssh-keygen was not found" in result.output
    assert "pass" not in result.output
