"""No rule on studies breaks on evidence that has the right form and makes no sense."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import copy_study

from rules.checks.study import model_sizes_differ, study_window_too_short
from rules.checks.study.study_energy_disagrees import is_in_step
from rules.finding import Finding
from rules.registry import study_rules
from rules.rule import MAX_FINDINGS
from rules.studies.bundle import StudyBundle
from rules.testing.frames import StudyFrames
from rules.testing.studies import state_figures
from rules.testing.study_mutations import LARGEST, OTHER_MODEL, drop_points, find_points


def make_bundle(study: StudyFrames) -> StudyBundle:
    return StudyBundle(Path("example"), (), study.evidence())


def list_findings(study: StudyFrames) -> list[Finding]:
    return [finding for rule in study_rules() for finding in rule.judge(make_bundle(study))]


def no_samples(study: StudyFrames) -> None:
    study.samples = study.samples.iloc[:0]


def one_sample(study: StudyFrames) -> None:
    study.samples = study.samples.iloc[:1]


def no_points(study: StudyFrames) -> None:
    drop_points(study, range(len(study.points)))


def one_point(study: StudyFrames) -> None:
    drop_points(study, range(1, len(study.points)))


def only_anchors(study: StudyFrames) -> None:
    drop_points(study, np.flatnonzero(study.points["kind"] != "anchor"))


def only_long_points(study: StudyFrames) -> None:
    drop_points(study, np.flatnonzero(study.points["kind"] != "long"))


def no_point_ran(study: StudyFrames) -> None:
    study.points["outcome"] = "out-of-memory"
    study.points["items"] = 0
    study.points["end_ns"] = study.points["start_ns"]
    study.batches = study.batches.iloc[:0]


def points_in_reverse(study: StudyFrames) -> None:
    count = len(study.points)
    study.points = study.points.iloc[::-1].reset_index(drop=True)
    study.batches["point"] = count - 1 - study.batches["point"]


def all_readings_empty(study: StudyFrames) -> None:
    for column in study.samples.columns[4:-1]:
        study.samples[column] = "" if column == "power_state" else float("nan")


def all_readings_zero(study: StudyFrames) -> None:
    for column in study.samples.columns[4:-1]:
        study.samples[column] = "" if column == "power_state" else 0.0


def readings_as_large_as_can_be(study: StudyFrames) -> None:
    for column in study.samples.columns[4:-1]:
        study.samples[column] = "" if column == "power_state" else 2.0**63


def sample_times_all_the_same(study: StudyFrames) -> None:
    study.samples[["scheduled_ns", "read_ns"]] = 0


def windows_as_late_as_can_be(study: StudyFrames) -> None:
    for table in (study.points, study.batches):
        table["start_ns"], table["end_ns"] = 2**63 - 2, 2**63 - 1


def models_of_size_zero(study: StudyFrames) -> None:
    study.points[["flops", "params", "activations"]] = 0


def unknown_board(study: StudyFrames) -> None:
    study.system["nodes"][0]["accelerators"][0]["name"] = "Unheard-of 9000"


def nothing_declared(study: StudyFrames) -> None:
    session = study.study["sessions"][0]
    session["power"] = {"mode": "as-found", "cap_w": None, "state": None}
    session.update(idle_w=None, versions={}, readbacks=[], clocks=[])
    study.study["figures"] = {}


def settings_of_zero(study: StudyFrames) -> None:
    settings = study.study["settings"]
    settings.update(max_batch=1, early_stop_sizes=1, early_stop_share=0.0)
    settings["anchor"]["every"] = 1


def work_of_other_models(study: StudyFrames) -> None:
    for entry in study.study["work"]:
        entry["architecture"] += "_other"


NONSENSE = [
    no_samples,
    one_sample,
    no_points,
    one_point,
    only_anchors,
    only_long_points,
    no_point_ran,
    points_in_reverse,
    all_readings_empty,
    all_readings_zero,
    readings_as_large_as_can_be,
    sample_times_all_the_same,
    windows_as_late_as_can_be,
    models_of_size_zero,
    unknown_board,
    nothing_declared,
    settings_of_zero,
    work_of_other_models,
]
HARMLESS = (points_in_reverse, unknown_board)
"""The order of rows means nothing, and another board only changes the name of the setup."""


@pytest.mark.parametrize(("most", "found"), [(8192, set()), (8191, {"Y128"})])
def test_ladders_end_at_the_size_of_the_method(most: int, found: set[str]) -> None:
    study = copy_study()
    study.study["settings"]["max_batch"] = most
    assert {finding.rule for finding in list_findings(study)} & {"Y128"} == found


@pytest.mark.parametrize("spoil", NONSENSE, ids=lambda spoil: spoil.__name__)
def test_no_rule_breaks_on_a_study_of_right_form(spoil: Callable[[StudyFrames], None]) -> None:
    study = copy_study()
    spoil(study)
    findings = list_findings(study)
    assert findings or spoil in HARMLESS, "nonsense passed for a good study"
    for rule in study_rules():
        assert sum(finding.rule == rule.id for finding in findings) <= MAX_FINDINGS + 1


def test_batches_of_a_long_window_are_those_of_all_its_parts() -> None:
    study = copy_study()
    number = find_points(study, OTHER_MODEL, "long")[0]
    rows = study.batches.index[study.batches["point"] == number]
    for lacking in (0, 1):
        study.batches.loc[rows, "batches"] = [2] * (3 - lacking) + [1] * (7 + lacking)
        bundle = StudyBundle(Path("example"), (), study.evidence())
        assert bundle.method.long_batches == 13
        found = [f.found.split(": ")[1] for f in study_window_too_short.RULE.judge(bundle)]
        assert found == ["12 batches"] * lacking


def test_simulated_boards_and_shortened_windows_are_judged_as_a_demo() -> None:
    simulated, shortened = copy_study(), copy_study()
    simulated.system["nodes"][0]["accelerators"][0]["name"] = "Simulated H200"
    shortened.study["settings"]["long_s"] = 1.0
    assert make_bundle(simulated).judged_standing == "demo"
    assert make_bundle(shortened).judged_standing == "demo"


@pytest.mark.parametrize(
    ("architecture", "size", "flops", "params"),
    # As the reference implementation counts them.
    [
        ("repvgg_a0", 224, 3_025_162_240, 9_108_968),
        ("sequencer2d_s", 224, 16_668_014_592, 27_651_688),
        ("convmixer_768_32", 224, 41_353_703_424, 21_110_248),
        ("resnetv2_50x1_bit", 224, 8_178_368_512, 25_549_352),
        ("dm_nfnet_f0", 192, 13_954_007_040, 71_489_284),
    ],
)
def test_models_that_timm_counts_otherwise_have_no_wrong_sizes(
    architecture: str, size: int, flops: int, params: int
) -> None:
    study = copy_study()
    rows = study.points.index[study.points["architecture"] == LARGEST]
    sizes = {"architecture": architecture, "size": size, "flops": flops, "params": params}
    for column, value in sizes.items():
        study.points.loc[rows, column] = value
    assert list(model_sizes_differ.RULE.judge(make_bundle(study))) == []
    study.points.loc[rows, "params"] = round(0.97 * params)
    assert len(list(model_sizes_differ.RULE.judge(make_bundle(study)))) == 1


def test_samples_between_windows_may_be_left_out() -> None:
    """A bundle has the samples around windows only. Building a model takes longer than a window."""
    study = copy_study()
    read_ns = study.samples["read_ns"].to_numpy()
    near = np.zeros(len(read_ns), dtype=bool)
    for start_ns, end_ns in zip(study.points["start_ns"], study.points["end_ns"], strict=True):
        near |= (read_ns > start_ns - 110_000_000) & (read_ns < end_ns + 110_000_000)
    study.samples = study.samples[near].reset_index(drop=True)
    state_figures(study)
    assert list_findings(study) == []


def test_later_session_may_have_an_earlier_monotonic_clock() -> None:
    """Each machine counts from its own start."""
    study = copy_study(sessions=2)
    is_second, windows = (study.points["session"] == 1).to_numpy(), ["start_ns", "end_ns"]
    readings = study.samples["node"] == "session1"
    shift_ns = 9_900_000_000_000
    study.points.loc[is_second, windows] -= shift_ns
    study.batches.loc[is_second[study.batches["point"]], windows] -= shift_ns
    study.samples.loc[readings, ["scheduled_ns", "read_ns"]] -= shift_ns
    for pair in study.study["sessions"][1]["clocks"]:
        pair["monotonic_ns"] -= shift_ns
    assert list_findings(study) == []


@pytest.mark.parametrize(
    ("batch_ms", "expected"),
    [(49.9991, True), (29.9995, True), (21.959, False), (15.58, False), (1.3696, False)],
)
def test_batches_in_step_with_samples_are_known(batch_ms: float, expected: bool) -> None:
    """The first is resnet18 at batch 2048 on an H200: 7.5 % between counter and samples."""
    assert is_in_step(batch_ms / 1e3, 10.15) == expected
