"""A check that reuses what an earlier one found gives the same verdicts, and finds what has changed
since."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import PRINCIPAL, Submissions, copy_evidence
from support.rounds.trust import (
    delay_samples,
    list_errors,
    list_rules,
    make_second_run,
    run_command,
)
from support.rounds.verdict_cache import alter_entry, drop_findings, find_differences
from support.rounds.verdict_cache import cache as cache
from support.rounds.verdicts import add_altered_bundle, render, run_bench_check

from checker import CheckerError
from checker.command_line.user_cache import KEPT_VERSIONS, read_entry, write_entry
from checker.engine import judge_all
from checker.formats import FORMATS
from checker.judging import verdict_cache
from checker.judging.judgement import (
    Judgement,
    decode_judgement,
    decode_summary,
    encode_judgement,
)
from checker.judging.kept import pack_plainly
from checker.judging.verdict_cache import VerdictCache, hash_code, open_cache
from checker.selection import parse_selection, select_findings
from checker.verdict import Round
from harness.sign import sign
from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.copies import noise
from rules.registry import rules_by_id
from rules.run_summary import RunSummary, attribute, summarize
from rules.settings import ConfigurationKey
from rules.views import open_view

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "submissions"
SAMPLES = "samples.csv.gz"


@pytest.fixture
def cold_reads(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, reading a file of samples fails: what is judged then is from the cache."""

    def forbid() -> None:
        read = verdict_cache.read_files

        def read_others(directory: Path, skipped: frozenset[str] = frozenset()) -> object:
            assert SAMPLES in skipped, f"{directory}: read"
            return read(directory, skipped)

        monkeypatch.setattr(verdict_cache, "read_files", read_others)

    return forbid


def render_all(judged: Round) -> dict[str, str]:
    """What bench-check prints of a round in each format."""
    view = select_findings(judged, parse_selection())
    return {form: render(view, form) for form in FORMATS}


def compare_with_uncached(cache: VerdictCache, root: Path, reused: int) -> None:
    """Check that verdicts are those of a check without a cache, and how many are reused."""
    judged = judge_all([root], cache=cache)
    assert render_all(judged) == render_all(judge_all([root]))
    assert judged.reused_count == reused


# The same verdicts.


def test_verdicts_on_the_committed_round_are_those_without_a_cache(
    cache: VerdictCache, cold_reads: Callable[[], None]
) -> None:
    expected = render_all(judge_all([COMMITTED]))
    first = judge_all([COMMITTED], cache=cache)
    assert (first.reused_count, render_all(first)) == (0, expected)
    cold_reads()
    second = judge_all([COMMITTED], cache=cache)
    bundles = [verdict for verdict in second.verdicts if verdict.standing != "published"]
    assert second.reused_count == len(bundles)
    assert render_all(second) == expected


def test_verdicts_on_failing_bundles_are_those_without_a_cache(
    cache: VerdictCache, submissions: Submissions
) -> None:
    submissions.add(run_id="a-good-run")
    submissions.add(run_id="a-copy-of-it")
    add_altered_bundle(submissions)
    submissions.add(delay_samples(copy_evidence()), run_id="a-delayed-run")
    submissions.add_study()
    changed, malformed, unsigned, missing, foreign = (
        submissions.add(make_second_run(), run_id=f"a-run-{name}")
        for name in ("changed", "malformed", "unsigned", "missing", "foreign")
    )
    (changed / "system.json").write_text((changed / "system.json").read_text() + "\n")
    (malformed / "result.json").write_text("{")
    shutil.rmtree(unsigned / "signatures")
    (missing / SAMPLES).unlink()
    (foreign / "notes.txt").write_text("Look.")
    for reused in (0, 8, 8):
        # Files that are missing or foreign are judged each time.
        compare_with_uncached(cache, submissions.root, reused)
    rules = {
        v.path.name: list_rules(v) for v in judge_all([submissions.root], cache=cache).verdicts
    }
    assert "X103" in rules["a-good-run"] | rules["a-copy-of-it"]
    assert "P104" in rules["a-delayed-run"] and "I101" in rules["a-run-changed"]


def test_another_path_to_a_bundle_gives_its_own_names(
    cache: VerdictCache, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_altered_bundle(submissions)
    judge_all([submissions.root], cache=cache)
    monkeypatch.chdir(submissions.root.parent)
    compare_with_uncached(cache, Path("submissions"), 1)


def test_summary_of_another_signer_is_that_of_a_new_judgement() -> None:
    evidence = copy_evidence().evidence()
    summary = summarize(Bundle(Path("a/b/c"), (), evidence), salt=1)
    assert isinstance(summary, RunSummary)
    moved = attribute(summary, Path("d/e/f"), "zoe@x", "00")
    anew = summarize(Bundle(Path("d/e/f"), (), evidence), "zoe@x", "00", salt=1)
    assert anew is not None
    for name in ("path", "center", "signer", "manifest_sha256", "comparison_key", "boards"):
        assert getattr(moved, name) == getattr(anew, name)


# What has changed is judged anew.


def test_change_with_equal_size_and_time_is_found(
    cache: VerdictCache, submissions: Submissions
) -> None:
    bundle = submissions.add()
    judge_all([submissions.root], cache=cache)
    state = (bundle / SAMPLES).stat()
    content = bytearray((bundle / SAMPLES).read_bytes())
    content[len(content) // 2] ^= 1
    (bundle / SAMPLES).write_bytes(content)
    os.utime(bundle / SAMPLES, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert (bundle / SAMPLES).stat().st_size == state.st_size
    (verdict,) = judge_all([submissions.root], cache=cache).verdicts
    assert "I101" in list_errors(verdict)


def test_files_that_have_just_changed_are_read_again(
    cache: VerdictCache,
    submissions: Submissions,
    monkeypatch: pytest.MonkeyPatch,
    cold_reads: Callable[[], None],
) -> None:
    """Within a tick of the clock of the file system, a second change has the time of the first."""
    monkeypatch.setattr(verdict_cache, "SETTLED_S", 3600.0)
    bundle = submissions.add()
    judge_all([submissions.root], cache=cache)
    assert judge_all([submissions.root], cache=cache).reused_count == 1
    assert verdict_cache.take_stamp(bundle) == []
    cold_reads()
    (verdict,) = judge_all([submissions.root], cache=cache).verdicts
    (internal,) = verdict.findings
    assert f"AssertionError: {bundle}: read" in internal.found


def test_new_checkout_of_the_same_files_is_reused(
    cache: VerdictCache, submissions: Submissions, cold_reads: Callable[[], None]
) -> None:
    bundle = submissions.add()
    judge_all([submissions.root], cache=cache)
    shutil.move(bundle, bundle.with_name("old"))
    shutil.copytree(bundle.with_name("old"), bundle)
    shutil.rmtree(bundle.with_name("old"))
    compare_with_uncached(cache, submissions.root, 1)
    cold_reads()
    assert judge_all([submissions.root], cache=cache).reused_count == 1


def test_trust_is_judged_anew(cache: VerdictCache, submissions: Submissions) -> None:
    bundle = submissions.add()
    (verdict,) = judge_all([submissions.root], cache=cache).verdicts
    assert (verdict.status, verdict.signer) == ("pass", PRINCIPAL)
    signers = submissions.keyring / "allowed_signers"
    allowed = signers.read_text()
    signers.write_text("")
    compare_with_uncached(cache, submissions.root, 1)
    (verdict,) = judge_all([submissions.root], cache=cache).verdicts
    assert (verdict.status, verdict.signer) == ("fail", None)
    signers.write_text(allowed)
    (bundle / "signatures" / f"submission.{PRINCIPAL}.sig").write_text("none")
    compare_with_uncached(cache, submissions.root, 1)
    assert judge_all([submissions.root], cache=cache).verdicts[0].status == "fail"
    judged = judge_all([submissions.root], signed=False, cache=cache)
    assert (judged.verdicts[0].status, judged.reused_count) == ("pass", 1)


def test_a_bundle_that_is_signed_later_is_compared(
    cache: VerdictCache, submissions: Submissions
) -> None:
    submissions.add(run_id="the-original")
    copy = submissions.add(run_id="the-copy-of-it")
    shutil.rmtree(copy / "signatures")
    judge_all([submissions.root], cache=cache)
    sign(copy, submissions.key, PRINCIPAL)
    judged = judge_all([submissions.root], cache=cache)
    assert judged.reused_count == 2
    assert any("X103" in list_rules(verdict) for verdict in judged.verdicts)


def test_a_finding_that_depends_on_the_date_is_not_kept(
    cache: VerdictCache, submissions: Submissions
) -> None:
    evidence = copy_evidence()
    evidence.result["ended_at"] = "2999-01-01T00:00:00Z"
    submissions.add(evidence)
    for _ in range(2):
        judged = judge_all([submissions.root], cache=cache)
        assert "P123" in list_errors(judged.verdicts[0])
        assert judged.reused_count == 0


def test_rules_that_ask_the_clock_are_marked() -> None:
    clocks = ("datetime.now", "time.time", "utc_now", "date.today")
    asking = {
        rule.id
        for rule in rules_by_id().values()
        if any(
            clock in (ROOT / f"{rule.module.replace('.', '/')}.py").read_text() for clock in clocks
        )
    }
    assert asking == {rule.id for rule in rules_by_id().values() if rule.depends_on_date} != set()


def test_other_code_has_another_cache(
    cache: VerdictCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.setattr(
        verdict_cache, "rules", SimpleNamespace(__file__=str(package / "__init__.py"))
    )
    hashes = {hash_code()}
    (package / "table.json").write_text("1")
    hashes.add(hash_code())
    (package / "table.json").write_text("2")
    hashes.add(hash_code())
    for code in hashes:
        monkeypatch.setattr(verdict_cache, "hash_code", lambda code=code: code)
        assert open_cache(pytest.fail) is not None
    kept = list(cache.directory.parent.iterdir())
    # The first version is gone.
    assert len(hashes) == len(kept) == KEPT_VERSIONS
    assert cache.directory not in kept


def test_series_are_compared_once(
    cache: VerdictCache, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    submissions.add()
    submissions.add(make_second_run(), run_id="another")
    expected = judge_all([submissions.root], cache=cache)
    with monkeypatch.context() as patch:
        patch.setattr(noise, "_compare_at_all_lags", None)
        assert judge_all([submissions.root], cache=cache).verdicts == expected.verdicts
    path = cache.directory / "comparisons"
    comparisons = json.loads(read_entry(path) or b"")
    assert comparisons
    write_entry(path, json.dumps({key: [[5, True]] for key in comparisons}).encode())
    with pytest.raises(CheckerError, match="other comparisons"):
        judge_all([submissions.root], cache=cache, verify_cache=True)
    path.write_bytes(path.read_bytes()[:-1])
    assert judge_all([submissions.root], cache=cache).verdicts == expected.verdicts


# What the cache may not decide.


def test_acceptance_and_review_use_no_cache(cache: VerdictCache, submissions: Submissions) -> None:
    bundle = add_altered_bundle(submissions)
    judge_all([submissions.root], cache=cache)
    alter_entry(cache, bundle, drop_findings)
    assert run_bench_check(submissions.root).exit_code == 0
    assert run_bench_check(submissions.root, "--no-cache").exit_code == 1
    result = run_command("accept", submissions.root, "--despite", bundle, "We saw the run.")
    assert (result.exit_code, "T102" in result.output) == (1, True), result.output


def test_verification_reports_a_difference(cache: VerdictCache, submissions: Submissions) -> None:
    bundle = add_altered_bundle(submissions)
    judge_all([submissions.root], cache=cache)
    result = run_bench_check(submissions.root, "--verify-cache")
    assert (result.exit_code, "T102" in result.output) == (1, True)
    alter_entry(cache, bundle, drop_findings)
    result = run_bench_check(submissions.root, "--verify-cache")
    assert result.exit_code == 3
    assert f"{bundle}: the cache has another verdict on the same files" in result.output
    assert run_bench_check(submissions.root, "--verify-cache", "--no-cache").exit_code == 2


def test_a_tenth_is_verified(
    cache: VerdictCache, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundles = [submissions.add(run_id=f"run-number-{n}") for n in range(11)]
    judge_all([submissions.root], cache=cache)
    judged = judge_all([submissions.root], cache=cache, verify_cache=True)
    assert judged.reused_count == 9
    monkeypatch.setattr("checker.engine.random.sample", lambda paths, count: paths[:count])
    alter_entry(cache, bundles[0], lambda judgement: replace(judgement, standing="open"))
    with pytest.raises(CheckerError, match=r"run-number-0: the cache has another verdict"):
        judge_all([submissions.root], cache=cache, verify_cache=True)


# How a judgement is written.


def test_summaries_of_committed_runs_are_read_as_they_were() -> None:
    for bundle in list_few_bundles():
        view = open_view(bundle, read_files(bundle))
        assert isinstance(view, Bundle)
        judgement = Judgement(False, "closed", None, {"a": "b"}, (), (), summarize(view))
        encoded = encode_judgement(judgement)
        head, summary = decode_judgement(encoded)
        decoded = replace(head, summary=decode_summary(summary))
        assert pack_plainly(decoded) == pack_plainly(judgement)
        assert decoded.summary is not None and judgement.summary is not None
        assert list(find_differences(decoded.summary, judgement.summary)) == []


def test_every_field_of_a_summary_keeps_value_and_type() -> None:
    evidence = copy_evidence()
    evidence.result["settings"]["options"] = {"decode-attention": "xqa", "group-norm": "fused"}
    label = {"id": "a", "place": 1, "of": 2, "repeat": 1, "order": "random", "seed": 1}
    evidence.result["sweep"] = {**label, "axes": ["cap"], "reference": {"cap": 700.0}}
    summary = summarize(Bundle(Path("a/b/c"), (), evidence.evidence()), "zoe@x", "00")
    assert isinstance(summary, RunSummary) and summary.sweep is not None
    assert any(isinstance(value, tuple) and value for value in summary.configuration.values())
    encoded = encode_judgement(Judgement(False, "closed", None, {}, (), (), summary))
    decoded = decode_summary(decode_judgement(encoded)[1])
    assert list(find_differences(decoded, summary)) == []
    assert isinstance(decoded, RunSummary)
    assert {decoded.comparison_key: 1} == {summary.comparison_key: 1}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"a": 1}, ConfigurationKey(a=1)),
        (ConfigurationKey(a=[1]), ConfigurationKey(a=(1,))),
        (((1, 2),), ([1, 2],)),
        ((1, 2.0), (1, 2)),
        ((True,), (1,)),
        ((1,), (1, 2)),
        (np.array([1], "i1"), np.array([1], "u1")),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0])),
        (float("nan"), 1.0),
    ],
)
def test_a_change_of_type_or_value_is_found(found: object, expected: object) -> None:
    assert len(list(find_differences((found,), (expected,)))) == 1
    assert list(find_differences((expected,), (expected,))) == []


def list_few_bundles() -> Iterator[Path]:
    """A run of each system."""
    runs = {path.parents[1]: path.parent for path in COMMITTED.rglob("result.json")}
    yield from runs.values()
