"""Who may review and waive, what a rejection does, and what no waiver lifts."""

import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions, copy_evidence, make_key
from support.bundles import rederive
from support.rounds.trust import (
    TrustRound,
    accept,
    delay_samples,
    list_rules,
    make_second_run,
    run_command,
)
from support.rounds.trust import a_round as a_round
from support.signatures import sign_content

from checker.engine import judge, judge_all
from checker.formats.json import render
from checker.selection import RoundView
from checker.trust.acceptance_log import read_log
from rules import VERSION
from rules.finding import Severity, format_count
from rules.registry import rules_by_id
from rules.rule import AuditRule, FormRule
from rules.testing import tampering as forge
from rules.testing.cases.throughput import no_known_result
from rules.testing.frames import EvidenceFrames

DOCS = Path(__file__).parents[3] / "docs"
WHY = "Half of the watts are missing.\n" + "See the second epoch. " * 40
TIES = [
    *("zoe@wattmark", "zoe@WattMark", "zoe@example", "zoe@Example.org"),
    *("Example@elsewhere.org", "zoe@mail.example.org", "zoe@example.mail.org"),
    *("zoe@wattmark.",),
]
"""Who has the domain of `example@wattmark`, a domain with a part called like the center `example`,
or the center's name."""


# Of which center somebody is.


@pytest.mark.parametrize("principal", TIES)
def test_review_by_a_name_of_the_own_center_does_not_count(
    submissions: Submissions, principal: str
) -> None:
    bundle = submissions.add()
    forge.add_review(bundle, principal)
    verdict = judge(bundle)
    assert (verdict.status, verdict.reviewers, list_rules(verdict)) == ("fail", (), {"I112"})


@pytest.mark.parametrize("principal", TIES)
def test_waiver_by_a_name_of_the_own_center_does_not_count(
    submissions: Submissions, principal: str
) -> None:
    bundle = submissions.add(delay_samples(copy_evidence()))
    forge.add_waiver(bundle, principal, rule="P104")
    assert {"P104", "I123"} <= {
        f.rule for f in judge(bundle).findings if f.severity == Severity.ERROR and not f.waived
    }


@pytest.mark.parametrize(
    "principal",
    ["zoe@wattmark.org", "zoe@org.example", "zoe@elsewhere.wattmark", "examples@elsewhere.org"],
)
def test_review_by_a_name_of_another_center_counts(
    submissions: Submissions, principal: str
) -> None:
    bundle = submissions.add()
    forge.add_review(bundle, principal)
    assert (judge(bundle).reviewers, list_rules(judge(bundle))) == ((principal,), set())


def test_nobody_is_asked_to_sign_what_the_own_center_may_not(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    for result in (
        a_round.review(bundle, principal="zoe@wattmark"),
        a_round.waive("P104", bundle, principal="zoe@wattmark"),
    ):
        assert (
            result.exit_code == 1 and f"zoe@wattmark has the domain of {PRINCIPAL}" in result.output
        )


@pytest.mark.parametrize(
    ("submitter", "reviewer", "is_tied"),
    [
        ("example@kit.edu", "zoe@mail.kit.edu", True),
        ("example@a.kit.edu", "zoe@b.kit.edu", True),
        ("example@kit.edu", "zoe@tum.edu", False),
        ("example@cs.oxford.ac.uk", "zoe@physics.oxford.ac.uk", True),
        ("example@cs.oxford.ac.uk", "zoe@cs.cambridge.ac.uk", False),
        ("example@lrz.de", "zoe@x.lrz.de", True),
    ],
)
def test_addresses_below_one_registered_domain_are_of_one_center(
    submissions: Submissions, tmp_path: Path, submitter: str, reviewer: str, is_tied: bool
) -> None:
    submissions.allow(make_key(tmp_path / "second"), submitter)
    bundle = submissions.add()
    forge.add_review(bundle, reviewer)
    assert (list_rules(judge(bundle)) == {"I112"}) == is_tied


def test_one_key_reviews_under_one_name(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    a_round.tree.allow(a_round.reviewer, "zoe@third.org", 'namespaces="review@wattmark"')
    assert a_round.review(bundle).exit_code == 0
    result = a_round.review(bundle, principal="zoe@third.org")
    assert result.exit_code == 1 and "I130" in result.output, result.output
    assert judge(bundle).reviewers == ("alice@elsewhere.org",)
    # The command refuses it, and so does the check of what somebody wrote by hand.
    record = bundle / "signatures" / "review.alice@elsewhere.org.json"
    second = json.loads(record.read_text()) | {"reviewer": "zoe@third.org"}
    content = json.dumps(second).encode()
    (bundle / "signatures" / "review.zoe@third.org.json").write_bytes(content)
    signed = sign_content(a_round.reviewer, content, "review@wattmark")
    (bundle / "signatures" / "review.zoe@third.org.sig").write_bytes(signed)
    verdict = judge(bundle)
    assert (verdict.reviewers, list_rules(verdict)) == (("alice@elsewhere.org",), {"I130"})


@pytest.mark.parametrize("statement", ["review", "withdraw"])
def test_nothing_is_written_through_a_linked_directory(
    a_round: TrustRound, tmp_path: Path, statement: str
) -> None:
    bundle = a_round.tree.add()
    target = Path(shutil.move(bundle / "signatures", tmp_path / "target"))
    (bundle / "signatures").symlink_to(target)
    before = sorted(target.iterdir())
    options = ("--verdict", "reject", "--comment", WHY) if statement == "review" else ()
    result = getattr(a_round, statement)(bundle, *options)
    assert (result.exit_code, sorted(target.iterdir())) == (1, before)
    assert "signatures: this is a symbolic link" in result.output


def test_no_waiver_is_written_through_a_linked_directory(
    a_round: TrustRound, tmp_path: Path
) -> None:
    bundle = a_round.tree.add(delay_samples(copy_evidence()))
    (tmp_path / "target").mkdir()
    (a_round.tree.root / "waivers").symlink_to(tmp_path / "target")
    result = a_round.waive("P104", bundle)
    assert result.exit_code == 1 and "waivers: this is a symbolic link" in result.output


# Reviews.


def reject(a_round: TrustRound, bundle: Path, *options: str) -> None:
    result = a_round.review(bundle, "--verdict", "reject", "--comment", WHY, *options)
    assert result.exit_code == 0, result.output


def test_rejection_says_why(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    for comment in ((), ("--comment", " "), ("--comment", "x" * 4001)):
        result = a_round.review(bundle, "--verdict", "reject", *comment)
        assert result.exit_code == 2 and "--comment" in result.output
    assert judge(bundle).reviews == ()
    reject(a_round, bundle)
    (finding,) = judge(bundle).findings
    assert (
        finding.rule == "I113"
        and finding.found == "alice@elsewhere.org rejects it"
        and WHY in finding.message
    )


def test_second_review_says_what_it_replaces(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    reject(a_round, bundle)
    result = a_round.review(bundle)
    assert result.exit_code == 1
    assert re.search(
        r"alice@elsewhere.org has reviewed it before \(reject, 20..-.*Z\); use --replace",
        result.output,
    )
    assert judge(bundle).rejecters == ("alice@elsewhere.org",)
    assert a_round.review(bundle, "--replace").exit_code == 0
    assert (judge(bundle).rejecters, judge(bundle).reviewers) == ((), ("alice@elsewhere.org",))


def test_first_line_of_a_verdict_names_who_rejects(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    reject(a_round, bundle)
    first, *details = run_command("verify", bundle).output.splitlines()
    assert first.endswith(f"signed by {PRINCIPAL}, rejected by alice@elsewhere.org")
    assert "See the second epoch." in details[0]


def test_comments_are_shown_whole(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    a_round.review(bundle, "--comment", "Fits the board.\n\x1b[31m")
    assert (
        "  alice@elsewhere.org (accept): Fits the board.\\n\\x1b[31m"
        in run_command("verify", bundle).output.splitlines()
    )
    (bundles,) = json.loads(render(RoundView((judge(bundle),))))["bundles"]
    assert bundles["reviews"] == [
        {
            "reviewer": "alice@elsewhere.org",
            "verdict": "accept",
            "comment": "Fits the board.\\n\\x1b[31m",
            "reviewed_at": judge(bundle).reviews[0].reviewed_at,
        }
    ]


def make_run_on_unknown_board() -> EvidenceFrames:
    """A run that passes, and that T124 keeps from winning."""
    evidence = make_second_run()
    no_known_result.rename_boards(evidence, "NVIDIA A16")
    rederive(evidence)
    return evidence


REASON = "The center showed us the meter."


@pytest.mark.parametrize("doubt", ["no review", "rejected", "may not win"])
def test_what_is_in_doubt_is_accepted_only_for_a_reason_that_the_log_keeps(
    a_round: TrustRound, doubt: str
) -> None:
    first = a_round.tree.add(run_id="first-bundle")
    a_round.review(first)
    bundle = a_round.tree.add(make_second_run(), run_id="second-bundle")
    says = "no other center has reviewed it"
    if doubt == "rejected":
        reject(a_round, bundle)
        says = "rejected by alice@elsewhere.org"
    if doubt == "may not win":
        shutil.rmtree(bundle)
        bundle = a_round.tree.add(make_run_on_unknown_board(), run_id="second-bundle")
        says = "no other center has reviewed it; it may not win: T124"
    result = run_command("accept", a_round.tree.root)
    assert result.exit_code == 1 and says in result.output, result.output
    assert "accepted: example/h200x2/first-bundle" in result.output
    assert "second-bundle: " in result.output and "add --despite BUNDLE REASON" in result.output
    assert list(read_log(a_round.tree.root).accepted) == ["example/h200x2/first-bundle"]
    assert run_command("accept", bundle, "--despite", bundle, " ").exit_code == 2
    result = run_command("accept", a_round.tree.root, "--despite", bundle, REASON)
    assert result.exit_code == 0 and f"second-bundle: despite: {says}" in result.output
    line = read_log(a_round.tree.root).accepted["example/h200x2/second-bundle"]
    assert (line.number, line.reason) == (2, REASON)
    assert read_log(a_round.tree.root).accepted["example/h200x2/first-bundle"].reason == ""
    assert run_command("accept", bundle).exit_code == 0, "what is accepted stays so"
    verdict = judge(bundle)
    assert verdict.accepted == VERSION
    assert bool(verdict.findings_that_bar_winning) == (doubt == "may not win")


def test_acceptance_under_an_older_rule_book_still_lifts_what_bars_winning(
    submissions: Submissions,
) -> None:
    evidence = make_run_on_unknown_board()
    evidence.result["rules_version"] = "1.10.0"
    bundle = submissions.add(evidence)
    assert {f.rule for f in judge(bundle).findings_that_bar_winning} == {"T124"}
    forge.write_log(bundle, {"rules_version": "1.10.0"})
    assert judge(bundle).accepted == "1.10.0"
    assert judge(bundle).findings_that_bar_winning == ()


def test_reason_for_a_bundle_elsewhere_is_refused(a_round: TrustRound, tmp_path: Path) -> None:
    bundle = a_round.tree.add()
    (tmp_path / "elsewhere").mkdir()
    result = run_command("accept", bundle, "--despite", tmp_path / "elsewhere", REASON)
    assert result.exit_code == 1 and "a reason is for a bundle" in result.output
    assert read_log(a_round.tree.root).lines == 0


def test_rejection_that_does_not_count_keeps_nobody_out(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    reject(a_round, bundle)
    (bundle / "signatures" / "review.alice@elsewhere.org.sig").unlink()
    assert judge(bundle).rejecters == ()


# Withdrawals and the LOG.


def test_withdrawal_is_told_with_who_and_when(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    a_round.withdraw(bundle)
    verdict = judge(bundle)
    assert (verdict.withdrawn_by, verdict.withdrawn_at[:2]) == ("chair@round.example", "20")
    expected = f"withdrawn by chair@round.example, {verdict.withdrawn_at}: The clocks were locked."
    assert expected in run_command("verify", bundle).output
    (bundles,) = json.loads(render(RoundView((verdict,))))["bundles"]
    assert [bundles[key] for key in ("withdrawn_by", "withdrawn_at")] == [
        verdict.withdrawn_by,
        verdict.withdrawn_at,
    ]


def test_what_was_withdrawn_before_refuses_nothing(a_round: TrustRound) -> None:
    withdrawn = a_round.tree.add(run_id="withdrawn-bundle")
    a_round.tree.add(make_second_run(), run_id="good-bundle")
    a_round.withdraw(withdrawn)
    for last in (
        "1 written to the LOG, 0 refused, 1 left out",
        "0 written to the LOG, 0 refused, 1 left out, 1 already in the LOG",
    ):
        result = accept(a_round.tree.root)
        assert result.exit_code == 0, result.output
        assert (
            "left out: example/h200x2/withdrawn-bundle: it was withdrawn before it was accepted"
            in result.output
        )
        assert result.output.splitlines()[-1] == last


# Waivers.


def list_never_waivable() -> list[str]:
    return [
        rule.id
        for rule in rules_by_id().values()
        if not rule.waivable and not isinstance(rule, FormRule | AuditRule)
    ]


def test_false_statements_cannot_be_waived(submissions: Submissions) -> None:
    evidence = copy_evidence()
    evidence.result["headline"]["joules_per_item"]["mean"] *= 0.9
    bundle = submissions.add(evidence)
    forge.add_waiver(bundle, rule="T102")
    verdicts = judge_all([submissions.root]).verdicts
    assert {v.standing: list_rules(v) & {"T102", "I121"} for v in verdicts} == {
        "closed": {"T102"},
        "waiver": {"I121"},
    }
    assert not any(f.waived for v in verdicts for f in v.findings)


def test_rules_that_are_never_waived_are_those_of_the_docs(a_round: TrustRound) -> None:
    bundle = a_round.tree.add()
    (line,) = re.findall(
        r"stated value to be wrong: (.*?)\.", (DOCS / "trust.md").read_text().replace("\n", " ")
    )
    assert re.findall(r"[A-Z]\d{3}", line) == list_never_waivable()
    for rule in ("F101", *list_never_waivable()):
        result = a_round.waive(rule, bundle)
        assert result.exit_code == 2 and "it cannot be waived" in result.output
    assert not (a_round.tree.root / "waivers").exists()


@pytest.mark.parametrize(("rule", "bundles"), [("P104", 2), ("X101", 0)])
def test_waive_counts_what_it_lifts(a_round: TrustRound, rule: str, bundles: int) -> None:
    ids = [f"20260101T000000Z-run-{number}" for number in range(2)]
    late = [a_round.tree.add(delay_samples(copy_evidence()), run_id) for run_id in ids]
    result = a_round.waive(rule, late[0].parent)
    findings = [f.rule for path in late for f in judge(path).findings].count(rule)
    assert findings >= bundles
    lifted = f"it waives {format_count(findings, 'finding')} of {bundles} bundles now"
    assert lifted in result.output


def test_waive_for_a_directory_tells_of_what_comes_later(a_round: TrustRound) -> None:
    system = a_round.tree.add(delay_samples(copy_evidence())).parent
    assert (
        "without --expires the waiver also covers every bundle that is added to"
        in a_round.waive("P104", system).output
    )
    assert (
        "is added to"
        not in a_round.waive("P103", system, options=("--expires", "2999-01-01")).output
    )


# The list of revoked keys.
