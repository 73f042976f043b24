"""What the rules find in the data that Yang, Adámek and Armour released, by setup. The pages of the
rules state these counts. Most findings are no marks on rows: these need a quotation."""

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from rules.studies.plausibility import find_doubts
from rules.studies.published import read_published_study
from rules.studies.results import ModelResult

YANG = Path(__file__).parents[3] / "submissions" / "published" / "yang2025.json"
TDP_H100_W = 310
Setup = tuple[str, str]


@pytest.fixture(scope="module")
def results() -> tuple[ModelResult, ...]:
    """The results with all that the rules find, as if the publication stated FP32 for PyTorch."""
    published = [
        replace(result, setup=replace(result.setup, claimed_precision="fp32"))
        if result.setup.engine == "eager"
        else result
        for result in read_published_study(YANG).results
    ]
    return tuple(
        replace(result, doubts=doubts)
        for result, doubts in zip(published, find_doubts(published), strict=True)
    )


def name_setup(result: ModelResult) -> Setup:
    return result.setup.board.split()[1].split("-")[0], result.setup.engine


def test_counts_by_rule_and_setup(results: tuple[ModelResult, ...]) -> None:
    counts = Counter((name_setup(result), rule) for result in results for rule in result.doubts)
    a100_pt, a100_trt = ("A100", "eager"), ("A100", "tensorrt")
    h100_pt, h100_trt = ("H100", "eager"), ("H100", "tensorrt")
    assert counts == {
        (a100_pt, "Y101"): 422,
        (h100_pt, "Y101"): 72,
        (a100_pt, "Y102"): 8,
        (a100_trt, "Y102"): 7,
        (h100_pt, "Y102"): 27,
        (h100_trt, "Y102"): 6,
        (a100_trt, "Y103"): 2,
        (h100_pt, "Y103"): 14,
        (a100_trt, "Y104"): 1,
    }
    doubtful = Counter(name_setup(result) for result in results if result.doubts)
    assert doubtful == {a100_pt: 430, a100_trt: 10, h100_pt: 108, h100_trt: 6}
    assert Counter(map(name_setup, results)) == {
        a100_pt: 1435,
        a100_trt: 1405,
        h100_pt: 1435,
        h100_trt: 1405,
    }


def test_failed_power_readings_with_a_sound_twin_are_found(
    results: tuple[ModelResult, ...],
) -> None:
    low = [
        result
        for result in results
        if name_setup(result) == ("H100", "eager")
        and result.best.mean_power_w < 0.8 * TDP_H100_W
        and "Y103" in result.doubts
    ]
    assert len(low) == 11
    assert any(result.architecture == "eva_large_patch14_196" for result in low)


def test_power_of_h100_with_pytorch_is_low_in_some_rows(results: tuple[ModelResult, ...]) -> None:
    powers_w = [r.best.mean_power_w for r in results if name_setup(r) == ("H100", "eager")]
    counts = [sum(power_w < share * TDP_H100_W for power_w in powers_w) for share in (0.5, 0.8)]
    assert counts == [27, 44]


def test_twins_differ_by_about_one_percent(results: tuple[ModelResult, ...]) -> None:
    """Twins are the same architecture and size with other weights. rules/studies/plausibility.py
    states these figures: they are the noise of the method."""
    energies: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for result in results:
        key = *name_setup(result), result.architecture, str(result.size)
        energies[key].append(result.best.joules_per_image)
    groups = {key: values for key, values in energies.items() if len(values) > 1}
    spreads_pct: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for key, values in groups.items():
        spreads_pct[key[:2]].append(100 * (max(values) / min(values) - 1))
    assert {len(spreads) for spreads in spreads_pct.values()} == {232}
    assert sum(map(len, groups.values())) == 4 * 589
    medians = sorted(round(median(spreads), 1) for spreads in spreads_pct.values())
    assert medians == [0.2, 0.4, 1.1, 1.1]


def test_slow_convnext_on_a100_with_tensorrt_is_found(results: tuple[ModelResult, ...]) -> None:
    (result,) = (result for result in results if "Y104" in result.doubts)
    assert (result.architecture, result.size) == ("convnext_large", 288)
    assert name_setup(result) == ("A100", "tensorrt")
    assert result.best.joules_per_image == pytest.approx(0.795, abs=1e-3)
