"""Bundles that one process judges together: what is said of each is what is said of it alone,
whatever becomes of the others."""

import gc
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import Submissions, copy_evidence

from checker.engine import judge
from checker.judging import bundle_judge
from checker.judging.bundle_judge import JudgedBundle, JudgeOptions, judge_bundles
from checker.judging.workers import map_in_processes
from checker.trust import waivers
from checker.verdict import INTERNAL, Verdict, build_internal_finding
from rules.bundle import Bundle
from rules.bundle_format import write as bundle
from rules.registry import rules_by_id
from rules.testing import tampering as forge
from rules.testing.frames import EvidenceFrames

forked = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="workers import anew what is replaced here"
)


def judge_together(roots: dict[Path, Path]) -> list[Verdict]:
    return [judged.verdict for judged in judge_bundles(roots, JudgeOptions())]


def judge_chunk(paths: Sequence[Path]) -> list[JudgedBundle]:
    return judge_bundles({path: path for path in paths}, JudgeOptions())


def crash(path: Path, error: Exception) -> JudgedBundle:
    finding = build_internal_finding(path, "judging the bundle", error)
    return JudgedBundle(Verdict(path, None, None, (finding,)))


@pytest.fixture
def eight(submissions: Submissions) -> dict[Path, Path]:
    """A bundle with a note, one with an error, one that cannot be read, one that is not sealed, and
    four more good ones."""
    bundles = {f"run-{n}": submissions.add(run_id=f"run-number-{n}") for n in range(8)}
    for path, key, value in (
        (bundles["run-1"], "attempt", 2),
        (bundles["run-3"], "protocol", "0.9"),
        (bundles["run-5"], "attempt", 0),
    ):
        result = json.loads((path / "result.json").read_text())
        (path / "result.json").write_text(json.dumps({**result, key: value}))
        submissions.reseal(path)
    (bundles["run-6"] / "MANIFEST.json").unlink()
    return {path: path for path in bundles.values()}


def test_verdicts_are_those_of_each_alone(eight: dict[Path, Path]) -> None:
    verdicts = judge_together(eight)
    assert [verdict.path for verdict in verdicts] == list(eight)
    assert verdicts == [judge(path) for path in eight]
    assert [verdict.status for verdict in verdicts].count("fail") == 3


def test_no_other_bundle_is_opened_where_much_is_in_memory(
    eight: dict[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    real_open, real_conclude = bundle_judge._open_bundle, bundle_judge._conclude
    monkeypatch.setattr(
        bundle_judge,
        "_open_bundle",
        lambda path, *a: steps.append(f"open {path.name[-1]}") or real_open(path, *a),
    )
    monkeypatch.setattr(
        bundle_judge,
        "_conclude",
        lambda item, *a: steps.append("conclude") or real_conclude(item, *a),
    )
    before = judge_together(eight)
    assert steps == [*(f"open {n}" for n in range(8)), *["conclude"] * 8]
    steps.clear()
    monkeypatch.setattr(bundle_judge, "_MAX_GROUP_BYTES", 2_000_000)  # a bundle has 12 000 rows
    assert judge_together(eight) == before
    assert (
        "".join(step[-1] if step[0] == "o" else "." for step in steps) == "01..234...567..."
    )  # 3 and 5 weigh nothing


def test_rule_that_raises_for_one_of_them(
    eight: dict[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = rules_by_id()["P103"].run

    def broken(bundle: Bundle) -> Iterator[Any]:
        if bundle.path.name == "run-number-2":
            raise MemoryError("too large")
        yield from original(bundle) if original else ()

    monkeypatch.setattr(rules_by_id()["P103"], "run", broken)
    internal = [
        verdict.path.name
        for verdict in judge_together(eight)
        if INTERNAL in {f.rule for f in verdict.findings}
    ]
    assert internal == ["run-number-2"]


@forked
def test_killed_process_loses_one_bundle_of_eight(
    eight: dict[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = bundle_judge.read_files

    def killed(path: Path) -> Any:
        if path.name == "run-number-4":
            os.kill(os.getpid(), signal.SIGKILL)
        return original(path)

    separate_verdicts = {path: judge(path) for path in eight if path.name != "run-number-4"}
    monkeypatch.setattr(bundle_judge, "read_files", killed)
    results = map_in_processes(judge_chunk, list(eight), crash)
    judged = {result.verdict.path: result.verdict for result in results}
    assert judged.keys() == eight.keys()
    (lost_bundles,) = judged.keys() - separate_verdicts.keys()
    assert [f.rule for f in judged[lost_bundles].findings] == [INTERNAL]
    assert {path: judged[path] for path in separate_verdicts} == separate_verdicts


def test_interrupt_ends_them_all(eight: dict[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: Path) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(bundle_judge, "read_files", interrupted)
    with pytest.raises(KeyboardInterrupt):
        judge_together(eight)


def test_what_is_remembered_of_a_waiver_keeps_no_evidence_in_memory(
    submissions: Submissions,
) -> None:
    paths = dict.fromkeys(
        (submissions.add(run_id=f"run-number-{n}") for n in range(2)), submissions.root
    )
    forge.add_waiver(next(iter(paths)))
    (waiver,) = (submissions.root / "waivers").glob("*.json")
    waiver.write_bytes(waiver.read_bytes().replace(b"{", b"{ ", 1))  # no longer what was signed
    judge_together(paths)
    assert waivers._verify_cached.cache_info().currsize
    gc.collect()
    assert not [
        item.path for item in gc.get_objects() if type(item) is Bundle and item.path in paths
    ]


# What the rules make of evidence that nobody has.


def delete_keys(*tables: str) -> EvidenceFrames:
    evidence = copy_evidence(serving=True)
    for name in tables:
        setattr(evidence, name, getattr(evidence, name).head(0))
    return evidence


def make_evidence_of_batches(expected: int) -> EvidenceFrames:
    evidence = copy_evidence()
    evidence.result["settings"]["batches_per_epoch"] = expected
    return evidence


def replace_reading(power_mw: float) -> EvidenceFrames:
    evidence = copy_evidence()
    evidence.samples.loc[3001, "power_mw"] = power_mw
    return evidence


ODD = {
    "no rows at all": partial(delete_keys, "samples", "batches", "requests"),
    "no samples": partial(delete_keys, "samples"),
    "no batches": partial(delete_keys, "batches"),
    "no requests": partial(delete_keys, "requests"),
    "neither batches nor requests": partial(delete_keys, "batches", "requests"),
    "many batches declared": partial(make_evidence_of_batches, 10**11),
    "as many batches as can be declared": partial(make_evidence_of_batches, 2**63 - 1),
    "a high reading": partial(replace_reading, 2.0**53),
    "a low reading": partial(replace_reading, -(2.0**53)),
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_odd_evidence_is_judged_to_the_end(tmp_path: Path, make: partial[EvidenceFrames]) -> None:
    bundle.write(make().evidence(), tmp_path / "bundle")
    verdict = judge(tmp_path / "bundle", signed=False)
    assert verdict.status == "fail"
    assert INTERNAL not in {f.rule for f in verdict.findings}


def test_differences_are_told_in_the_order_of_the_figures(tmp_path: Path) -> None:
    """And not in one that changes from run to run."""
    evidence = copy_evidence()
    figures = evidence.result["epochs"][3]["figures"]
    for name in figures:
        figures[name] = (figures[name] or 0.0) * 1.5
    bundle.write(evidence.evidence(), tmp_path / "bundle")
    pointers = [
        f.pointer for f in judge(tmp_path / "bundle", signed=False).findings if f.rule == "T102"
    ]
    order = list(copy_evidence().result["epochs"][3]["figures"])
    assert pointers == [f"/epochs/3/figures/{name}" for name in order]
