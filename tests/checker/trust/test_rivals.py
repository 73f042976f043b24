"""What a rival cannot do to an honest center: copy its run first, or hand in what it discarded."""

import hashlib
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions, copy_evidence, make_key
from support.rounds.trust import TrustRound, accept, list_errors, list_rules, run_command
from support.rounds.trust import a_round as a_round

from checker.engine import judge_all
from checker.trust.commitments import read_commitments
from checker.trust.keyring import read_keyring
from checker.trust.signature import sign_content
from checker.verdict import Verdict
from rules.testing import tampering as forge
from rules.testing.cases.integrity.not_handed_in import remove_requests

RIVAL = "rival@lab.example"


@dataclass(frozen=True)
class CopiedRound:
    """A round with an honest run, which is still outside, and a copy of it by a rival."""

    trust: TrustRound
    outside: Path
    """The honest bundle, as its center has it."""
    honest: Path
    """Where it is handed in."""
    copy: Path

    @property
    def root(self) -> Path:
        return self.trust.tree.root

    def commit(self) -> None:
        """The honest center publishes the hash, as its pull request does."""
        shutil.copytree(self.outside, self.honest)
        signed = ("--key", self.trust.tree.key, "--principal", PRINCIPAL)
        result = run_command("commit", self.honest, *signed)
        assert result.exit_code == 0, result.output
        shutil.rmtree(self.honest)

    def hand_in(self) -> dict[Path, Verdict]:
        """The verdicts after the honest bundle is merged."""
        shutil.copytree(self.outside, self.honest)
        return self.judge()

    def judge(self) -> dict[Path, Verdict]:
        return {verdict.path: verdict for verdict in judge_all([self.root]).verdicts}


@pytest.fixture
def copied(a_round: TrustRound, tmp_path: Path) -> CopiedRound:
    honest = a_round.tree.add(run_id="the-original")
    outside = Path(shutil.move(honest, tmp_path / "outside"))
    rival = replace(a_round.tree, key=make_key(tmp_path / "rival"))
    rival.allow(rival.key, RIVAL)
    copy = Submissions(a_round.tree.root, rival.key).add(run_id="the-copy", principal=RIVAL)
    return CopiedRound(a_round, outside, honest, copy)


def read_events(root: Path) -> list[str]:
    return [json.loads(line)["event"] for line in (root / "LOG").read_text().splitlines()]


def test_commitment_comes_before_a_copy_that_was_merged_and_accepted_first(
    copied: CopiedRound,
) -> None:
    copied.commit()
    # The copy is accepted in the same command, and its line follows that of the commitment.
    assert accept(copied.root).exit_code == 0
    assert read_events(copied.root) == ["committed", "accepted"]
    verdicts = copied.hand_in()
    honest = verdicts[copied.honest]
    assert (honest.status, honest.findings_that_bar_winning) == ("pass", ())
    # The copy was accepted, so it fails as soon as the honest run is accepted too.
    assert "X102" in list_rules(verdicts[copied.copy])
    assert accept(copied.honest).exit_code == 0
    assert list_errors(copied.judge()[copied.copy]) >= {"X102", "X103"}
    assert copied.judge()[copied.honest].status == "pass"


def test_copy_of_a_committed_run_fails_before_anybody_accepts_it(copied: CopiedRound) -> None:
    copied.commit()
    shutil.move(copied.copy, copied.root.parent / "later")
    result = accept(copied.root)
    assert result.exit_code == 0, result.output
    shutil.move(copied.root.parent / "later", copied.copy)
    verdicts = copied.hand_in()
    assert verdicts[copied.honest].status == "pass"
    assert list_errors(verdicts[copied.copy]) >= {"X102", "X103"}


def test_without_a_commitment_both_are_marked_and_a_person_decides(copied: CopiedRound) -> None:
    verdicts = copied.hand_in()
    for path in (copied.honest, copied.copy):
        assert verdicts[path].status == "pass"
        assert {f.rule for f in verdicts[path].findings_that_bar_winning} >= {"X102", "X103"}
        # A review decides nothing: a second key of the rival could sign one.
        forge.add_review(path)
    for path in (copied.honest, copied.copy):
        assert copied.judge()[path].findings_that_bar_winning, copied.judge()[path].findings
    result = run_command("accept", copied.root)
    assert result.exit_code == 1 and result.stdout.count("it may not win: X10") == 2
    # Who runs the round sees that the copy is one, and withdraws it.
    assert copied.trust.withdraw(copied.copy).exit_code == 0
    assert list_rules(copied.judge()[copied.honest]) == set()


def test_accepting_one_of_two_decides_too(copied: CopiedRound) -> None:
    copied.hand_in()
    despite = ("--despite", copied.honest, "Its center showed us the job.")
    assert run_command("accept", copied.honest, *despite).exit_code == 0
    verdicts = copied.judge()
    assert list_rules(verdicts[copied.honest]) == set()
    assert list_errors(verdicts[copied.copy]) >= {"X102", "X103"}


def test_run_that_its_own_center_withdrew_cannot_be_handed_in_by_a_rival(
    copied: CopiedRound,
) -> None:
    copied.hand_in()
    forge.add_withdrawal(copied.honest, PRINCIPAL, "submission@wattmark,withdrawal@wattmark")
    barring = copied.judge()[copied.copy].findings_that_bar_winning
    assert {f.rule for f in barring} >= {"X102", "X103"}


def test_hash_of_another_center_is_no_commitment(copied: CopiedRound, tmp_path: Path) -> None:
    """A rival sees the hash of an honest run in a pull request, and commits to it first."""
    digest = hashlib.sha256((copied.outside / "MANIFEST.json").read_bytes()).hexdigest()
    record = {
        "format": "wattmark-commitment/1",
        "manifest_sha256": digest,
        "committed_by": RIVAL,
        "committed_at": "2026-02-01T00:00:00Z",
    }
    document = copied.root / "commitments" / f"rival-{digest}.json"
    document.parent.mkdir()
    document.write_text(json.dumps(record))
    signed = sign_content(document.read_bytes(), tmp_path / "rival", "submission@wattmark")
    document.with_name(f"{document.name}.sig").write_bytes(signed)
    assert accept(copied.root).exit_code == 0
    assert read_events(copied.root) == ["committed", "accepted"]
    # The line is the rival's, and protects no bundle of the rival: none has this hash.
    verdicts = copied.hand_in()
    assert list_errors(verdicts[copied.honest]) >= {"X102"}
    copied.trust.withdraw(copied.copy)
    assert list_rules(copied.judge()[copied.honest]) == set()


def test_documents_that_are_no_commitments_are_reported_in_order(submissions: Submissions) -> None:
    names = [f"commitments/{letter}.json" for letter in "abcdefgh"]
    (submissions.root / "commitments").mkdir()
    for name in names:
        (submissions.root / name).write_text("{}")
    assert [file for file, _ in read_commitments(read_keyring(submissions.keyring))[1]] == names


def test_command_commits_only_to_bundles_of_the_own_center(copied: CopiedRound) -> None:
    result = run_command(
        "commit", copied.copy, "--key", copied.trust.tree.key, "--principal", PRINCIPAL
    )
    assert result.exit_code == 1
    assert f"it is a bundle of rival, and {PRINCIPAL} is of another center" in result.output


def test_bundle_is_signed_before_its_center_commits_to_it(copied: CopiedRound) -> None:
    shutil.copytree(copied.outside, copied.honest)
    shutil.rmtree(copied.honest / "signatures")
    signed = ("--key", copied.trust.tree.key, "--principal", PRINCIPAL)
    result = run_command("commit", copied.honest, *signed)
    assert result.exit_code == 1 and "sign it first" in result.output


@pytest.mark.parametrize("accepted", [False, True])
def test_run_that_its_center_does_not_hand_in_never_wins(
    a_round: TrustRound, accepted: bool
) -> None:
    bundle = a_round.tree.add()
    remove_requests(bundle)
    forge.add_request(bundle, "stranger@elsewhere.example")
    if accepted:
        forge.add_review(bundle)
        assert accept(bundle).exit_code == 0
    (verdict,) = judge_all([bundle]).verdicts
    (finding,) = verdict.findings_that_bar_winning
    assert (verdict.status, finding.rule) == ("pass", "I132")
    assert finding.found == "handed in by stranger@elsewhere.example, 2026-02-01"
    assert verdict.handed_in_by == ("stranger@elsewhere.example",)


def test_request_is_for_one_round(a_round: TrustRound) -> None:
    largest = 'title = "Spring"\n'.ljust(2**20, "#")
    (a_round.tree.root / "round.toml").write_text(largest)
    bundle = a_round.tree.add()
    assert list_rules(judge_all([bundle]).verdicts[0]) == set()
    (a_round.tree.root / "round.toml").write_text('title = "Autumn"\n')
    (finding,) = judge_all([bundle]).verdicts[0].findings
    assert finding.found == "handed in to the round “Spring”"
    assert finding.expected == "a request of example to the round “Autumn”"
    signed = ("--key", a_round.tree.key, "--principal", PRINCIPAL)
    assert run_command("request", bundle, *signed).exit_code == 0
    assert list_rules(judge_all([bundle]).verdicts[0]) == set()


def test_bundle_of_an_older_rule_book_needs_no_request(submissions: Submissions) -> None:
    evidence = copy_evidence()
    evidence.result["rules_version"] = "1.11.0"
    bundle = submissions.add(evidence)
    remove_requests(bundle)
    assert "I132" not in list_rules(judge_all([bundle]).verdicts[0])
