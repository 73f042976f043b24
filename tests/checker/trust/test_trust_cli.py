"""`bench-check review`, `withdraw`, `waive`, `accept` and `verify` from the command line."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import PRINCIPAL, copy_evidence, make_key
from support.report.html import restore_folds
from support.rounds.trust import (
    TrustRound,
    accept,
    delay_samples,
    make_second_run,
    run_command,
)
from support.rounds.trust import a_round as a_round

from checker import cli
from checker.engine import judge, judge_all
from checker.trust.acceptance_log import read_log
from harness.sign import sign
from reporting.cli import main as report
from rules import VERSION
from rules.bundle_format import write as bundles
from rules.bundle_format.records import RUN
from rules.testing import tampering as forge

ROOT = Path(__file__).parents[3]


def list_files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_every_command_is_listed_and_has_help() -> None:
    for name in ("review", "withdraw", "waive", "accept", "verify"):
        assert cli.COMMANDS[name][0] == f"checker.trust_commands.cli:{name}"
        result = run_command(name, "--help")
        assert result.exit_code == 0 and "Usage" in result.output


def test_review_is_signed_and_counts(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    result = a_round.review(bundle, "--comment", "Looks right.")
    assert result.exit_code == 0, result.output
    document = json.loads((bundle / "signatures" / "review.alice@elsewhere.org.json").read_text())
    expected = {
        "verdict": "accept",
        "status": "pass",
        "rules_version": VERSION,
        "comment": "Looks right.",
    }
    assert {key: document[key] for key in expected} == expected
    assert document["manifest_sha256"] == forge.hash_manifest(bundle)
    assert judge(bundle).reviewers == ("alice@elsewhere.org",)


def test_failing_bundle_can_only_be_rejected(a_round: TrustRound) -> None:
    bundle = a_round.tree.add(delay_samples(copy_evidence()))
    result = a_round.review(bundle)
    assert (
        result.exit_code == 1
        and "it fails (P104)" in result.output
        and "--verdict reject" in result.output
    )
    assert (
        a_round.review(
            bundle, "--verdict", "reject", "--comment", "Half of the samples are late."
        ).exit_code
        == 0
    )
    document = json.loads((bundle / "signatures" / "review.alice@elsewhere.org.json").read_text())
    assert document["status"] == "fail"
    assert {"rule": "P104", "severity": "error", "count": 1, "waived": False} in document[
        "findings"
    ]
    assert {f.rule for f in judge(bundle).findings} >= {"P104", "I113"}


def test_review_that_would_not_count_is_not_left_behind(
    a_round: TrustRound, tmp_path: Path
) -> None:
    bundle = a_round.tree.add()
    before = list_files(a_round.tree.root)
    for principal, key, reason in (
        (PRINCIPAL, a_round.reviewer, "a reviewer must be of another center"),
        ("alice@elsewhere.org", make_key(tmp_path / "stranger"), "I107"),
        ("chair@round.example", a_round.chair, "I107"),
        ("alice", a_round.reviewer, "must have the form"),
        ("alice@elsewhere.org", tmp_path / "nokey", "no such key"),
    ):
        result = a_round.review(bundle, principal=principal, key=key)
        assert result.exit_code == (2 if reason == "no such key" else 1)
        assert reason in result.output, result.output
    assert list_files(a_round.tree.root) == before


def test_own_good_review_stays_where_a_second_one_fails(
    a_round: TrustRound, tmp_path: Path
) -> None:
    bundle = a_round.tree.add()
    assert a_round.review(bundle).exit_code == 0
    before = list_files(bundle)
    result = a_round.review(bundle, "--replace", key=make_key(tmp_path / "stranger"))
    assert result.exit_code == 1 and "I107" in result.output
    assert list_files(bundle) == before


def test_full_disk_leaves_no_half_of_a_review(
    a_round: TrustRound, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = a_round.tree.add()
    assert a_round.review(bundle).exit_code == 0
    before = list_files(bundle)
    synced = []

    def full(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = a_round.review(bundle, "--replace", "--comment", "Changed my mind.")
    assert (
        result.exit_code == 3
        and "alice@elsewhere.org.sig: cannot be written: No space left on device" in result.output
    )
    assert list_files(bundle) == before


def test_withdrawal_is_signed_and_counts_once(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    assert a_round.withdraw(bundle).exit_code == 0
    assert (judge(bundle).status, judge(bundle).withdrawn) == (
        "withdrawn",
        "The clocks were locked.",
    )
    second_result = a_round.withdraw(bundle)
    assert second_result.exit_code == 1 and "it was withdrawn before" in second_result.output
    assert "it was withdrawn; there is nothing to review" in a_round.review(bundle).output


def test_another_center_withdraws_nothing(a_round: TrustRound, tmp_path: Path) -> None:
    bundle = a_round.tree.add()
    other_key = make_key(tmp_path / "other")
    a_round.tree.allow(
        other_key, "other@wattmark", 'namespaces="submission@wattmark,withdrawal@wattmark"'
    )
    result = a_round.withdraw(bundle, "other@wattmark", other_key)
    assert result.exit_code == 1 and "I116" in result.output
    assert judge(bundle).status == "pass"


@pytest.mark.parametrize("scope", ["bundle", "system", "center"])
def test_waiver_lifts_an_error(a_round: TrustRound, scope: str) -> None:
    bundle = a_round.tree.add(delay_samples(copy_evidence()))
    path = {"bundle": bundle, "system": bundle.parent, "center": bundle.parents[1]}[scope]
    result = a_round.waive("P104", path, options=("--expires", "2999-01-01"))
    assert result.exit_code == 0, result.output
    (verdict,) = judge_all([a_round.tree.root]).verdicts
    waived = {bool(f.waived) for f in verdict.findings if f.rule == "P104"}
    assert (verdict.status, waived) == ("pass", {True})


def test_waivers_that_would_not_count_are_refused(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    before = list_files(a_round.tree.root)
    for result, code, reason in (
        (a_round.waive("S101", bundle), 2, "cannot be waived"),
        (a_round.waive("W999", bundle), 2, "there is no such rule"),
        (
            a_round.waive("P104", a_round.tree.root),
            1,
            "it does not lie in the directory of a center",
        ),
        (
            a_round.waive("P104", bundle, principal=PRINCIPAL),
            1,
            "a principal of another center must grant the waiver",
        ),
        (a_round.waive("P104", bundle, principal="alice@elsewhere.org"), 1, "I107"),
        (
            a_round.waive("P104", bundle, options=("--expires", "2020-01-01")),
            2,
            "not in the future",
        ),
        (a_round.waive("P104", bundle, bundle.parent), 1, "one or the other"),
        (
            run_command(
                "waive", "P104", bundle, "--key", "k", "--principal", "a@b", "--reason", " "
            ),
            2,
            "between 1 and 4000",
        ),
    ):
        assert result.exit_code == code and reason in result.output, result.output
    assert list_files(a_round.tree.root) == before


def test_accept_writes_what_passes_and_is_done_once(a_round: TrustRound) -> None:
    good_bundle = a_round.tree.add(run_id="good-bundle")
    bad_bundle = a_round.tree.add(delay_samples(make_second_run()), run_id="bad-bundle")
    result = accept(a_round.tree.root)
    assert result.exit_code == 1
    assert (
        "accepted: example/h200x2/good-bundle" in result.output
        and "refused: example/h200x2/bad-bundle: it fails: P104" in result.output
    )
    log = (a_round.tree.root / "LOG").read_bytes()
    assert [v.accepted for v in judge_all([a_round.tree.root]).verdicts] == ["", VERSION]
    assert accept(good_bundle).output == "0 written to the LOG, 0 refused, 1 already in the LOG\n"
    assert (a_round.tree.root / "LOG").read_bytes() == log
    shutil.rmtree(bad_bundle)
    a_round.withdraw(good_bundle)
    assert "withdrawn: example/h200x2/good-bundle" in accept(a_round.tree.root).output
    assert (a_round.tree.root / "LOG").read_bytes().startswith(log)
    assert read_log(a_round.tree.root).lines == 2
    assert (
        accept(a_round.tree.root).output
        == "0 written to the LOG, 0 refused, 1 already in the LOG\n"
    )


def test_accept_refuses_another_bundle_in_the_same_place(a_round: TrustRound) -> None:
    bundle = a_round.tree.add(run_id="good-bundle")
    assert accept(bundle).exit_code == 0
    shutil.rmtree(bundle)
    a_round.tree.add(make_second_run(), run_id="good-bundle")
    result = accept(bundle)
    assert result.exit_code == 1 and "it fails: I119" in result.output
    shutil.rmtree(bundle)
    a_round.tree.add(run_id="another-bundle")
    result = accept(a_round.tree.root)
    assert (
        result.exit_code == 1
        and "nothing is accepted while it is broken" in result.output
        and "good-bundle" in result.output
    )


def test_accept_needs_a_whole_log_and_a_keyring(a_round: TrustRound, tmp_path: Path) -> None:
    bundle = a_round.tree.add()
    accept(bundle)
    log = a_round.tree.root / "LOG"
    log.write_bytes(log.read_bytes()[:100])
    result = accept(bundle)
    assert (
        result.exit_code == 1
        and "The LOG was cut here" in result.output
        and log.stat().st_size == 100
    )
    (tmp_path / "empty").mkdir()
    assert "no bundle at or below it" in accept(tmp_path / "empty").output
    shutil.copytree(bundle, tmp_path / "moved")
    output = accept(tmp_path / "moved").output
    assert "moved: I110: no keyring" in output
    log.unlink()
    assert "no bundle at or below it" in accept(a_round.tree.keyring).output


def test_verify_reads_no_evidence_and_prints_the_head(a_round: TrustRound) -> None:
    bundle = a_round.tree.add(delay_samples(copy_evidence()))
    a_round.review(bundle, "--verdict", "reject", "--comment", "The samples are late.")
    forge.write_log(bundle, {})
    result = run_command("verify", a_round.tree.root)
    assert result.exit_code == 0, result.output
    assert f"LOG: good, 1 line, head {read_log(a_round.tree.root).head}" in result.output
    assert (
        "P104" not in result.output
        and "the evidence was not judged" in result.output.splitlines()[-1]
    )


@pytest.mark.parametrize("spoil", ["evidence", "manifest", "signature", "review", "log"])
def test_verify_notices(a_round: TrustRound, spoil: str) -> None:
    bundle = a_round.tree.add()
    a_round.review(bundle)
    accept(bundle)
    path = {
        "evidence": bundle / "samples.csv.gz",
        "manifest": bundle / "MANIFEST.json",
        "signature": bundle / "signatures" / f"submission.{PRINCIPAL}.sig",
        "review": bundle / "signatures" / "review.alice@elsewhere.org.json",
        "log": a_round.tree.root / "LOG",
    }[spoil]
    path.write_bytes(path.read_bytes().replace(b"1", b"2", 1) + b" ")
    result = run_command("verify", a_round.tree.root)
    assert result.exit_code == 1 and "bad" in result.output


def test_whatever_is_named_is_answered_without_a_traceback(
    a_round: TrustRound, tmp_path: Path
) -> None:
    a_round.tree.add()
    incomplete_bundle = a_round.tree.root / "example" / "h200x2" / "half-bundle"
    incomplete_bundle.mkdir()
    (incomplete_bundle / RUN.main_file).write_text("{")
    hidden = a_round.tree.root / "example" / "h200x2" / ".hidden"
    bundles.write(make_second_run().evidence(), hidden)
    sign(hidden, a_round.tree.key, PRINCIPAL)
    link = a_round.tree.root / "example" / "h200x2" / "linked"
    link.symlink_to(tmp_path)
    for path in (
        incomplete_bundle,
        hidden,
        link,
        incomplete_bundle.parent,
        incomplete_bundle.parents[1],
        tmp_path,
        a_round.tree.root,
        a_round.tree.keyring,
    ):
        assert run_command("verify", path).exit_code in (0, 1)
        assert a_round.review(path).exit_code == 1
        assert a_round.withdraw(path).exit_code == 1 or path == hidden
        assert accept(path).exit_code == 1


def test_report_shows_who_stands_behind_a_row_and_what_was_withdrawn(
    a_round: TrustRound, tmp_path: Path
) -> None:
    withdrawn, reviewed = (
        a_round.tree.add(run_id="withdrawn-bundle"),
        a_round.tree.add(make_second_run(), run_id="reviewed-bundle"),
    )
    a_round.review(reviewed)
    a_round.withdraw(withdrawn)
    page = tmp_path / "report.html"
    result = CliRunner().invoke(report, [str(a_round.tree.root), "-o", str(page)])
    assert result.exit_code == 0 and "1 passed, 0 failed, 1 withdrawn" in result.output, (
        result.output
    )
    text = restore_folds(page.read_text())
    assert "accepted by alice@elsewhere.org" in text
    assert (
        text.count("withdrawn-bundle") == 2
        and "The clocks were locked." in text.partition('id="withdrawn"')[2]
    )
