"""The reviewer's try on a measured study of image models on H200s."""

import copy
from pathlib import Path

import numpy as np
import pytest

from rules.bundle_format.files import read_files
from rules.bundle_format.study_load import read_study
from rules.finding import Finding
from rules.registry import study_rules
from rules.studies.bundle import StudyBundle
from rules.testing.frames import StudyFrames
from rules.testing.studies import state_figures
from rules.testing.study_mutations import drop_points, exchange_models, find_points

REFERENCE = Path(__file__).parents[3] / "submissions" / "reference"
MEASURED = max(REFERENCE.glob("*/*/study.json"), key=lambda path: path.stat().st_size).parent
"""The study with the most models."""


@pytest.fixture(scope="module")
def measured() -> StudyFrames:
    evidence, problems = read_study(read_files(MEASURED))
    assert evidence is not None, problems
    return StudyFrames.of(evidence)


@pytest.fixture
def study(measured: StudyFrames) -> StudyFrames:
    return copy.deepcopy(measured)


def list_findings(study: StudyFrames) -> list[Finding]:
    """The findings on the altered study, with the figures that follow from its tables."""
    state_figures(study)
    bundle = StudyBundle(Path("measured"), (), study.evidence())
    return [finding for rule in study_rules() for finding in rule.judge(bundle)]


def list_models(study: StudyFrames) -> list[str]:
    models = (e["architecture"] for e in study.study["work"] if e["status"] == "measured")
    return list(dict.fromkeys(models))


def scale_models(study: StudyFrames, models: list[str], share: float) -> None:
    """Multiply power and counter in all windows of some models by `share`."""
    samples, points = study.samples, study.points
    read_ns = samples["read_ns"].to_numpy()
    boards = (samples["node"] + samples["accelerator"]).to_numpy()
    scaled = np.zeros(len(samples), dtype=bool)
    for point in points[points["architecture"].isin(models)].itertuples():
        scaled |= (
            (boards == f"session{point.session}{point.accelerator}")
            & (read_ns >= point.start_ns)
            & (read_ns <= point.end_ns)
        )
    for column in ("power_mw", "power_avg_mw"):
        samples.loc[scaled, column] = (samples.loc[scaled, column] * share).round()
    for board in np.unique(boards):
        rows = np.flatnonzero(boards == board)
        energy_mj = samples["energy_mj"].to_numpy()[rows]
        steps_mj = np.diff(energy_mj, prepend=energy_mj[0])
        steps_mj[scaled[rows]] *= share
        samples.loc[rows, "energy_mj"] = np.round(energy_mj[0] + np.cumsum(steps_mj))


def test_energies_of_ten_models_lowered_by_ten_percent_are_found(study: StudyFrames) -> None:
    models = list_models(study)[:10]
    scale_models(study, models, 0.9)
    steps = [finding.found for finding in list_findings(study) if finding.rule == "Y127"]
    lowered = {model for model in models if any(text.startswith(f"{model}@") for text in steps)}
    assert lowered == set(models)


def test_two_models_exchanged_are_found(study: StudyFrames) -> None:
    first, second = list_models(study)[3:5]
    names = {first: second, second: first}
    study.points["architecture"] = study.points["architecture"].replace(names)
    for entry in study.study["work"]:
        entry["architecture"] = names.get(entry["architecture"], entry["architecture"])
    rules = {finding.rule for finding in list_findings(study)}
    assert {"Y117", "Y118"} <= rules


@pytest.mark.parametrize("session", [0, 6])
def test_models_of_a_board_exchanged_with_their_sizes_are_found(
    study: StudyFrames, session: int
) -> None:
    entries = [entry for entry in study.study["work"] if entry["session"] == session]
    board = entries[0]["accelerator"]
    names = [entry["architecture"] for entry in entries if entry["accelerator"] == board]
    exchange_models(study, *names[1:3])
    assert "Y118" in {finding.rule for finding in list_findings(study)}


def test_deleted_ladder_step_is_found(study: StudyFrames) -> None:
    drop_points(study, [find_points(study, list_models(study)[2], "ladder")[3]])
    assert "Y105" in {finding.rule for finding in list_findings(study)}


@pytest.mark.parametrize("precision", ["fp16", "tf32", "fp32"])
def test_claim_of_another_precision_is_found(study: StudyFrames, precision: str) -> None:
    study.points["precision"] = precision
    study.study["settings"]["precisions"] = [precision]
    for entry in study.study["work"]:
        entry["precision"] = precision
    assert "Y118" in {finding.rule for finding in list_findings(study)}
