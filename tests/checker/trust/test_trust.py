"""Who stands behind a bundle: keys in time and out of it, reviews, withdrawals and waivers."""

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions, copy_evidence
from support.bundles import make_other_run, rederive
from support.rounds.trust import add_option, delay_samples, list_errors, list_rules, make_second_run

from checker.engine import judge, judge_all
from checker.trust import waivers
from checker.verdict import Verdict
from harness.sign import sign
from reporting.collect import collect
from rules import VERSION
from rules.finding import Severity
from rules.registry import rules_by_id
from rules.testing import tampering as forge


def get_only_verdict(root: Path) -> Verdict:
    """The verdict on the one bundle below `root`; nothing is wrong beside it."""
    (verdict,) = judge_all([root]).verdicts
    return verdict


# Keys, in time and out of it.


def test_key_that_expired_after_acceptance_counts(submissions: Submissions) -> None:
    bundle = submissions.add()
    add_option(submissions, 'valid-before="20260301"')
    assert list_rules(judge(bundle)) == {"I109"}
    forge.write_log(bundle, {"at": "2026-02-01T00:00:00Z"})
    verdict = judge(bundle)
    assert (list_rules(verdict), verdict.signer, verdict.accepted) == (set(), PRINCIPAL, VERSION)
    forge.write_log(bundle, {"at": "2026-04-01T00:00:00Z"})
    assert list_rules(judge(bundle)) == {"I109"}


def test_acceptance_of_another_bundle_saves_no_expired_key(submissions: Submissions) -> None:
    bundle = submissions.add()
    add_option(submissions, 'valid-before="20260301"')
    forge.write_log(bundle, {"manifest_sha256": "0" * 64})
    assert list_rules(judge(bundle)) == {"I109", "I119"}


def test_dates_of_the_keyring_are_utc(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a time zone 14 hours ahead, the end of a key's validity would have passed long ago."""
    bundle = submissions.add()
    soon = datetime.now(UTC) + timedelta(hours=6)
    add_option(submissions, f'valid-before="{soon:%Y%m%d%H%M}"')
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    assert judge(bundle).status == "pass"


def test_expired_reviewer_counts_where_the_bundle_was_accepted_in_time(
    submissions: Submissions,
) -> None:
    bundle = submissions.add()
    forge.add_review(bundle)
    assert judge(bundle).reviewers == (forge.REVIEWER,)
    add_option(submissions, 'valid-before="20260301"', forge.REVIEWER)
    verdict = judge(bundle)
    assert (list_rules(verdict), verdict.reviewers) == ({"I109"}, ())
    forge.write_log(bundle, {"at": "2026-02-01T00:00:00Z"})
    assert judge(bundle).reviewers == (forge.REVIEWER,)


CHAIR = "chair@round.example"


def _revoke(submissions: Submissions, principal: str) -> None:
    signers = submissions.root / "keyring" / "allowed_signers"
    (line,) = (line for line in signers.read_text().splitlines() if line.startswith(principal))
    key = " ".join(line.split()[-2:])
    (submissions.root / "keyring" / "revoked_signers").write_text(f"{key}\n")


def _remove_line(submissions: Submissions, principal: str) -> None:
    signers = submissions.root / "keyring" / "allowed_signers"
    lines = [line for line in signers.read_text().splitlines() if not line.startswith(principal)]
    signers.write_text("\n".join(lines) + "\n")


def _expire(submissions: Submissions, principal: str) -> None:
    add_option(submissions, 'valid-before="20260101"', principal)


@pytest.mark.parametrize(
    ("rule", "lose"), [("I107", _remove_line), ("I108", _revoke), ("I109", _expire)]
)
@pytest.mark.parametrize("is_accepted", [False, True])
@pytest.mark.parametrize("verdict", ["accept", "reject"])
def test_statement_of_a_center_whose_key_no_longer_counts_is_set_aside(
    submissions: Submissions,
    rule: str,
    lose: Callable[[Submissions, str], None],
    is_accepted: bool,
    verdict: str,
) -> None:
    bundle = submissions.add()
    forge.add_review(bundle, verdict=verdict, comment="half")
    if is_accepted:
        forge.write_log(bundle, {"at": "2026-02-01T00:00:00Z"})
    lose(submissions, forge.REVIEWER)
    judged = judge_all([submissions.root]).verdicts
    assert [(v.status, v.reviewers, v.rejecters) for v in judged] == [("pass", (), ())]
    assert [(f.rule, f.severity) for f in judged[0].findings] == [(rule, Severity.NOTE)]
    assert "does not count" in judged[0].findings[0].message


@pytest.mark.parametrize("lose", [_remove_line, _revoke, _expire])
def test_withdrawal_in_the_log_outlasts_the_key_of_who_withdrew(
    submissions: Submissions, lose: Callable[[Submissions, str], None]
) -> None:
    bundle = submissions.add()
    forge.add_withdrawal(bundle, CHAIR, "withdrawal@wattmark")
    assert judge(bundle).status == "withdrawn"
    lose(submissions, CHAIR)
    assert (judge(bundle).status, judge(bundle).withdrawn) == ("pass", "")
    forge.write_log(bundle, {}, {"event": "withdrawn"})
    judged = judge(bundle)
    assert judged.status == "withdrawn" and judged.withdrawn == "The clocks were locked."
    assert {f.severity for f in judged.findings} == {Severity.NOTE}


def test_own_signature_of_a_center_is_never_set_aside(submissions: Submissions) -> None:
    bundle = submissions.add()
    forge.add_review(bundle)
    _revoke(submissions, PRINCIPAL)
    assert (judge(bundle).status, list_rules(judge(bundle))) == ("fail", {"I108"})


def test_rotation(submissions: Submissions, tmp_path: Path) -> None:
    """The old line ends where the new one begins; what was signed in time and accepted stands
    beside what is new."""
    old_bundle = submissions.add(run_id="old-bundle")
    add_option(submissions, 'valid-before="20260301"')
    new_key = tmp_path / "new"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-C", "", "-f", new_key], check=True
    )
    submissions.allow(new_key, options='valid-after="20260301",namespaces="submission@wattmark"')
    forge.write_log(old_bundle, {})
    new_bundle = submissions.add(run_id="new-bundle")
    sign(new_bundle, new_key, PRINCIPAL)
    assert [judge(bundle).signer for bundle in (old_bundle, new_bundle)] == [PRINCIPAL, PRINCIPAL]


# Reviews and withdrawals.


def test_rejecting_review_is_a_warning_and_no_reviewer(submissions: Submissions) -> None:
    bundle = submissions.add()
    forge.add_review(bundle, verdict="reject", comment="half")
    forge.add_review(bundle, "second@elsewhere.example")
    verdict = judge(bundle)
    assert (verdict.status, verdict.reviewers) == ("pass", ("second@elsewhere.example",))
    assert [(f.rule, f.severity) for f in verdict.findings] == [("I113", Severity.WARNING)]


@pytest.mark.parametrize(
    "content",
    ['{"format": 1, "format": 2}', "{", "[]", '{"format": "wattmark-review/2"}', "\ufeff{}"],
)
def test_review_that_is_no_document_is_a_finding(submissions: Submissions, content: str) -> None:
    bundle = submissions.add()
    forge.add_review(bundle).write_text(content)
    verdict = judge(bundle)
    (rule,) = list_rules(verdict)
    assert rule in {"S104", "S105", "S106", "S107"}
    assert verdict.findings[0].file == f"signatures/review.{forge.REVIEWER}.json"
    assert (verdict.reviewers, verdict.status) == ((), "fail")


def test_review_of_any_size_is_refused(submissions: Submissions) -> None:
    bundle = submissions.add()
    forge.add_review(bundle).write_bytes(b" " * 100_000)
    assert "S103" in list_rules(judge(bundle))


def test_linked_review_is_not_followed(submissions: Submissions, tmp_path: Path) -> None:
    bundle = submissions.add()
    review = forge.add_review(bundle)
    review.rename(tmp_path / "elsewhere")
    review.symlink_to(tmp_path / "elsewhere")
    assert list_rules(judge(bundle)) == {"S102", "I114"}


@pytest.mark.parametrize("principal", [forge.CHAIR, "example@other.org"])
def test_withdrawn_bundle_is_seen_and_not_compared(
    submissions: Submissions, principal: str
) -> None:
    """By somebody who submits nothing, or by the center itself."""
    bundle, other_bundle = (
        submissions.add(run_id="first-bundle"),
        submissions.add(make_second_run(), run_id="second-bundle"),
    )
    namespaces = (
        "submission@wattmark,withdrawal@wattmark"
        if principal != forge.CHAIR
        else "withdrawal@wattmark"
    )
    forge.add_withdrawal(bundle, principal, namespaces)
    verdicts = {v.path: v for v in judge_all([submissions.root]).verdicts}
    assert (verdicts[bundle].status, verdicts[bundle].withdrawn) == (
        "withdrawn",
        "The clocks were locked.",
    )
    assert verdicts[other_bundle].status == "pass"
    content = collect([submissions.root])
    assert [v.path for v in content.withdrawn] == [bundle]
    assert [row.provenance.run.path for row in content.rows if row.provenance] == [other_bundle]
    assert content.rejected == []


def test_withdrawal_that_does_not_count_withdraws_nothing(submissions: Submissions) -> None:
    bundle = submissions.add()
    forge.add_withdrawal(bundle, "elsewhere@wattmark", "submission@wattmark,withdrawal@wattmark")
    assert (judge(bundle).status, judge(bundle).withdrawn) == ("fail", "")


def test_withdrawal_fits_what_the_log_says(submissions: Submissions) -> None:
    bundle = submissions.add()
    forge.write_log(bundle, {}, {"event": "withdrawn"})
    withdrawal = forge.add_withdrawal(bundle)
    assert judge(bundle).status == "withdrawn"
    assert list_rules(judge(bundle)) == set()
    withdrawal.unlink()
    withdrawal.with_suffix(".sig").unlink()
    assert list_rules(judge(bundle)) == {"I120"}


@pytest.mark.parametrize("rule", ["X102", "X103", "X108"])
def test_twin_of_what_was_withdrawn_is_refused(submissions: Submissions, rule: str) -> None:
    """Its readings, its batches, or its accelerators at the same time; the withdrawn one is spoken
    of by nobody."""
    first, second = copy_evidence(), make_other_run(copy_evidence())
    if rule == "X102":
        for column in ("power_mw", "power_avg_mw"):
            second.samples[column] = first.samples[column]
    elif rule == "X103":
        second.batches = first.batches.copy()
    else:
        second.result |= {name: first.result[name] for name in ("started_at", "ended_at")}
    rederive(second)
    bundle, twin = (
        submissions.add(first, run_id="first-bundle"),
        submissions.add(second, run_id="second-bundle"),
    )
    forge.add_withdrawal(bundle)
    verdicts = {v.path: v for v in judge_all([submissions.root]).verdicts}
    assert (verdicts[bundle].status, {f.rule for f in verdicts[bundle].findings}) == (
        "withdrawn",
        set(),
    )
    assert verdicts[twin].status == "fail"
    assert list_errors(verdicts[twin]) == {rule}


def test_withdrawal_lifts_errors_of_the_evidence_alone(submissions: Submissions) -> None:
    bundle = submissions.add(delay_samples(copy_evidence()))
    forge.add_withdrawal(bundle)
    verdict = judge(bundle)
    assert (verdict.status, "P104" in list_rules(verdict)) == ("withdrawn", True)
    (bundle / "extra").write_text("")
    verdict = judge(bundle)
    assert (verdict.status, [f.rule for f in verdict.findings if verdict.fails_by(f)]) == (
        "fail",
        ["I102"],
    )
    content = collect([submissions.root])
    assert ([v.path for v in content.rejected], content.withdrawn, content.rows) == (
        [bundle],
        [],
        [],
    )


# Waivers.


@pytest.mark.parametrize(
    ("principal", "also"), [("EXAMPLE@other.org", ""), (forge.CHAIR, "example@other.org")]
)
def test_center_waives_nothing_for_itself(
    submissions: Submissions, principal: str, also: str
) -> None:
    """In other letters, or under another name with a key of its own."""
    bundle = submissions.add(delay_samples(copy_evidence()))
    forge.add_waiver(bundle, principal, also, rule="P104")
    verdict = judge(bundle)
    assert (verdict.status, list_errors(verdict)) == ("fail", {"P104", "I123"})
    assert not any(f.waived for f in verdict.findings)


def test_waived_error_is_shown_and_fails_nothing(submissions: Submissions) -> None:
    bundle = submissions.add(delay_samples(copy_evidence()))
    failing = judge(bundle)
    assert failing.status == "fail"
    rules = {f.rule for f in failing.findings if f.severity == Severity.ERROR}
    assert rules == {"P104"}
    forge.add_waiver(bundle, rule="P104")
    verdict = get_only_verdict(submissions.root)
    assert (verdict.status, list_rules(verdict)) == ("pass", list_rules(failing))
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
def test_scope_of_a_waiver(
    submissions: Submissions, scope: dict[str, object], waives: bool
) -> None:
    bundle = submissions.add(delay_samples(copy_evidence()))
    manifest_hash = forge.hash_manifest(bundle)
    manifests = (
        {"manifests": [manifest_hash if m == "MINE" else m for m in scope["manifests"]]}
        if "manifests" in scope
        else scope
    )
    forge.add_waiver(bundle, rule="P104", **manifests)
    assert (get_only_verdict(submissions.root).status == "pass") == waives


def test_waiver_on_a_rule_across_bundles(submissions: Submissions) -> None:
    """Two bundles of which the rules across bundles speak: a waiver marks what they say too."""
    evidence = copy_evidence()
    paths = [submissions.add(evidence, run_id=f"the-same-{n}") for n in (1, 2)]
    before = {
        f.rule
        for v in judge_all([submissions.root]).verdicts
        for f in v.findings
        if f.rule.startswith("X")
    }
    rule = min(rule for rule in before if rules_by_id()[rule].waivable)
    forge.add_waiver(paths[0], rule=rule)
    after = [
        f for v in judge_all([submissions.root]).verdicts for f in v.findings if f.rule == rule
    ]
    assert {f.waived for f in after} == {"waivers/of-the-case.json"}


@pytest.mark.parametrize("rule", ["S101", "I106", "s101", "W1", ""])
def test_rules_on_form_and_integrity_cannot_be_waived(submissions: Submissions, rule: str) -> None:
    bundle = submissions.add()
    forge.add_waiver(bundle, rule=rule)
    verdicts = judge_all([submissions.root]).verdicts
    assert [(v.standing, v.status, list_rules(v)) for v in verdicts if v.path != bundle] == [
        ("waiver", "fail", {"S107"})
    ]


@pytest.mark.parametrize("namespaces", ["submission@wattmark", "waiver@wattmark"])
def test_waiver_without_a_good_signature_waives_nothing(
    submissions: Submissions, namespaces: str
) -> None:
    """By a key for another role, or altered after it was signed."""
    bundle = submissions.add(delay_samples(copy_evidence()))
    waiver = forge.add_waiver(bundle, rule="P104", namespaces=namespaces)
    assert judge(bundle).status == ("pass" if namespaces == "waiver@wattmark" else "fail")
    waiver.write_text(waiver.read_text() + "\n")
    assert judge(bundle).status == "fail"


def test_waiver_that_expired_after_acceptance_counts(submissions: Submissions) -> None:
    bundle = submissions.add(delay_samples(copy_evidence()))
    forge.add_waiver(bundle, rule="P104", expires_at="2026-03-01T00:00:00Z")
    assert judge(bundle).status == "fail"
    forge.write_log(bundle, {"at": "2026-02-28T23:59:59Z"})
    assert judge(bundle).status == "pass"
    forge.write_log(bundle, {"at": "2026-03-01T00:00:00Z"})
    assert judge(bundle).status == "fail"


def test_linked_directory_of_waivers_is_not_followed(
    submissions: Submissions, tmp_path: Path
) -> None:
    bundle = submissions.add(delay_samples(copy_evidence()))
    forge.add_waiver(bundle, rule="P104")
    assert judge(bundle).status == "pass"
    (submissions.root / "waivers").rename(tmp_path / "elsewhere")
    (submissions.root / "waivers").symlink_to(tmp_path / "elsewhere")
    assert judge(bundle).status == "fail"
    assert "I121" in {f.rule for v in judge_all([submissions.root]).verdicts for f in v.findings}


def test_signature_of_a_waiver_is_verified_once(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = submissions.add()
    forge.add_waiver(bundle, rule="P104")
    arguments = []
    original = waivers.verify_signature
    monkeypatch.setattr(waivers, "verify_signature", lambda *a: arguments.append(a) or original(*a))
    for _ in range(3):
        judge(bundle)
    assert len(arguments) == 1


def test_documents_of_trust_are_described() -> None:
    """Every property of the schemas of trust says what it is."""
    schemas = Path(__file__).parents[3] / "rules" / "bundle_format" / "schemas"
    for name in ("review-1", "withdrawal-1", "waiver-1", "log-entry-1"):
        schema = json.loads((schemas / f"{name}.json").read_text())
        assert all(p.get("description") for p in schema["properties"].values()), name
