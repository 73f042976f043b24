"""What the LOG says of a bundle, and what it cannot say."""

import json
import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from conftest import Submissions, copy_evidence, make_key
from support.rounds.trust import add_option, delay_samples, list_errors, list_rules

from checker.engine import judge, judge_all
from checker.trust import bundle_trust, manifest
from checker.trust.acceptance_log import read_log
from checker.verdict import INTERNAL
from rules import VERSION
from rules.bundle_format.documents import read_json
from rules.bundle_format.files import read_files
from rules.finding import Severity
from rules.registry import rules_by_id
from rules.testing import tampering as forge


def test_rules_younger_than_the_acceptance_only_note(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = delay_samples(copy_evidence())
    evidence.result["rules_version"] = "1.2.0"
    bundle = submissions.add(evidence)
    monkeypatch.setattr(rules_by_id()["P104"], "added", "1.3.0")
    forge.write_log(bundle, {"rules_version": "1.2.0"})
    verdict = judge(bundle)
    (finding, *_) = [f for f in verdict.findings if f.rule == "P104"]
    assert (verdict.status, verdict.accepted, finding.severity) == ("pass", "1.2.0", Severity.NOTE)
    assert (
        "accepted under rule book 1.2.0, and 1.3.0 is the first to have this rule"
        in finding.message
    )
    forge.write_log(bundle, {"rules_version": "1.3.0"})
    assert judge(bundle).status == "fail"


def test_no_acceptance_lifts_what_is_wrong_with_form_and_integrity(
    submissions: Submissions,
) -> None:
    """Rules that came later, of the families S and I, against a bundle that was accepted before
    them."""
    evidence = copy_evidence()
    evidence.result["rules_version"] = "1.0.0"
    bundle = submissions.add(evidence)
    forge.write_log(bundle, {"rules_version": "1.0.0"})
    assert judge(bundle).accepted == "1.0.0"
    forge.add_review(bundle, manifest_sha256="0" * 64)
    assert rules_by_id()["I111"].added == "1.3.0"
    verdict = judge(bundle)
    assert (list_rules(verdict), verdict.status, verdict.accepted) == ({"I111"}, "fail", "1.0.0")


@pytest.mark.parametrize(
    ("entry", "accepted"),
    [
        ({"at": "2025-12-31T00:07:00Z"}, VERSION),  # a clock that is off by a day
        ({"at": "2025-12-31T00:06:59Z"}, ""),
        ({"rules_version": "1.2.0"}, ""),
        ({"rules_version": VERSION}, VERSION),
    ],
)
def test_acceptance_that_contradicts_the_bundle_does_not_count(
    submissions: Submissions, entry: dict[str, str], accepted: str
) -> None:
    """The good run ended 2026-01-01T00:07:00Z."""
    bundle = submissions.add()
    add_option(submissions, 'valid-before="20260101"')
    forge.write_log(bundle, entry)
    verdict = judge(bundle)
    expected = (
        {"I109"}
        if entry.get("rules_version") == VERSION
        else set()
        if accepted
        else {"I109", "I126"}
    )
    assert (verdict.accepted, list_rules(verdict)) == (accepted, expected)


def test_acceptance_is_asked_of_a_result_that_is_read_once(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the evidence read, of what was read then; with integrity and signatures alone, of the
    file."""
    bundle = submissions.add()
    forge.write_log(bundle, {"at": "2025-12-30T23:00:00Z"})
    read = []
    monkeypatch.setattr(
        manifest, "read_json", lambda name, raw: read.append(name) or read_json(name, raw)
    )
    assert (list_rules(judge(bundle)), read) == ({"I126"}, [])
    contents = read_files(bundle).contents
    assert [
        p.rule for p in bundle_trust.establish_trust(bundle, contents, None, bundle).problems
    ] == ["I126"]
    assert read == ["result.json"]


@pytest.mark.parametrize(
    "claim", ["", 7, "9" * 5000, "1.x.0", "2026-01-01", None, "9999-12-31T23:59:59Z"]
)
def test_claims_without_sense_are_answered(submissions: Submissions, claim: object) -> None:
    bundle = submissions.add()
    forge.write_log(bundle, {"manifest_sha256": forge.hash_manifest(bundle)})
    for name in ("ended_at", "rules_version"):
        result = json.loads((bundle / "result.json").read_text())
        (bundle / "result.json").write_text(json.dumps({**result, name: claim}))
        verdict = judge(bundle)
        assert "I101" in list_rules(verdict) and INTERNAL not in list_rules(verdict)


@pytest.mark.parametrize(
    "entry",
    [{"rules_version": "0.0.1"}, {"rules_version": "9999.0.0"}, {"at": "2999-01-01T00:00:00Z"}],
)
def test_log_of_what_cannot_be_speaks_for_nobody(
    submissions: Submissions, entry: dict[str, str]
) -> None:
    bundle = submissions.add(delay_samples(copy_evidence()))
    forge.write_log(bundle, entry)
    verdicts = {v.standing: v for v in judge_all([submissions.root]).verdicts}
    assert list_rules(verdicts["log"]) == {"I117"}
    assert (verdicts["closed"].status, verdicts["closed"].accepted) == ("fail", "")


def test_bundle_that_claims_an_old_rule_book_is_judged_by_the_present_one(
    submissions: Submissions,
) -> None:
    evidence = delay_samples(copy_evidence())
    evidence.result["rules_version"] = "1.0.0"
    assert judge(submissions.add(evidence)).status == "fail"


@pytest.mark.parametrize("days", [-1, 1])
def test_copy_is_reported_and_the_accepted_original_is_not(
    submissions: Submissions, days: int
) -> None:
    """Whatever the copy states as its date. Without the LOG, that date decides within a center."""
    copied = copy_evidence()
    for name in ("started_at", "ended_at"):
        date = datetime.fromisoformat(copied.result[name]) + timedelta(days=days)
        copied.result[name] = date.strftime("%Y-%m-%dT%H:%M:%SZ")
    original = submissions.add(run_id="the-original")
    copy = submissions.add(copied, run_id="the-newcomer")

    def list_reported() -> list[Path]:
        verdicts = judge_all([submissions.root]).verdicts
        return [v.path for v in verdicts if {"X102", "X103", "X112"} & list_rules(v)]

    assert list_reported() == [copy if days > 0 else original]
    forge.write_log(original, {})
    assert list_reported() == [copy]
    place = copy.relative_to(submissions.root).as_posix()
    forge.write_log(original, {}, {"path": place, "manifest_sha256": forge.hash_manifest(copy)})
    assert list_reported() == [copy], "both were accepted, and the original first"


def test_copies_of_two_centers_are_both_reported_until_one_is_accepted(
    submissions: Submissions, tmp_path: Path
) -> None:
    thief = replace(submissions, key=make_key(tmp_path / "thief"))
    submissions.allow(thief.key, "thief@wattmark")
    original = submissions.add(run_id="the-original")
    copy = thief.add(run_id="the-copy", principal="thief@wattmark")
    verdicts = {v.path: v for v in judge_all([submissions.root]).verdicts}
    for path in (original, copy):
        assert verdicts[path].status == "pass"
        assert {f.rule for f in verdicts[path].findings_that_bar_winning} >= {"X102", "X103"}
    forge.write_log(original, {})
    verdicts = {v.path: v for v in judge_all([submissions.root]).verdicts}
    assert verdicts[original].status == "pass" and "X102" not in list_rules(verdicts[original])
    assert list_errors(verdicts[copy]) >= {"X102", "X103"}


def test_broken_log_speaks_for_nobody(submissions: Submissions) -> None:
    bundle = submissions.add()
    add_option(submissions, 'valid-before="20260301"')
    log = forge.write_log(bundle, {}, {"path": "example/h200x2/another"})
    assert judge(bundle).status == "pass"
    log.write_bytes(log.read_bytes()[:-1])
    assert (judge(bundle).status, judge(bundle).accepted) == ("fail", "")


@pytest.mark.parametrize(
    "content",
    [b"\n", b"garbage\n", b"\xff\xfe\n", b"{}\n", b'{"a": 1, "a": 2}\n', b"[" * 100_000 + b"\n"],
)
def test_log_of_garbage_is_a_finding(submissions: Submissions, content: bytes) -> None:
    submissions.add()
    (submissions.root / "LOG").write_bytes(content)
    rules = {v.standing: list_rules(v) for v in judge_all([submissions.root]).verdicts}
    assert rules == {"closed": set(), "log": {"I117"}}


def test_linked_log_is_not_followed(submissions: Submissions, tmp_path: Path) -> None:
    bundle = submissions.add()
    log = forge.write_log(bundle, {})
    log.rename(tmp_path / "LOG")
    log.symlink_to(tmp_path / "LOG")
    rules = {v.standing: list_rules(v) for v in judge_all([submissions.root]).verdicts}
    assert rules == {"closed": set(), "log": {"S102"}}
    assert judge(bundle).accepted == ""


def test_line_missing_at_the_end_shows_in_the_head_alone(submissions: Submissions) -> None:
    bundles = [submissions.add(run_id=f"bundle-{n}") for n in (1, 2)]
    log = forge.write_log(
        bundles[0],
        {},
        {"path": "example/h200x2/bundle-2", "manifest_sha256": forge.hash_manifest(bundles[1])},
    )
    whole = read_log(submissions.root)
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    cut = read_log(submissions.root)
    assert cut.problems == whole.problems == ()
    assert (whole.lines, cut.lines, whole.head != cut.head) == (2, 1, True)


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("subdirectory", ["", "example", "example/h200x2"])
def test_removed_bundle_is_missed_where_it_was_looked_for(
    submissions: Submissions, subdirectory: str, is_named: bool
) -> None:
    keyring = submissions.keyring if is_named else None
    bundle = submissions.add(run_id="bundle-stays")
    removed_bundle = submissions.add(run_id="bundle-goes")
    elsewhere = submissions.add(run_id="bundle-elsewhere", system="another")
    forge.write_log(removed_bundle, {})
    shutil.rmtree(removed_bundle)
    rules = {
        v.standing: list_rules(v)
        for v in judge_all([submissions.root / subdirectory], keyring).verdicts
        if v.path != elsewhere
    }
    assert {k: r for k, r in rules.items() if k == "log"} == {"log": {"I118"}}
    assert {v.standing for v in judge_all([elsewhere, bundle], keyring).verdicts} == {"closed"}


def test_log_with_paths_outside_reads_nothing(submissions: Submissions) -> None:
    bundle = submissions.add()
    for path in ("../../etc", "/etc/passwd", "a/../b", "a//b", ".", "a/"):
        forge.write_log(bundle, {"path": path})
        assert {v.standing: list_rules(v) for v in judge_all([submissions.root]).verdicts}[
            "log"
        ] == {"I117"}
