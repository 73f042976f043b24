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
from rules.testing.study_mutations import drop_points, find_points

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


def list_models(study: StudyFrames, session: int | None = None) -> list[str]:
    """The measured architectures, or those of one session, in the order of the work."""
    entries = (e for e in study.study["work"] if e["status"] == "measured")
    entries = (e for e in entries if session in (None, e["session"]))
    return list(dict.fromkeys(e["architecture"] for e in entries))


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


def exchange(study: StudyFrames, names: list[str], columns: tuple[str, ...] = ()) -> None:
    """Exchange the names of two models everywhere, and other columns of their points."""
    points = study.points
    rows = [points["architecture"] == name for name in names]
    values = [points.loc[selected, ["architecture", *columns]].iloc[0] for selected in rows]
    for selected, other in zip(rows, reversed(values), strict=True):
        points.loc[selected, list(other.index)] = other.to_list()
    architectures = dict(zip(names, reversed(names), strict=True))
    for entry in study.study["work"]:
        entry["architecture"] = architectures.get(entry["architecture"], entry["architecture"])


def test_two_models_exchanged_are_found(study: StudyFrames) -> None:
    exchange(study, list_models(study, session=0)[3:5])
    rules = {finding.rule for finding in list_findings(study)}
    assert {"Y117", "Y118"} <= rules


def test_models_exchanged_with_their_sizes_are_found_where_no_session_added_models(
    study: StudyFrames,
) -> None:
    """A session after the first one may have added models, in an order of their own. One more fall
    in the order is then no contradiction (docs/forensics.md)."""
    late = copy.deepcopy(study)
    sizes = ("flops", "params", "activations")
    exchange(study, list_models(study, session=0)[3:5], sizes)
    assert "Y118" in {finding.rule for finding in list_findings(study)}
    exchange(late, ["convformer_m36", "coatnet_2_rw_224"], sizes)
    assert not {"Y117", "Y118"} & {finding.rule for finding in list_findings(late)}


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
