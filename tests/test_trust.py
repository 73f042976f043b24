"""Who stands behind a bundle: keys in time and out of it, reviews, withdrawals, waivers, and what the LOG says."""

import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions, fresh_evidence
from good import another_run, rederive

from checker import acceptance, engine, waivers
from checker.engine import Verdict, judge, judge_all
from checker.keyring import read_keyring
from harness.sign import sign
from reporting.collect import collect
from rules import VERSION, forge
from rules.records import Evidence
from rules.rule import Severity, rules_by_id


def late_sampling(evidence: Evidence) -> Evidence:
    """Evidence that one rule refuses, P104: every second sample is late."""
    late = next(m for m in rules_by_id()["P104"].mutations if m.name == "every_second_sample_late")
    late.apply(evidence)
    rederive(evidence)
    return evidence


def second_run() -> Evidence:
    """The evidence of another run of the same work."""
    evidence = another_run(fresh_evidence())
    rederive(evidence)
    return evidence


def only(root: Path) -> Verdict:
    """The verdict on the one bundle below `root`; nothing is wrong beside it."""
    (verdict,) = judge_all([root]).verdicts
    return verdict


def rules_of(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.findings}


def add_option(submissions: Submissions, option: str, principal: str = PRINCIPAL) -> None:
    """Put an option before the namespaces of a principal's lines in the keyring."""
    signers = submissions.keyring / "allowed_signers"
    text = signers.read_text()
    changed = text.replace(f"{principal} namespaces=", f"{principal} {option},namespaces=")
    assert changed != text
    signers.write_text(changed)


# Keys, in time and out of it.


def test_key_that_expired_after_acceptance_counts(submissions: Submissions) -> None:
    bundle = submissions.add()
    add_option(submissions, 'valid-before="20260301"')
    assert rules_of(judge(bundle)) == {"I109"}
    forge.log(bundle, {"at": "2026-02-01T00:00:00Z"})
    verdict = judge(bundle)
    assert (rules_of(verdict), verdict.signer, verdict.accepted) == (set(), PRINCIPAL, "1.3.0")
    forge.log(bundle, {"at": "2026-04-01T00:00:00Z"})
    assert rules_of(judge(bundle)) == {"I109"}


def test_acceptance_of_another_bundle_saves_no_expired_key(submissions: Submissions) -> None:
    bundle = submissions.add()
    add_option(submissions, 'valid-before="20260301"')
    forge.log(bundle, {"manifest_sha256": "0" * 64})
    assert rules_of(judge(bundle)) == {"I109", "I119"}


def test_dates_of_the_keyring_are_utc(submissions: Submissions, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a time zone 14 hours ahead, the end of a key's validity would have passed long ago."""
    bundle = submissions.add()
    soon = datetime.now(UTC) + timedelta(hours=6)
    add_option(submissions, f'valid-before="{soon:%Y%m%d%H%M}"')
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    assert judge(bundle).status == "pass"


def test_expired_reviewer_counts_where_the_bundle_was_accepted_in_time(submissions: Submissions) -> None:
    bundle = submissions.add()
    forge.review(bundle)
    assert judge(bundle).reviewers == (forge.REVIEWER,)
    add_option(submissions, 'valid-before="20260301"', forge.REVIEWER)
    verdict = judge(bundle)
    assert (rules_of(verdict), verdict.reviewers) == ({"I109"}, ())
    forge.log(bundle, {"at": "2026-02-01T00:00:00Z"})
    assert judge(bundle).reviewers == (forge.REVIEWER,)


def test_rotation(submissions: Submissions, tmp_path: Path) -> None:
    """The old line ends where the new one begins; what was signed in time and accepted stands beside what is new."""
    old = submissions.add(run_id="old-bundle")
    add_option(submissions, 'valid-before="20260301"')
    new_key = tmp_path / "new"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-C", "", "-f", new_key], check=True)
    submissions.allow(new_key, options='valid-after="20260301",namespaces="submission@wattmark"')
    forge.log(old, {})
    new = submissions.add(run_id="new-bundle")
    sign(new, new_key, PRINCIPAL)
    assert [judge(bundle).signer for bundle in (old, new)] == [PRINCIPAL, PRINCIPAL]


# Reviews and withdrawals.


def test_rejecting_review_is_a_warning_and_no_reviewer(submissions: Submissions) -> None:
    bundle = submissions.add()
    forge.review(bundle, verdict="reject", comment="half")
    forge.review(bundle, "second@wattmark")
    verdict = judge(bundle)
    assert (verdict.status, verdict.reviewers) == ("pass", ("second@wattmark",))
    assert [(f.rule, f.severity) for f in verdict.findings] == [("I113", Severity.WARNING)]


@pytest.mark.parametrize("broken", ['{"format": 1, "format": 2}', "{", "[]", '{"format": "wattmark-review/2"}', "\ufeff{}"])
def test_review_that_is_no_document_is_a_finding(submissions: Submissions, broken: str) -> None:
    bundle = submissions.add()
    forge.review(bundle).write_text(broken)
    verdict = judge(bundle)
    (rule,) = rules_of(verdict)
    assert rule in {"S104", "S105", "S106", "S107"}
    assert verdict.findings[0].file == f"signatures/review.{forge.REVIEWER}.json"
    assert (verdict.reviewers, verdict.status) == ((), "fail")


def test_review_of_any_size_is_refused(submissions: Submissions) -> None:
    bundle = submissions.add()
    forge.review(bundle).write_bytes(b" " * 100_000)
    assert "S103" in rules_of(judge(bundle))


def test_linked_review_is_not_followed(submissions: Submissions, tmp_path: Path) -> None:
    bundle = submissions.add()
    review = forge.review(bundle)
    review.rename(tmp_path / "elsewhere")
    review.symlink_to(tmp_path / "elsewhere")
    assert rules_of(judge(bundle)) == {"S102", "I114"}


@pytest.mark.parametrize("who", [forge.CHAIR, "example@other.org"])
def test_withdrawn_bundle_is_seen_and_not_compared(submissions: Submissions, who: str) -> None:
    """By somebody who submits nothing, or by the center itself."""
    bundle, other = submissions.add(run_id="first-bundle"), submissions.add(second_run(), run_id="second-bundle")
    namespaces = "submission@wattmark,withdrawal@wattmark" if who != forge.CHAIR else "withdrawal@wattmark"
    forge.withdrawal(bundle, who, namespaces)
    found = {v.path: v for v in judge_all([submissions.root]).verdicts}
    assert (found[bundle].status, found[bundle].withdrawn) == ("withdrawn", "The clocks were locked.")
    assert found[other].status == "pass"
    content = collect([submissions.root])
    assert [v.path for v in content.withdrawn] == [bundle]
    assert [row.trail.bundle.path for row in content.rows if row.trail] == [other]
    assert content.rejected == []


def test_withdrawal_that_does_not_count_withdraws_nothing(submissions: Submissions) -> None:
    bundle = submissions.add()
    forge.withdrawal(bundle, "elsewhere@wattmark", "submission@wattmark,withdrawal@wattmark")
    assert (judge(bundle).status, judge(bundle).withdrawn) == ("fail", "")


def test_withdrawal_fits_what_the_log_says(submissions: Submissions) -> None:
    bundle = submissions.add()
    forge.log(bundle, {}, {"event": "withdrawn"})
    withdrawal = forge.withdrawal(bundle)
    assert judge(bundle).status == "withdrawn"
    assert rules_of(judge(bundle)) == set()
    withdrawal.unlink()
    withdrawal.with_suffix(".sig").unlink()
    assert rules_of(judge(bundle)) == {"I120"}


# Waivers.


def test_waived_error_is_shown_and_fails_nothing(submissions: Submissions) -> None:
    bundle = submissions.add(late_sampling(fresh_evidence()))
    failing = judge(bundle)
    assert failing.status == "fail"
    rules = {f.rule for f in failing.findings if f.severity == Severity.ERROR}
    assert rules == {"P104"}
    forge.waiver(bundle, rule="P104")
    verdict = only(submissions.root)
    assert (verdict.status, rules_of(verdict)) == ("pass", rules_of(failing))
    assert {f.waived for f in verdict.findings if f.rule == "P104"} == {"waivers/of-the-case.json"}
    assert {f.severity for f in verdict.findings if f.rule == "P104"} == {Severity.ERROR}


@pytest.mark.parametrize(
    ("scope", "waives"),
    [
        ({"below": "example"}, True),
        ({"below": "example/h200x2"}, True),
        ({"below": "exam"}, False),
        ({"below": "other"}, False),
        ({"below": "example/h200x2/another"}, False),
        ({"manifests": ["MINE"]}, True),
        ({"manifests": ["0" * 64]}, False),
    ],
)
def test_scope_of_a_waiver(submissions: Submissions, scope: dict[str, object], waives: bool) -> None:
    bundle = submissions.add(late_sampling(fresh_evidence()))
    mine = forge.manifest_sha256(bundle)
    named = {"manifests": [mine if m == "MINE" else m for m in scope["manifests"]]} if "manifests" in scope else scope
    forge.waiver(bundle, rule="P104", **named)
    assert (only(submissions.root).status == "pass") == waives


def test_waiver_on_a_rule_across_bundles(submissions: Submissions) -> None:
    """Two bundles of which the rules across bundles speak: a waiver marks what they say too."""
    evidence = fresh_evidence()
    paths = [submissions.add(evidence, run_id=f"the-same-{n}") for n in (1, 2)]
    before = {f.rule for v in judge_all([submissions.root]).verdicts for f in v.findings if f.rule.startswith("X")}
    assert before, "two copies of one run are noticed"
    rule = sorted(before)[0]
    forge.waiver(paths[0], rule=rule)
    after = [f for v in judge_all([submissions.root]).verdicts for f in v.findings if f.rule == rule]
    assert {f.waived for f in after} == {"waivers/of-the-case.json"}


@pytest.mark.parametrize("rule", ["S101", "I106", "s101", "W1", ""])
def test_rules_on_form_and_integrity_cannot_be_waived(submissions: Submissions, rule: str) -> None:
    bundle = submissions.add()
    forge.waiver(bundle, rule=rule)
    found = judge_all([submissions.root]).verdicts
    assert [(v.standing, v.status, rules_of(v)) for v in found if v.path != bundle] == [("waiver", "fail", {"S107"})]


@pytest.mark.parametrize("namespaces", ["submission@wattmark", "waiver@wattmark"])
def test_waiver_without_a_good_signature_waives_nothing(submissions: Submissions, namespaces: str) -> None:
    """By a key for another role, or altered after it was signed."""
    bundle = submissions.add(late_sampling(fresh_evidence()))
    waiver = forge.waiver(bundle, rule="P104", namespaces=namespaces)
    assert judge(bundle).status == ("pass" if namespaces == "waiver@wattmark" else "fail")
    waiver.write_text(waiver.read_text() + "\n")
    assert judge(bundle).status == "fail"


def test_waiver_that_expired_after_acceptance_counts(submissions: Submissions) -> None:
    bundle = submissions.add(late_sampling(fresh_evidence()))
    forge.waiver(bundle, rule="P104", expires_at="2026-03-01T00:00:00Z")
    assert judge(bundle).status == "fail"
    forge.log(bundle, {"at": "2026-02-15T00:00:00Z"})
    assert judge(bundle).status == "pass"
    forge.log(bundle, {"at": "2026-03-15T00:00:00Z"})
    assert judge(bundle).status == "fail"


def test_linked_directory_of_waivers_is_not_followed(submissions: Submissions, tmp_path: Path) -> None:
    bundle = submissions.add(late_sampling(fresh_evidence()))
    forge.waiver(bundle, rule="P104")
    assert judge(bundle).status == "pass"
    (submissions.root / "waivers").rename(tmp_path / "elsewhere")
    (submissions.root / "waivers").symlink_to(tmp_path / "elsewhere")
    assert judge(bundle).status == "fail"
    assert "I121" in {f.rule for v in judge_all([submissions.root]).verdicts for f in v.findings}


def test_signature_of_a_waiver_is_verified_once(submissions: Submissions, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = submissions.add()
    forge.waiver(bundle, rule="P104")
    asked = []
    real = waivers.verify
    monkeypatch.setattr(waivers, "verify", lambda *a: asked.append(a) or real(*a))
    for _ in range(3):
        judge(bundle)
    assert len(asked) == 1


# The LOG.


def test_rules_younger_than_the_acceptance_only_note(submissions: Submissions, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = submissions.add(late_sampling(fresh_evidence()))
    monkeypatch.setattr(rules_by_id()["P104"], "added", "1.3.0")
    forge.log(bundle, {"rules_version": "1.2.9"})
    verdict = judge(bundle)
    (finding, *_) = [f for f in verdict.findings if f.rule == "P104"]
    assert (verdict.status, verdict.accepted, finding.severity) == ("pass", "1.2.9", Severity.NOTE)
    assert "accepted under rule book 1.2.9, and 1.3.0 is the first to have this rule" in finding.message
    for same in ("1.3.0", "1.10.0"):
        forge.log(bundle, {"rules_version": same})
        assert judge(bundle).status == "fail"


def test_bundle_that_claims_an_old_rule_book_is_judged_by_the_present_one(submissions: Submissions) -> None:
    evidence = late_sampling(fresh_evidence())
    evidence.result["rules_version"] = "1.0.0"
    assert judge(submissions.add(evidence)).status == "fail"


def test_broken_log_speaks_for_nobody(submissions: Submissions) -> None:
    bundle = submissions.add()
    add_option(submissions, 'valid-before="20260301"')
    log = forge.log(bundle, {}, {"path": "example/h200x2/another"})
    assert judge(bundle).status == "pass"
    log.write_bytes(log.read_bytes()[:-1])
    assert (judge(bundle).status, judge(bundle).accepted) == ("fail", "")


@pytest.mark.parametrize("content", [b"\n", b"garbage\n", b"\xff\xfe\n", b"{}\n", b'{"a": 1, "a": 2}\n', b"[" * 100_000 + b"\n"])
def test_log_of_garbage_is_a_finding(submissions: Submissions, content: bytes) -> None:
    submissions.add()
    (submissions.root / "LOG").write_bytes(content)
    found = {v.standing: rules_of(v) for v in judge_all([submissions.root]).verdicts}
    assert found == {"closed": set(), "log": {"I117"}}


def test_linked_log_is_not_followed(submissions: Submissions, tmp_path: Path) -> None:
    bundle = submissions.add()
    log = forge.log(bundle, {})
    log.rename(tmp_path / "LOG")
    log.symlink_to(tmp_path / "LOG")
    found = {v.standing: rules_of(v) for v in judge_all([submissions.root]).verdicts}
    assert found == {"closed": set(), "log": {"S102"}}
    assert judge(bundle).accepted == ""


def test_line_missing_at_the_end_shows_in_the_head_alone(submissions: Submissions) -> None:
    bundles = [submissions.add(run_id=f"bundle-{n}") for n in (1, 2)]
    log = forge.log(bundles[0], {}, {"path": "example/h200x2/bundle-2", "manifest_sha256": forge.manifest_sha256(bundles[1])})
    whole = acceptance.read_log(submissions.root)
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    cut = acceptance.read_log(submissions.root)
    assert cut.problems == whole.problems == ()
    assert (whole.lines, cut.lines, whole.head != cut.head) == (2, 1, True)


@pytest.mark.parametrize("asked", ["", "example", "example/h200x2"])
def test_removed_bundle_is_missed_where_it_was_looked_for(submissions: Submissions, asked: str) -> None:
    bundle = submissions.add(run_id="bundle-stays")
    gone = submissions.add(run_id="bundle-goes")
    elsewhere = submissions.add(run_id="bundle-elsewhere", system="another")
    forge.log(gone, {})
    shutil.rmtree(gone)
    found = {v.standing: rules_of(v) for v in judge_all([submissions.root / asked]).verdicts if v.path != elsewhere}
    assert {k: r for k, r in found.items() if k == "log"} == {"log": {"I118"}}
    assert {v.standing for v in judge_all([elsewhere, bundle]).verdicts} == {"closed"}


def test_log_with_paths_outside_reads_nothing(submissions: Submissions) -> None:
    bundle = submissions.add()
    for path in ("../../etc", "/etc/passwd", "a/../b", "a//b", ".", "a/"):
        forge.log(bundle, {"path": path})
        assert {v.standing: rules_of(v) for v in judge_all([submissions.root]).verdicts}["log"] == {"I117"}


def test_append_keeps_the_log_where_a_line_does_not_fit(submissions: Submissions) -> None:
    bundle = submissions.add()
    log = forge.log(bundle, {})
    before = log.read_bytes()
    head = acceptance.read_log(submissions.root).head
    again = ("2026-03-01T00:00:00Z", "accepted", "example/h200x2/" + bundle.name, "0" * 64, VERSION)
    with pytest.raises(engine.Refused):
        acceptance.append(submissions.root, head, [again])
    with pytest.raises(engine.Refused):
        acceptance.append(submissions.root, "0" * 64, [])
    assert log.read_bytes() == before
    assert sorted(p.name for p in submissions.root.iterdir()) == ["LOG", "example", "keyring"]


# The keyring.


@pytest.mark.parametrize(
    "garbage",
    [b"\xff\x00\xfe", b'x@y namespaces="', b"x@y ssh-ed25519", b"x@y " + b"A" * 200_000, b'"' * 5000, b"cert-authority"],
)
def test_garbage_in_the_keyring_is_a_warning_and_good_lines_count(submissions: Submissions, garbage: bytes) -> None:
    bundle = submissions.add()
    with (submissions.keyring / "allowed_signers").open("ab") as signers:
        signers.write(garbage + b"\n")
    found = {v.standing: v for v in judge_all([submissions.root]).verdicts}
    assert (found["closed"].status, rules_of(found["closed"])) == ("pass", set())
    assert rules_of(found["keyring"]) == {"I124"}
    assert judge(bundle).signer == PRINCIPAL


def test_fingerprints_are_those_of_ssh_keygen(submissions: Submissions) -> None:
    said = subprocess.run(["ssh-keygen", "-l", "-f", submissions.key], capture_output=True, text=True, check=True).stdout
    (line,) = read_keyring(submissions.keyring).lines
    assert line.fingerprint == said.split()[1]
    assert (line.principals, line.namespaces) == ((PRINCIPAL,), ("submission@wattmark",))


@pytest.mark.parametrize("name", ["allowed_signers", "revoked_signers"])
def test_linked_keyring_file_is_not_followed(submissions: Submissions, tmp_path: Path, name: str) -> None:
    bundle = submissions.add()
    path = submissions.keyring / name
    path.unlink(missing_ok=True)
    path.symlink_to(tmp_path / "nowhere")
    assert judge(bundle).status == "fail"
    assert judge(bundle).signer is None


def test_documents_of_trust_are_described() -> None:
    """Every property of the schemas of trust says what it is."""
    schemas = Path(engine.__file__).parents[1] / "rules" / "schemas"
    for name in ("review-1", "withdrawal-1", "waiver-1", "log-entry-1"):
        schema = json.loads((schemas / f"{name}.json").read_text())
        assert all(p.get("description") for p in schema["properties"].values()), name
