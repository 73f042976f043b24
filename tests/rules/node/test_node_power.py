"""Good bundles with node power: they give no finding, and their figures are those of the power that
was put in."""

import copy
from pathlib import Path

import numpy as np
import pytest
from conftest import Submissions, copy_evidence
from support.bundles import rederive
from support.mutation_cases import SERVING_BUNDLE, TRAINING_BUNDLE, find_rules_before, read_measured

from checker.engine import judge
from rules.bundle import Bundle
from rules.metrics.node.figures import NodeFigures
from rules.testing.frames import EvidenceFrames
from rules.testing.node_power import EFFICIENCY, FEEDS, HOST_W, add_node_power, select_feed_rows


def compute(evidence: EvidenceFrames) -> NodeFigures:
    bundle = Bundle(Path("bundle"), (), evidence.evidence())
    assert bundle.node_figures is not None, bundle.node_figures_error
    return bundle.node_figures


def make_evidence_with_node_power(serving: bool = False) -> EvidenceFrames:
    evidence = copy_evidence(serving)
    add_node_power(evidence)
    rederive(evidence)
    return evidence


@pytest.mark.parametrize("serving", [False, True])
def test_good_bundle_with_node_power_gives_no_finding(
    submissions: Submissions, serving: bool
) -> None:
    verdict = judge(submissions.add(make_evidence_with_node_power(serving)))
    assert verdict.findings == ()
    assert verdict.rules_not_run == 0


@pytest.mark.parametrize("origin", [TRAINING_BUNDLE, SERVING_BUNDLE])
def test_measured_bundle_with_node_power_gives_no_new_finding(
    submissions: Submissions, origin: Path | None
) -> None:
    if origin is None:
        pytest.skip("no reference bundle of this kind is committed")
    evidence = copy.deepcopy(read_measured(origin))
    add_node_power(evidence)
    rederive(evidence)
    reported = {finding.rule for finding in judge(submissions.add(evidence)).findings}
    assert reported <= find_rules_before(origin)


def test_figures_are_those_of_the_power_that_was_put_in() -> None:
    evidence = make_evidence_with_node_power()
    figures = compute(evidence)
    result = evidence.result
    scored = [epoch for epoch in result["epochs"] if epoch["scored"]]
    boards_w = 2 * result["headline"]["mean_power_w_per_accelerator"]["mean"]
    expected_w = (boards_w + HOST_W) / EFFICIENCY
    assert figures.headline.by_epoch
    assert figures.headline.mean_power_w.mean == pytest.approx(expected_w, rel=0.01)
    assert figures.headline.over_accelerators is not None
    assert figures.headline.over_accelerators.mean == pytest.approx(expected_w / boards_w, rel=0.01)
    for epoch in scored:
        node = figures.epochs[epoch["epoch"]]
        assert node.joules_per_item == pytest.approx(node.energy_j / epoch["items"])
        assert node.mean_power_w * node.span_s == pytest.approx(node.energy_j)
    assert figures.headline.median_power_w == pytest.approx(expected_w, rel=0.02)
    assert figures.headline.max_60s_power_w is not None
    assert figures.headline.median_power_w < figures.headline.max_power_w
    assert figures.headline.max_60s_power_w < figures.headline.max_power_w
    assert figures.headline.level == 3


def test_figures_of_accelerators_are_the_same_with_a_node_meter() -> None:
    plain, metered = copy_evidence(), make_evidence_with_node_power()
    for name in ("headline", "observed", "energy_of_record"):
        assert metered.result[name] == plain.result[name]


def test_second_meter_of_the_same_power_is_not_added() -> None:
    evidence = make_evidence_with_node_power()
    alone = compute(evidence).headline.mean_power_w.mean
    assert evidence.node_samples is not None
    second = evidence.node_samples.assign(meter="bmc")
    evidence.node_samples = type(second)(
        {c: [*evidence.node_samples[c], *second[c]] for c in second.columns}
    )
    evidence.system["meters"].append(
        {**evidence.system["meters"][0], "id": "bmc", "of_record": False}
    )
    evidence.result["node_clocks"].append({**evidence.result["node_clocks"][0], "meter": "bmc"})
    assert compute(evidence).headline.mean_power_w.mean == alone
    evidence.system["meters"][1]["of_record"] = True
    assert compute(evidence).headline.mean_power_w.mean == pytest.approx(2 * alone)


def test_direct_current_counts_with_the_loss_of_its_conversion() -> None:
    evidence = make_evidence_with_node_power()
    alone = compute(evidence).headline.mean_power_w.mean
    evidence.system["meters"][0].update(current="dc", conversion_loss=0.1)
    assert compute(evidence).headline.mean_power_w.mean == pytest.approx(alone / 0.9)


def test_few_readings_give_figures_of_the_run_alone() -> None:
    evidence = make_evidence_with_node_power()
    table = evidence.node_samples
    assert table is not None
    slot = (table["scheduled_ns"] - table["scheduled_ns"].min()) // 1_000_000_000
    table["energy_mj"] = np.nan
    evidence.node_samples = table[slot % 4 == 0].reset_index(drop=True)
    figures = compute(evidence)
    assert (figures.headline.by_epoch, dict(figures.epochs)) == (False, {})
    assert figures.headline.mean_power_w.n == 1
    assert figures.headline.level == 0
    evidence.node_samples = table[slot % 20 == 0].reset_index(drop=True)
    bundle = Bundle(Path("bundle"), (), evidence.evidence())
    assert bundle.node_figures is None and "need 30" in bundle.node_figures_error


def test_failed_reading_is_interpolated() -> None:
    evidence = make_evidence_with_node_power()
    before = compute(evidence).headline.mean_power_w.mean
    assert evidence.node_samples is not None
    rows = np.flatnonzero(select_feed_rows(evidence, FEEDS[1]))[40:42]
    evidence.node_samples.loc[rows, ["power_mw", "current_ma", "voltage_mv", "energy_mj"]] = np.nan
    evidence.node_samples.loc[rows, "status"] = "timeout"
    assert compute(evidence).headline.mean_power_w.mean == pytest.approx(before, rel=1e-3)


@pytest.mark.parametrize(("interval_ms", "is_reported"), [(1000, True), (40_000, False)])
def test_counter_and_power_may_differ_at_the_edges_of_a_short_run(
    submissions: Submissions, interval_ms: int, is_reported: bool
) -> None:
    """Half of the longer interval is 6 % of the scored epochs."""
    evidence = make_evidence_with_node_power()
    assert evidence.node_samples is not None
    evidence.node_samples[["power_mw", "current_ma"]] *= 0.967
    evidence.system["meters"][0]["interval_ms"] = interval_ms
    reported = {finding.rule for finding in judge(submissions.add(evidence)).findings}
    assert ("N108" in reported) == is_reported
