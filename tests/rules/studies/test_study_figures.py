"""The figures of a whole study, and study.json that states them."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from support.bundles import write_study_bundle
from support.rules.model_results import in_setup, make_result

import rules.studies.figures
from rules.bundle_format.files import read_files
from rules.bundle_format.records import Json
from rules.bundle_format.study_load import read_study
from rules.checks.study.study_figures_differ import RULE
from rules.metrics.energy import MetricsError
from rules.studies.accuracy import read_shipped_table
from rules.studies.bundle import StudyBundle
from rules.studies.figures import StudyFigures, compute_study_figures, keep_sound
from rules.studies.figures_json import find_figure_differences, study_figures_to_json
from rules.studies.metrics.batches import (
    find_batch,
    find_batch_findings,
    find_highest_throughput,
    find_least_latency,
)
from rules.studies.plausibility import POWER_OUTSIDE_LIMITS, THROUGHPUT_ABOVE_PEAK
from rules.testing.frames import StudyFrames
from rules.testing.studies import make_study_frames

SCHEMA = Path(__file__).parents[3] / "rules" / "bundle_format" / "schemas" / "study-1.json"
SETUPS = (("cudagraph", "bf16"), ("eager", "tf32-conv"))


def compute(frames: StudyFrames) -> StudyFigures:
    return compute_study_figures(
        StudyBundle(Path("study"), (), frames.evidence()), read_shipped_table()
    )


@cache
def make_frames() -> StudyFrames:
    return make_study_frames(setups=SETUPS, sessions=2)


@pytest.fixture(scope="module")
def figures() -> StudyFigures:
    return compute(make_frames())


@pytest.fixture(scope="module")
def document(figures: StudyFigures) -> Json:
    return study_figures_to_json(figures)


def test_each_model_has_the_result_of_its_long_windows(figures: StudyFigures) -> None:
    assert len(figures.results) == 12
    assert {(r.setup.engine, r.setup.precision) for r in figures.results} == set(SETUPS)
    for result in figures.results:
        longs = [batch for batch in result.batches if batch.is_long]
        assert len(longs) == 2
        assert result.best == min(longs, key=lambda batch: batch.joules_per_image)
        assert result.best.joules_ci95 is not None
        low, high = result.best.joules_ci95
        assert low < result.best.joules_per_image < high
        assert [b.batch for b in result.batches] == [2**i for i in range(len(result.batches))]
        assert result.max_batch == result.batches[-1].batch
        assert result.accuracy_pct["imagenet"] > 50
        assert result.best.mean_power_w == pytest.approx(
            result.best.images_per_s * result.best.joules_per_image
        )
        assert result.best.latency_s == pytest.approx(result.best.batch / result.best.images_per_s)


def test_other_batches_of_a_model_are_found(figures: StudyFigures) -> None:
    result = next(r for r in figures.results if r.architecture == "resnet50")
    single, least = find_batch(result, 1), find_least_latency(result)
    assert single is not None and single == least
    assert single.joules_per_image > result.best.joules_per_image
    assert find_highest_throughput(result).batch > result.best.batch
    assert find_batch(result, 3) is None
    alone = replace(result, best=replace(result.best, latency_s=None), batches=())
    assert find_least_latency(alone) is None
    assert find_batch_findings([alone]) is None


def test_setups_are_in_an_order_of_their_own(figures: StudyFigures) -> None:
    assert [(s.setup.engine, s.models) for s in figures.setups] == [("cudagraph", 6), ("eager", 6)]
    (comparison,) = figures.comparisons
    assert comparison.numerator.engine == "cudagraph"
    # The made study runs four times slower at the same power.
    assert comparison.energy_ratio.value == pytest.approx(0.25, rel=0.01)
    batches = figures.setups[0].batches
    assert batches is not None and batches.batch_one_energy_ratio is not None
    assert batches.batch_one_energy_ratio.value > 1.5


def test_windows_of_a_batch_size_are_added_up() -> None:
    """A study that measured all again on the same board has the same models, with less error."""
    frames = make_study_frames(sessions=1)
    once = compute(frames).results
    again = StudyFrames(
        frames.study,
        frames.system,
        frames.environment,
        frames.samples,
        frames.points.loc[[*frames.points.index, *frames.points.index]],
        frames.batches.loc[[*frames.batches.index, *frames.batches.index]].copy(),
        frames.log,
    )
    again.batches.iloc[len(frames.batches) :, 0] += len(frames.points)
    twice = compute(again).results
    assert [r.architecture for r in twice] == [r.architecture for r in once]
    for single, double in zip(once, twice, strict=True):
        assert double.best.joules_per_image == pytest.approx(single.best.joules_per_image)
        assert double.best.images_per_s == pytest.approx(single.best.images_per_s)
        assert single.best.joules_ci95 is not None and double.best.joules_ci95 is not None
        widths = [high - low for low, high in (single.best.joules_ci95, double.best.joules_ci95)]
        assert widths[1] == pytest.approx(widths[0] / 2**0.5)


def test_stated_figures_are_those_of_the_written_bundle(document: Json, tmp_path: Path) -> None:
    frames = make_frames()
    stated = StudyFrames(**{**vars(frames), "study": {**frames.study, "figures": document}})
    write_study_bundle(stated, tmp_path / "study")
    evidence, problems = read_study(read_files(tmp_path / "study"))
    assert evidence is not None and problems == []
    bundle = StudyBundle(tmp_path / "study", (), evidence)
    again = study_figures_to_json(compute_study_figures(bundle, read_shipped_table()))
    assert list(find_figure_differences(evidence.study["figures"], again)) == []


def test_schema_has_all_figures(document: Json) -> None:
    figures_schema = json.loads(SCHEMA.read_text())["properties"]["figures"]
    assert list(figures_schema["properties"]) == list(document)
    # A study of all models stays far below the limits of a bundle.
    assert len(json.dumps(document["results"])) < 700 * len(document["results"])


def test_numbers_have_six_digits(document: Json) -> None:
    best = document["results"][0]["best"]
    assert all(float(f"{value:.6g}") == value for value in best.values() if type(value) is float)


def test_figures_are_the_same_from_the_same_evidence(document: Json) -> None:
    again = study_figures_to_json(compute(make_study_frames(setups=SETUPS, sessions=2)))
    assert again == document
    assert list(find_figure_differences(json.loads(json.dumps(document)), again)) == []


@pytest.mark.parametrize(
    ("pointer", "change"),
    [
        ("/figures/results/0/best/joules_per_image", lambda value: 1.0001 * value),
        ("/figures/anchors/1/drift", lambda value: value + 1e-6),
        ("/figures/setups/0/fit/activations/ci95/0", lambda value: value + 1e-3),
        ("/figures/setups/1/models", lambda value: value + 1),
        ("/figures/comparisons/0/numerator/engine", lambda value: "compile"),
        ("/figures/fronts/0/levels/0/result/architecture", lambda value: "other"),
        ("/figures/fronts/1/decades", lambda value: value[:-1]),
    ],
)
def test_another_figure_is_a_difference(document: Json, pointer: str, change: object) -> None:
    stated = json.loads(json.dumps(document))
    *keys, last = [int(key) if key.isdigit() else key for key in pointer.split("/")[2:]]
    parent = stated
    for key in keys:
        parent = parent[key]
    parent[last] = change(parent[last])  # type: ignore[operator]
    assert [place for place, _, _ in find_figure_differences(stated, document)] == [pointer]


def test_absent_figures_are_differences(document: Json) -> None:
    places = [place for place, _, _ in find_figure_differences({}, document)]
    assert places == [f"/figures/{key}" for key in document]


def test_anchors_are_no_results() -> None:
    frames = make_study_frames()
    points = frames.points.copy()
    # A batch size without any other window.
    points.loc[points["kind"] == "anchor", "batch"] = 3
    changed = StudyFrames(**{**vars(frames), "points": points})
    assert compute(changed).results == compute(frames).results


def test_doubtful_energies_are_left_out() -> None:
    claimed = in_setup(make_result("a", 1.0), claimed_precision="fp32")
    above_peak, low_power = (THROUGHPUT_ABOVE_PEAK,), (POWER_OUTSIDE_LIMITS,)
    assert keep_sound([claimed]) == (claimed,)
    # The peak of the claimed precision says nothing about the energy.
    assert keep_sound([replace(claimed, doubts=above_peak)])
    assert keep_sound([replace(make_result("a", 1.0), doubts=above_peak)]) == ()
    assert keep_sound([replace(claimed, doubts=low_power)]) == ()
    assert keep_sound([replace(claimed, doubts=above_peak + low_power)]) == ()


def test_more_setups_than_can_be_compared_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each two setups are compared: thousands of them would keep the checker busy for hours."""
    monkeypatch.setattr(rules.studies.figures, "MAX_SETUPS", 1)
    with pytest.raises(MetricsError, match="the points have 2 setups; at most 1 are compared"):
        compute(make_frames())
    bundle = StudyBundle(Path("study"), (), make_frames().evidence())
    (finding,) = RULE.judge(bundle)
    assert (finding.rule, finding.pointer) == ("Y129", "/figures")


def test_result_needs_a_long_window() -> None:
    frames = make_study_frames()
    kept = (frames.points["kind"] != "long").to_numpy()
    numbers = kept.cumsum() - 1
    frames.points = frames.points[kept]
    batches = frames.batches[kept[frames.batches["point"]]]
    frames.batches = batches.assign(point=numbers[batches["point"]])
    figures = compute(frames)
    assert figures.results == figures.setups == figures.comparisons == figures.fronts == ()
    assert len(figures.drifts[0].joules_per_image) == 2
