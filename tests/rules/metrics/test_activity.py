"""How busy a run was, its largest mean power over 60 s, and what the whole run took."""

from pathlib import Path

import numpy as np
import pytest
from conftest import copy_evidence

from rules.bundle import Bundle
from rules.metrics.activity import Activity, compute_activity
from rules.testing.frames import EvidenceFrames


def compute(evidence: EvidenceFrames) -> Activity:
    bundle = Bundle(Path("bundle"), (), evidence.evidence())
    assert bundle.figures is not None
    return compute_activity(
        bundle.declaration, bundle.scored_parts, bundle.spans, bundle.figures.energy_of_record
    )


def test_largest_minute_is_that_of_the_readings() -> None:
    """Against means of the readings themselves, of both boards, on a grid of 1 s."""
    evidence = copy_evidence()
    start_ns, end_ns = (
        evidence.batches[evidence.batches["epoch"] >= 1][name].agg(how)
        for name, how in (("start_ns", "min"), ("end_ns", "max"))
    )
    middle_ns = (start_ns + end_ns) // 2
    # 70 s of more power in the middle of the run.
    late = evidence.samples["read_ns"].between(middle_ns, middle_ns + 70 * 10**9)
    evidence.samples.loc[late, "power_mw"] += 10_000
    boards = [board for _, board in evidence.samples.groupby("accelerator")]
    means_w = []
    for second in range((end_ns - start_ns) // 10**9 - 59):
        begin_ns = start_ns + second * 10**9
        inside = [b[b["read_ns"].between(begin_ns, begin_ns + 60 * 10**9)] for b in boards]
        means_w.append(sum(board["power_mw"].mean() / 1e3 for board in inside))
    activity = compute(evidence)
    assert activity.max_60s_power_w == pytest.approx(max(means_w), rel=1e-3)
    assert max(means_w) > np.mean(means_w) + 10, "the largest minute is not the usual one"


def test_active_share_and_utilisation_are_means_over_boards_and_epochs() -> None:
    evidence = copy_evidence()
    boards = sorted(evidence.samples["accelerator"].unique())
    for place, board in enumerate(boards):
        evidence.samples.loc[evidence.samples["accelerator"] == board, "util_pct"] = 50 + 40 * place
    activity = compute(evidence)
    assert activity.utilisation_percent == pytest.approx(70, abs=0.1)
    assert activity.active_share == pytest.approx(1, abs=0.01)
    batches = evidence.batches
    gap_ns = ((batches["end_ns"] - batches["start_ns"]) // 2).to_numpy()
    batches["end_ns"] = batches["end_ns"] - gap_ns
    assert compute(evidence).active_share == pytest.approx(0.5, abs=0.01)


def test_run_without_utilisation_states_none() -> None:
    evidence = copy_evidence()
    evidence.samples["util_pct"] = np.nan
    assert compute(evidence).utilisation_percent is None


def test_energy_of_the_whole_run_is_the_difference_of_the_counters() -> None:
    evidence = copy_evidence()
    activity = compute(evidence)
    wanted_j, wanted_s = 0.0, 0.0
    for _, board in evidence.samples.groupby("accelerator"):
        counter_mj = board["energy_mj"].dropna()
        wanted_j += (counter_mj.iloc[-1] - counter_mj.iloc[0]) / 1e3
        wanted_s = max(wanted_s, (board["read_ns"].iloc[-1] - board["read_ns"].iloc[0]) / 1e9)
    assert activity.run_energy_j == pytest.approx(wanted_j, rel=1e-6)
    assert activity.run_s == pytest.approx(wanted_s, rel=1e-6)
