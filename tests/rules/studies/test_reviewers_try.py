"""A reviewer's try: alterations that a forger of a study would make, and what finds them. Those
that nothing finds are named in docs/forensics.md."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import copy_study

from rules.registry import study_rules
from rules.studies.bundle import StudyBundle
from rules.testing.frames import StudyFrames
from rules.testing.studies import MODELS, SLOWER, STEP_W, make_study_frames, state_figures
from rules.testing.study_mutations import (
    ANCHOR_MODEL,
    LARGEST,
    MODEL,
    count_batches,
    drop_points,
    find_points,
    keep_sessions,
    scale_readings,
    select_samples,
)

SHIFTED = [model.architecture for model in MODELS if model.architecture != ANCHOR_MODEL]


def find_rules(study: StudyFrames, rederive: bool = True) -> set[str]:
    """The ids of the rules that report a study. A careful forger states the figures that follow
    from the altered tables."""
    if rederive:
        state_figures(study)
    bundle = StudyBundle(Path("example"), (), study.evidence())
    return {finding.rule for rule in study_rules() for finding in rule.judge(bundle)}


def swap(study: StudyFrames, first: str, second: str, columns: tuple[str, ...]) -> None:
    """Exchange columns of the points of two models."""
    rows, other_rows = (study.points["architecture"] == name for name in (first, second))
    values, other_values = (study.points.loc[r, list(columns)].iloc[0] for r in (rows, other_rows))
    for column in columns:
        study.points.loc[rows, column] = other_values[column]
        study.points.loc[other_rows, column] = values[column]


def test_energies_shifted_in_study_json_are_found() -> None:
    study = copy_study()
    for result in study.study["figures"]["results"]:
        for figures in (result["best"], result["highest_throughput"]):
            figures["joules_per_image"] *= 0.9
    assert find_rules(study, rederive=False) == {"Y129"}


def test_energies_shifted_in_samples_are_found() -> None:
    study = copy_study()
    for architecture in SHIFTED:
        scale_readings(study, select_samples(study, find_points(study, architecture)), 0.9)
    assert find_rules(study) == {"Y127"}


def test_energies_shifted_in_long_windows_only_are_found_without_their_steps() -> None:
    study = copy_study()
    rows = select_samples(study, find_points(study, MODEL, "long"))
    scale_readings(study, rows, 0.88)
    round_to_steps(study)
    assert "Y103" in find_rules(study)


def test_energies_shifted_in_power_without_the_counter_are_found() -> None:
    study = copy_study()
    rows = select_samples(study, find_points(study, MODEL))
    study.samples.loc[rows, "power_mw"] *= 0.9
    round_to_steps(study)
    assert find_rules(study) == {"Y112"}


def test_energies_shifted_in_power_and_counter_and_rounded_to_steps_are_not_found() -> None:
    """docs/forensics.md names it: another measurement of the models finds it."""
    study = copy_study()
    for architecture in SHIFTED:
        scale_readings(study, select_samples(study, find_points(study, architecture)), 0.9)
    round_to_steps(study)
    assert find_rules(study) == set()


def test_more_batches_counted_than_ran_are_not_found() -> None:
    """docs/forensics.md names it: no sensor sees how many images a board computed."""
    study = copy_study()
    for number in find_points(study, MODEL):
        count_batches(study, number, 1.1)
    assert find_rules(study) == set()


def round_to_steps(study: StudyFrames) -> None:
    """Round power to the steps of the sensor, as a forger would who knows them."""
    power_w = study.samples["power_mw"].to_numpy() / 1e3
    study.samples["power_mw"] = np.round(np.round(power_w / STEP_W) * STEP_W * 1e3)


def test_swapped_names_of_models_are_found() -> None:
    study = copy_study()
    swap(study, LARGEST, MODEL, ("architecture",))
    assert find_rules(study) == {"Y117", "Y118"}


def test_swapped_models_are_found() -> None:
    """All that belongs to the models is exchanged, in the work too. Their order is then not that of
    the seed."""
    study = copy_study()
    swap(study, LARGEST, MODEL, ("architecture", "flops", "params", "activations"))
    names = {LARGEST: MODEL, MODEL: LARGEST}
    for entry in study.study["work"]:
        entry["architecture"] = names.get(entry["architecture"], entry["architecture"])
    assert find_rules(study) == {"Y118"}


@pytest.mark.parametrize("step", range(8))
def test_deleted_ladder_steps_are_found(step: int) -> None:
    study = copy_study()
    drop_points(study, [find_points(study, MODEL, "ladder")[step]])
    assert "Y105" in find_rules(study)


@pytest.mark.parametrize(
    ("precision", "rules"),
    [("fp16", {"Y118"}), ("tf32", {"Y118", "Y132"}), ("fp32", {"Y101", "Y118", "Y132"})],
)
def test_claim_of_another_precision_is_found(precision: str, rules: set[str]) -> None:
    """The precision is a part of what the seed orders. A seed that gives the same order to another
    precision is found in 1 of n! tries for n models."""
    study = copy_study()
    study.points["precision"] = precision
    study.study["settings"]["precisions"] = [precision]
    for entry in study.study["work"]:
        entry["precision"] = precision
    assert find_rules(study) == rules


def test_claim_of_another_precision_for_one_model_is_found() -> None:
    study = copy_study()
    study.points.loc[study.points["architecture"] == MODEL, "precision"] = "fp16"
    assert "Y119" in find_rules(study)


def shift_long_windows(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, MODEL, "long"))
    scale_readings(study, rows, 0.91)
    round_to_steps(study)


def hide_drift(study: StudyFrames) -> None:
    rows = select_samples(study, find_points(study, ANCHOR_MODEL, "anchor")[-1:])
    scale_readings(study, rows, 0.985)


def shorten_windows(study: StudyFrames) -> None:
    """By 0.4 %, so that windows keep 1 s and 10 s. The images stay."""
    numbers = find_points(study, MODEL)
    for number in numbers:
        start_ns = study.points.loc[number, "start_ns"]
        parts = study.batches["point"] == number
        for column in ("start_ns", "end_ns"):
            offsets_ns = study.batches.loc[parts, column] - start_ns
            study.batches.loc[parts, column] = start_ns + (offsets_ns * 0.996).astype("int64")
        study.points.loc[number, "end_ns"] = study.batches.loc[parts, "end_ns"].max()


def remove_model(study: StudyFrames) -> None:
    drop_points(study, find_points(study, MODEL))
    work = study.study["work"]
    study.study["work"] = [entry for entry in work if entry["architecture"] != MODEL]


def state_as_skipped(study: StudyFrames) -> None:
    drop_points(study, find_points(study, MODEL))
    (entry,) = (e for e in study.study["work"] if e["architecture"] == MODEL)
    entry.update(status="skipped", reason="failed: the worker died")


def state_as_not_reached(study: StudyFrames) -> None:
    drop_points(study, find_points(study, MODEL))
    (entry,) = (e for e in study.study["work"] if e["architecture"] == MODEL)
    entry.update(status="not-reached", session=None, accelerator=None)


def invent_out_of_memory(study: StudyFrames) -> None:
    """The ladder ends above the larger long window."""
    largest = study.points["batch"][find_points(study, MODEL, "long")].max()
    ladder = find_points(study, MODEL, "ladder")
    first, *others = ladder[study.points["batch"][ladder] > largest]
    start_ns = study.points.loc[first, "start_ns"]
    columns = ["outcome", "items", "end_ns"]
    study.points.loc[first, columns] = ["out-of-memory", 0, start_ns]
    study.batches = study.batches[study.batches["point"] != first]
    drop_points(study, others)


def double_activations(study: StudyFrames) -> None:
    study.points.loc[find_points(study, MODEL), "activations"] *= 2


def double_flops_of_small_model(study: StudyFrames) -> None:
    study.points.loc[find_points(study, "mobilenetv3_large_100"), "flops"] *= 2


@pytest.mark.parametrize(
    "alter",
    [
        shift_long_windows,
        hide_drift,
        shorten_windows,
        remove_model,
        state_as_skipped,
        state_as_not_reached,
        invent_out_of_memory,
        double_activations,
        double_flops_of_small_model,
    ],
)
def test_alterations_that_docs_name_are_not_found(alter: Callable[[StudyFrames], None]) -> None:
    """docs/forensics.md names them. If a rule finds one, the page has to say so."""
    study = copy_study()
    alter(study)
    assert find_rules(study) == set()


def test_session_left_out_is_not_found() -> None:
    study = copy_study(sessions=2)
    keep_sessions(study, 1)
    assert find_rules(study) == set()


def test_other_models_measured_than_stated_are_not_found() -> None:
    """The program exchanges two models from the start, so that their order is that of the seed."""
    columns = ("images_per_s", "full_power_w", "half_batch", "knee_batch", "memory_batch")
    first, second = (m for m in MODELS if m.architecture in (MODEL, "efficientnet_b0"))
    exchanged = {
        model.architecture: replace(model, **{name: getattr(other, name) for name in columns})
        for model, other in ((first, second), (second, first))
    }
    models = [exchanged.get(model.architecture, model) for model in MODELS]
    assert find_rules(make_study_frames(models)) == set()


def test_another_precision_measured_than_stated_is_found_by_its_anchors_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SLOWER, "tf32", SLOWER["bf16"])
    assert find_rules(make_study_frames(setups=(("cudagraph", "tf32"),))) == {"Y132"}
