"""Reproductions in a round: which of them count, and how they raise the trust level of the
original."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result
from conftest import Submissions, copy_evidence, make_key
from support.bundles import make_other_run, rederive
from support.rounds.trust import list_errors, list_rules

from checker.cli import check
from checker.engine import judge_all
from checker.verdict import TrustLevel, Verdict
from rules.testing import tampering as forge
from rules.testing.cases.across.seed_reused import share_input
from rules.testing.cases.throughput.beyond_the_usual import scale_items
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import slow_down, use_other_boards

SCHEMAS = Path(__file__).parents[2] / "rules" / "bundle_format" / "schemas"
COMMITTED = Path(__file__).parents[2] / "submissions"
REPRODUCER = "other@lab.example.org"


@dataclass(frozen=True)
class ReproducedRound:
    """A round with an original, and the key of another center."""

    tree: Submissions
    original: Path
    key: Path

    def make_evidence(self, **settings: Any) -> EvidenceFrames:
        """The evidence of a good reproduction on other boards."""
        evidence = make_other_run(copy_evidence())
        use_other_boards(evidence)
        evidence.result["settings"].update({"seed": 1, **settings})
        share_input(evidence, copy_evidence())
        evidence.result["reproduces"] = forge.describe_original(self.original)
        rederive(evidence)
        return evidence

    def add(self, evidence: EvidenceFrames, principal: str = REPRODUCER) -> Path:
        """Sign the evidence as a bundle of the other center. A third center has issued its seed
        for the original."""
        if not (self.original / "signatures" / f"challenge.{forge.CHALLENGER}.json").exists():
            forge.add_challenge(self.original, evidence.result["settings"]["seed"])
        tree = Submissions(self.tree.root, self.tree.key if "wattmark" in principal else self.key)
        return tree.add(evidence, "20260102T000000Z-reproduction", principal=principal)

    def judge(self) -> dict[Path, Verdict]:
        return {verdict.path: verdict for verdict in judge_all([self.tree.root]).verdicts}


@pytest.fixture
def reproduced(submissions: Submissions, tmp_path: Path) -> Iterator[ReproducedRound]:
    key = make_key(tmp_path / "other")
    submissions.allow(key, REPRODUCER)
    yield ReproducedRound(submissions, submissions.add(), key)


@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        ({"seed": 2}, "seed 1"),
        ({"seed": 1, "principal": "other@fourth.example"}, "seed 1"),
        ({"seed": 1, "issued_at": "2026-03-01T00:00:00Z"}, "seed 1"),
    ],
    ids=["another seed", "by the center that reproduces", "after the run"],
)
def test_reproduction_without_a_challenge_of_a_third_center_does_not_count(
    reproduced: ReproducedRound, challenge: dict[str, Any], reason: str
) -> None:
    forge.add_challenge(reproduced.original, **challenge)
    forge.write_log(reproduced.original, {})
    evidence = reproduced.make_evidence()
    evidence.result["run_id"] = "reproduction"
    tree = Submissions(reproduced.tree.root, reproduced.key)
    path = tree.add(evidence, principal=REPRODUCER)
    verdicts = reproduced.judge()
    (finding,) = (f for f in verdicts[path].findings if f.rule == "X120")
    assert finding.found == reason
    assert verdicts[reproduced.original].reproducers == ()
    # Originals that were accepted before there were challenges need none.
    forge.write_log(reproduced.original, {"rules_version": "1.11.0"})
    evidence = reproduced.original / "result.json"
    assert reproduced.judge()[path] is not None


def test_challenge_of_the_own_center_is_refused(reproduced: ReproducedRound) -> None:
    forge.add_challenge(reproduced.original, 1, "second@wattmark")
    assert "I112" in list_rules(reproduced.judge()[reproduced.original])


def test_reproduction_by_a_center_with_the_same_boards_says_so(
    reproduced: ReproducedRound,
) -> None:
    path = reproduced.add(reproduced.make_evidence())
    third = make_other_run(copy_evidence(), 3)
    rederive(third)
    Submissions(reproduced.tree.root, reproduced.key).add(third, "the-third", principal=REPRODUCER)
    verdicts = reproduced.judge()
    (entry,) = verdicts[reproduced.original].reproductions
    boards = [a["uuid"] for a in copy_evidence().system["nodes"][0]["accelerators"]]
    assert entry.path == path
    assert entry.shared == (f"the board {min(boards)} and {len(boards) - 1} more",)
    text = check_tree(reproduced.tree).stdout
    assert f"({REPRODUCER}, a site that shares the board {min(boards)}" in text


def test_good_reproduction_by_another_center_reproduces_the_original(
    reproduced: ReproducedRound,
) -> None:
    path = reproduced.add(reproduced.make_evidence())
    verdicts = reproduced.judge()
    original, reproduction = verdicts[reproduced.original], verdicts[path]
    assert original.findings == reproduction.findings == ()
    (entry,) = original.reproductions
    assert entry == reproduction.reproduces
    assert (entry.path, entry.principal, entry.agrees) == (path, REPRODUCER, True)
    assert 0 < entry.items_per_s_percent < 1
    assert original.reproducers == ("other",)
    assert reproduction.reproductions == ()


def test_trust_level_grows_with_the_log_and_the_reproduction(reproduced: ReproducedRound) -> None:
    assert reproduced.judge()[reproduced.original].trust_level == TrustLevel.SUBMITTED
    path = reproduced.add(reproduced.make_evidence())
    assert reproduced.judge()[reproduced.original].trust_level == TrustLevel.SUBMITTED
    forge.write_log(reproduced.original, {})
    verdicts = reproduced.judge()
    assert verdicts[reproduced.original].trust_level == TrustLevel.REPRODUCED
    assert verdicts[path].trust_level == TrustLevel.SUBMITTED


def test_reproduction_that_is_slower_fails_on_both(reproduced: ReproducedRound) -> None:
    evidence = reproduced.make_evidence()
    slow_down(evidence, 0.92)
    rederive(evidence)
    path = reproduced.add(evidence)
    verdicts = reproduced.judge()
    for bundle in (reproduced.original, path):
        assert "X119" in list_rules(verdicts[bundle])
        assert verdicts[bundle].status == "pass"
    (entry,) = verdicts[reproduced.original].reproductions
    assert not entry.agrees
    assert verdicts[reproduced.original].reproducers == ()


def test_reproduction_with_other_options_is_an_error(reproduced: ReproducedRound) -> None:
    evidence = reproduced.make_evidence(options={"checkpointing": "block"})
    path = reproduced.add(evidence)
    verdicts = reproduced.judge()
    assert list_errors(verdicts[path]) == {"X118"}
    (finding,) = verdicts[path].findings
    assert (finding.found, finding.expected.partition(",")[0]) == (
        "options checkpointing, block",
        "none",
    )
    assert verdicts[reproduced.original].reproductions == ()
    assert verdicts[path].reproduces is None


def test_reproduction_with_a_seed_of_the_reviewer_counts(reproduced: ReproducedRound) -> None:
    reproduced.add(reproduced.make_evidence(seed=20261122))
    assert reproduced.judge()[reproduced.original].reproducers == ("other",)


def test_reproduction_by_the_same_submitter_does_not_count(reproduced: ReproducedRound) -> None:
    path = reproduced.add(reproduced.make_evidence(), principal="example@wattmark")
    verdicts = reproduced.judge()
    assert list_rules(verdicts[path]) == {"X120"}
    # X110 must not report the equal seed.
    assert verdicts[reproduced.original].findings == ()
    assert verdicts[reproduced.original].reproductions == ()


def test_reproduction_by_another_principal_of_the_center_does_not_count(
    reproduced: ReproducedRound, tmp_path: Path
) -> None:
    principal = "example@elsewhere.example.org"
    second = replace(reproduced, key=make_key(tmp_path / "second"))
    second.tree.allow(second.key, principal)
    path = second.add(second.make_evidence(), principal=principal)
    verdicts = reproduced.judge()
    assert list_rules(verdicts[path]) == {"X120"}
    assert verdicts[reproduced.original].reproductions == ()


def test_reproduction_that_may_not_win_counts_only_after_a_review(
    submissions: Submissions, tmp_path: Path
) -> None:
    key = make_key(tmp_path / "other")
    submissions.allow(key, REPRODUCER)
    claimed = copy_evidence()
    scale_items(claimed, 1.25)
    rederive(claimed)
    reproduced = ReproducedRound(submissions, submissions.add(claimed), key)
    evidence = reproduced.make_evidence()
    scale_items(evidence, 1.25)
    rederive(evidence)
    path = reproduced.add(evidence)
    verdicts = reproduced.judge()
    assert verdicts[path].findings_that_bar_winning
    assert verdicts[reproduced.original].reproductions == ()
    forge.add_review(path)
    assert reproduced.judge()[reproduced.original].reproducers == ("other",)


def test_reproduction_on_the_same_boards_does_not_count(reproduced: ReproducedRound) -> None:
    evidence = make_other_run(copy_evidence())
    evidence.result["reproduces"] = forge.describe_original(reproduced.original)
    rederive(evidence)
    path = reproduced.add(evidence)
    verdicts = reproduced.judge()
    assert list_rules(verdicts[path]) == {"X120"}
    assert verdicts[path].reproduces is None


@pytest.mark.parametrize("is_withdrawn", [True, False])
def test_reproduction_of_a_missing_or_withdrawn_bundle_does_not_count(
    reproduced: ReproducedRound, is_withdrawn: bool
) -> None:
    evidence = reproduced.make_evidence()
    if is_withdrawn:
        forge.add_withdrawal(reproduced.original)
    else:
        evidence.result["reproduces"]["manifest_sha256"] = "0" * 64
    path = reproduced.add(evidence)
    verdicts = reproduced.judge()
    assert list_rules(verdicts[path]) == {"X120"}
    assert verdicts[reproduced.original].reproductions == ()


def test_reproduction_that_fails_the_check_does_not_count(reproduced: ReproducedRound) -> None:
    evidence = reproduced.make_evidence()
    evidence.result["settings"]["batches_per_epoch"] += 1
    path = reproduced.add(evidence)
    verdicts = reproduced.judge()
    assert verdicts[path].status == "fail"
    assert verdicts[reproduced.original].reproductions == ()


def check_tree(tree: Submissions, *options: str) -> Result:
    return CliRunner().invoke(check, [str(tree.root), *options])


def accept(*bundles: Path) -> None:
    """Write a LOG that accepts the bundles."""
    entries = [
        {"path": "/".join(bundle.parts[-3:]), "manifest_sha256": forge.hash_manifest(bundle)}
        for bundle in bundles
    ]
    forge.write_log(bundles[0], *entries)


def test_round_that_requires_accepted_bundles_fails_for_others(reproduced: ReproducedRound) -> None:
    assert check_tree(reproduced.tree).exit_code == 0
    result = check_tree(reproduced.tree, "--require", "accepted")
    assert result.exit_code == 1
    assert f"{reproduced.original}: submitted, and --require asks for accepted;" in result.stderr
    assert "bench-check accept" in result.stderr and "reproduce" not in result.stderr
    accept(reproduced.original)
    assert check_tree(reproduced.tree, "--require", "accepted").exit_code == 0


def test_round_that_requires_reproduced_bundles_fails_for_others(
    reproduced: ReproducedRound,
) -> None:
    accept(reproduced.original)
    result = check_tree(reproduced.tree, "--require", "reproduced")
    assert result.exit_code == 1
    assert f"{reproduced.original}: accepted, and --require asks for reproduced;" in result.stderr
    reproduction = reproduced.add(reproduced.make_evidence())
    result = check_tree(reproduced.tree, "--require", "reproduced")
    assert f"{reproduction}: submitted, and --require asks for accepted;" in result.stderr
    assert str(reproduced.original) not in result.stderr
    accept(reproduced.original, reproduction)
    assert check_tree(reproduced.tree, "--require", "reproduced").exit_code == 0


def test_withdrawn_and_failing_bundles_are_not_named_as_shortfalls(
    reproduced: ReproducedRound,
) -> None:
    forge.add_withdrawal(reproduced.original)
    result = check_tree(reproduced.tree, "--require", "accepted")
    assert (result.exit_code, result.stderr) == (0, "")


def test_text_and_json_name_the_reproduction(reproduced: ReproducedRound) -> None:
    slow_evidence = reproduced.make_evidence()
    slow_down(slow_evidence, 0.92)
    rederive(slow_evidence)
    path = reproduced.add(slow_evidence)
    text = check_tree(reproduced.tree).stdout
    assert f"  not reproduced by {REPRODUCER}: -8." in text
    assert f"  does not reproduce {reproduced.original}: -8." in text
    document = json.loads(check_tree(reproduced.tree, "--format", "json").stdout)
    schema = json.loads((SCHEMAS / "verdict-1.json").read_text())
    jsonschema.validate(document, schema)
    original, reproduction = (
        next(b for b in document["bundles"] if b["path"] == str(bundle))
        for bundle in (reproduced.original, path)
    )
    assert original["trust_level"] == "submitted"
    assert original["reproductions"] == [reproduction["reproduces"]]
    assert reproduction["reproduces"]["agrees"] is False


def set_first_losses(evidence: EvidenceFrames, losses: list[float]) -> None:
    """State the losses of the steps of the first epoch."""
    epoch = evidence.result["epochs"][0]
    count = evidence.result["settings"]["batches_per_epoch"]
    epoch["losses"] = [*losses, *([epoch["loss"]] * (count - len(losses)))]


@pytest.mark.parametrize(("seed", "counts"), [(1, False), (2, True)])
def test_reproduction_with_the_seed_must_have_the_losses_of_the_original(
    submissions: Submissions, tmp_path: Path, seed: int, counts: bool
) -> None:
    key = make_key(tmp_path / "other")
    submissions.allow(key, REPRODUCER)
    evidence = copy_evidence()
    set_first_losses(evidence, [7.0, 6.7, 6.8, 6.4, 6.5, 6.2, 6.3, 6.0])
    reproduced = ReproducedRound(submissions, submissions.add(evidence), key)
    reproduction = reproduced.make_evidence(seed=seed)
    set_first_losses(reproduction, [6.0, 6.3, 6.2, 6.5, 6.4, 6.8, 6.7, 7.0])
    path = reproduced.add(reproduction)
    verdicts = reproduced.judge()
    assert ("X120" in list_rules(verdicts[path])) is not counts
    assert bool(verdicts[reproduced.original].reproducers) is counts


def test_copy_of_the_original_is_no_reproduction(reproduced: ReproducedRound) -> None:
    copy = copy_evidence()
    use_other_boards(copy)
    copy.result["reproduces"] = forge.describe_original(reproduced.original)
    path = reproduced.add(copy)
    verdicts = reproduced.judge()
    assert {"X102", "X103"} & list_rules(verdicts[path])
    assert verdicts[reproduced.original].reproductions == ()
    # A review of the copy lets it confirm nothing either.
    forge.add_review(path)
    assert reproduced.judge()[reproduced.original].reproductions == ()


def test_committed_reproduction_confirms_its_original() -> None:
    verdicts = {verdict.path.name: verdict for verdict in judge_all([COMMITTED]).verdicts}
    reproduction = next(v for v in verdicts.values() if v.signer == "reproduction@wattmark")
    assert reproduction.status == "pass"
    assert reproduction.reproduces is not None and reproduction.reproduces.agrees
    assert abs(reproduction.reproduces.items_per_s_percent) < 1
    original = verdicts[reproduction.reproduces.original.name]
    assert original.trust_level == TrustLevel.REPRODUCED


def test_output_in_the_page_on_reproductions_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (COMMITTED.parent / "docs" / "reproduce.md").read_text()
    _, _, block = page.partition("$ bench-check submissions\n")
    shown_lines = [line for line in block.partition("```")[0].splitlines() if line != "…"]
    monkeypatch.chdir(COMMITTED.parent)
    output = CliRunner().invoke(check, ["submissions"]).stdout.splitlines()
    assert len(shown_lines) == 4
    assert [line for line in output if line in shown_lines] == shown_lines
