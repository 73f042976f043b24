"""Copies of measured runs: edited copies are found by what they share with the original, whatever
was altered, and no two measured runs share anything."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from conftest import Submissions
from support.bundles import rederive
from support.committed_runs import find_reference_runs
from support.rounds.trust import list_errors

from checker.engine import judge_all
from rules.bundle import Bundle
from rules.bundle_format.files import read_files
from rules.metrics.power.series import IN_A_ROW, find_patterns, hash_windows
from rules.registry import rules_by_id
from rules.run_summary import RunSummary, summarize
from rules.testing import tampering as forge
from rules.testing.frames import EvidenceFrames, read_frames
from rules.testing.mutations import move_after, select_load

MEASURED = find_reference_runs()
COPY_RULES = ("X102", "X103", "X112")
STEP_MW = 322
SKETCH = 16
"""Size of the sketches of rule books before 1.5.0: the smallest of public hashes."""
ODD = np.uint64(0x9E3779B97F4A7C15)


@cache
def read_measured(path: Path) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(path))
    assert evidence is not None, problems
    return evidence


def find_run(part: str) -> Path:
    return next(path for path in MEASURED if part in path.name)


IRREGULAR, IN_PHASE = find_run("7fef0b"), find_run("85582f")
"""A run whose batches are not in phase with the sampling, and one whose batches are."""


@cache
def summarize_measured(path: Path) -> RunSummary:
    summary = summarize(Bundle(path, (), read_measured(path).evidence()))
    assert summary is not None
    return summary


def report_copy(path: Path, forgery: EvidenceFrames) -> set[str]:
    """The rules that report a copy by another center, checked with the run at `path`."""
    summary = summarize(Bundle(Path("thief/system/copy"), (), forgery.evidence()))
    assert summary is not None
    original = summarize_measured(path)
    return {
        rule
        for rule in COPY_RULES
        for reported, _ in rules_by_id()[rule].judge_round([original, summary])
        if reported == summary.path
    }


def set_own_times(forgery: EvidenceFrames) -> None:
    """Replace delays and batch durations, and give the counter steps of its own."""
    random = np.random.default_rng(9)
    forgery.samples["energy_mj"] += np.cumsum(random.integers(0, 50, len(forgery.samples)))
    forgery.samples["read_ns"] = forgery.samples["scheduled_ns"] + random.integers(
        100_000, 400_000, len(forgery.samples)
    )
    lengths_ns = forgery.batches["end_ns"] - forgery.batches["start_ns"]
    shorter = random.uniform(0, 0.05, len(lengths_ns))
    forgery.batches["end_ns"] -= (lengths_ns * shorter).astype("int64")


def add_jitter(forgery: EvidenceFrames, jitter_w: float) -> None:
    noise_mw = np.random.default_rng(4).normal(0, jitter_w * 1e3, len(forgery.samples))
    forgery.samples["power_mw"] = (forgery.samples["power_mw"] + noise_mw).round()


# The evading copy: about 60 edits.


def evade_sketch(values: np.ndarray, step: int) -> np.ndarray:
    """Alter values by `step` until none of the smallest public hashes of windows remains."""
    edited = values.copy()
    sketch = set(np.sort(hash_windows(values) * ODD >> np.uint64(1))[: 2 * SKETCH].tolist())
    for _ in count():
        mixed = hash_windows(edited) * ODD >> np.uint64(1)
        shared = [place for place in np.argsort(mixed)[: 4 * SKETCH] if int(mixed[place]) in sketch]
        if not shared:
            return edited
        edited[shared[0] + IN_A_ROW // 2] += step
    raise AssertionError


def evade_patterns(power_w: np.ndarray) -> np.ndarray:
    """Exchange neighbours until none of the smallest public hashes of patterns remains."""
    edited = power_w.copy()
    sketch = set(np.sort(find_patterns(power_w) * ODD)[: 40 * SKETCH].tolist())
    for _ in count():
        mixed = find_patterns(edited) * ODD
        shared = [place for place in np.argsort(mixed)[: 2 * SKETCH] if int(mixed[place]) in sketch]
        if not shared:
            return edited
        place = shared[0] + 32
        edited[[place, place + 1]] = edited[[place + 1, place]]
    raise AssertionError


def make_evading_copy(path: Path) -> EvidenceFrames:
    forgery = copy.deepcopy(read_measured(path))
    samples, batches = forgery.samples, forgery.batches
    load = np.flatnonzero(select_load(forgery))
    power_mw = samples.loc[load, "power_mw"].to_numpy()
    edited_mw = evade_sketch(power_mw.astype(np.int64), STEP_MW)
    samples.loc[load, "power_mw"] = np.round(evade_patterns(edited_mw / 1e3) * 1e3)
    delays_ns = (samples["read_ns"] - samples["scheduled_ns"]).to_numpy()
    samples["read_ns"] += evade_sketch(delays_ns, 1) - delays_ns
    lengths_ns = (batches["end_ns"] - batches["start_ns"]).to_numpy()
    batches["end_ns"] -= lengths_ns - evade_sketch(lengths_ns, -1)
    move_after(forgery, read_measured(path))
    rederive(forgery)
    return forgery


def test_copy_with_sixty_edits_is_found() -> None:
    forgery, original = make_evading_copy(IRREGULAR), read_measured(IRREGULAR)
    for table in ("samples", "batches"):
        edited, kept = getattr(forgery, table), getattr(original, table)
        assert 0 < (edited.fillna(0) != kept.fillna(0)).any(axis=1).sum() < 200
    assert report_copy(IRREGULAR, forgery) >= {"X102", "X103", "X112"}


# Copies with other disguises.


@pytest.mark.parametrize("path", [IRREGULAR, IN_PHASE], ids=["irregular", "in phase"])
@pytest.mark.parametrize("jitter_w", [0.3, 1, 2, 5, 20])
def test_copy_with_jitter_and_own_times_is_found(path: Path, jitter_w: float) -> None:
    forgery = copy.deepcopy(read_measured(path))
    set_own_times(forgery)
    add_jitter(forgery, jitter_w)
    # The clocks are still those of the original.
    assert report_copy(path, forgery) == {"X102", "X112"}
    forgery.samples["sm_mhz"] = 1500.0
    assert report_copy(path, forgery) == {"X112"}


def keep_second_half(forgery: EvidenceFrames) -> None:
    """Only the second half is copied; the first half is noise of its own."""
    half = len(forgery.samples) // 2
    first_mw = forgery.samples["power_mw"].iloc[:half].to_numpy().copy()
    np.random.default_rng(3).shuffle(first_mw)
    forgery.samples.loc[: half - 1, "power_mw"] = first_mw


def leave_out_every_hundredth(forgery: EvidenceFrames) -> None:
    power_mw = np.delete(forgery.samples["power_mw"].to_numpy(), np.s_[::100])
    forgery.samples.loc[: len(power_mw) - 1, "power_mw"] = power_mw


def reverse(forgery: EvidenceFrames) -> None:
    forgery.samples["power_mw"] = forgery.samples["power_mw"].to_numpy()[::-1].copy()


def mirror(forgery: EvidenceFrames) -> None:
    """Readings above the mean are as much below it."""
    power_mw = forgery.samples["power_mw"]
    forgery.samples["power_mw"] = (2 * power_mw.mean() - power_mw).round()


def alter_one_of_each_window(forgery: EvidenceFrames) -> None:
    """No window of 32 readings remains as it was."""
    forgery.samples.loc[::30, "power_mw"] += STEP_MW


def scale(forgery: EvidenceFrames) -> None:
    forgery.samples["power_mw"] = (forgery.samples["power_mw"] * 0.95).round()


def smooth(forgery: EvidenceFrames) -> None:
    """Each reading is the mean of itself and its neighbours."""
    power_mw = forgery.samples["power_mw"].to_numpy()
    forgery.samples["power_mw"] = np.convolve(power_mw, [0.25, 0.5, 0.25], "same").round()


@pytest.mark.parametrize(
    ("path", "edit", "jitter_w"),
    [
        (path, edit, jitter_w)
        for path in (IRREGULAR, IN_PHASE)
        for edit in (
            keep_second_half,
            leave_out_every_hundredth,
            alter_one_of_each_window,
            scale,
            reverse,
            mirror,
            smooth,
        )
        for jitter_w in (0, 2)
        # What the patterns of a run in phase with the sampling show is too little for this copy.
        if (path, edit, jitter_w) != (IN_PHASE, leave_out_every_hundredth, 2)
    ],
)
def test_part_of_a_copy_with_own_times_is_found(
    path: Path, edit: Callable[[EvidenceFrames], None], jitter_w: float
) -> None:
    forgery = copy.deepcopy(read_measured(path))
    set_own_times(forgery)
    edit(forgery)
    add_jitter(forgery, jitter_w)
    assert report_copy(path, forgery)


def test_copied_batches_with_jitter_are_found() -> None:
    forgery = copy.deepcopy(read_measured(IRREGULAR))
    random = np.random.default_rng(2)
    power_mw = forgery.samples["power_mw"].to_numpy().copy()
    random.shuffle(power_mw)
    forgery.samples["power_mw"] = power_mw
    forgery.samples["read_ns"] += random.integers(0, 1000, len(power_mw))
    forgery.samples["energy_mj"] = np.cumsum(random.integers(69_000, 71_000, len(power_mw)))
    forgery.batches["end_ns"] -= random.integers(1, 50_000, len(forgery.batches))
    forgery.samples["sm_mhz"] = 1500.0
    assert report_copy(IRREGULAR, forgery) == {"X112"}


def test_copied_counter_is_found() -> None:
    forgery = copy.deepcopy(read_measured(IRREGULAR))
    counter_mj = forgery.samples["energy_mj"].copy()
    set_own_times(forgery)
    forgery.samples["energy_mj"] = counter_mj
    power_mw = forgery.samples["power_mw"].to_numpy().copy()
    np.random.default_rng(2).shuffle(power_mw)
    forgery.samples["power_mw"] = power_mw
    assert report_copy(IRREGULAR, forgery) == {"X102"}


def test_no_two_measured_runs_share_anything() -> None:
    summaries = [replace(summarize_measured(path), path=path) for path in MEASURED]
    assert len(summaries) >= 19
    assert not [
        finding for rule in COPY_RULES for finding in rules_by_id()[rule].judge_round(summaries)
    ]


# Signed rounds.


def sign_as_center(submissions: Submissions, evidence: EvidenceFrames, run_id: str) -> Path:
    evidence = copy.deepcopy(evidence)
    rederive(evidence)
    return submissions.add(evidence, run_id=run_id)


def test_withdrawn_run_with_sixty_edits_is_refused_when_it_comes_back(
    submissions: Submissions,
) -> None:
    original = sign_as_center(submissions, read_measured(IRREGULAR), "the-original")
    forge.add_withdrawal(original)
    returned = sign_as_center(submissions, make_evading_copy(IRREGULAR), "the-returned")
    verdicts = {verdict.path: verdict for verdict in judge_all([submissions.root]).verdicts}
    assert verdicts[original].status == "withdrawn"
    assert not {f.rule for f in verdicts[original].findings} & set(COPY_RULES)
    assert verdicts[returned].status == "fail"
    assert list_errors(verdicts[returned]) >= {"X102", "X103"}


def test_copy_of_an_accepted_run_is_refused_and_the_original_stays(
    submissions: Submissions,
) -> None:
    """Under any salt: each check draws a new one."""
    original = sign_as_center(submissions, read_measured(IRREGULAR), "the-original")
    forge.write_log(original, {"at": read_measured(IRREGULAR).result["ended_at"]})
    copied = sign_as_center(submissions, make_evading_copy(IRREGULAR), "the-copied-run")
    for _ in range(3):
        verdicts = {verdict.path: verdict for verdict in judge_all([submissions.root]).verdicts}
        assert verdicts[original].status == "pass"
        assert not {f.rule for f in verdicts[original].findings} & set(COPY_RULES)
        assert list_errors(verdicts[copied]) >= {"X102", "X103"}
