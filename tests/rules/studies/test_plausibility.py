"""Whether results are plausible: against the peak, the limits of power, and twins."""

from rules.boards import find_board
from rules.studies.plausibility import (
    Observation,
    find_costly_twins,
    find_doubts,
    find_low_twins,
    share_of_peak,
)
from rules.studies.results import BatchFigures, ModelResult, Setup

SETUP = Setup("made", "published", "NVIDIA H100 PCIe", "eager", "fp32", 310.0)


def make_result(
    images_per_s: float, power_w: float, architecture: str = "made", flops: float = 1e9
) -> ModelResult:
    best = BatchFigures(64, images_per_s, power_w / images_per_s, power_w)
    return ModelResult(SETUP, architecture, None, 224, "cnn", best, flops=flops)


def test_peak_is_that_of_the_precision() -> None:
    board = find_board("NVIDIA H100 PCIe")
    assert board is not None
    assert share_of_peak(board, "fp32", 1e9, 51_200) == 1
    # PyTorch's default computes convolutions in TF32.
    assert share_of_peak(board, "tf32-conv", 1e9, 378_000) == 1
    assert share_of_peak(board, "int4", 1e9, 1) is None


def test_doubts_name_the_rules() -> None:
    results = [
        make_result(1000, 300, "sound"),
        make_result(51_300, 300, "above-peak"),
        make_result(1000, 154, "below-half-of-the-cap"),
        make_result(1000, 317, "above-the-cap"),
        make_result(1000, 300, "low-twin"),
        make_result(1040, 260, "low-twin"),
        make_result(500, 300, "costly-twin"),
        make_result(1000, 300, "costly-twin"),
    ]
    assert find_doubts(results) == (
        (),
        ("Y101",),
        ("Y102",),
        ("Y102",),
        (),
        ("Y103",),
        ("Y104",),
        (),
    )


def test_twins_of_other_throughput_tell_nothing_about_power() -> None:
    twins = [Observation(1000, 300), Observation(940, 200)]
    assert find_low_twins(["a", "a"], twins) == {}
    assert find_low_twins(["a", "b"], [Observation(1000, 300), Observation(1000, 200)]) == {}


def test_twin_whose_reading_failed_tells_nothing_about_energy() -> None:
    assert find_costly_twins(["a", "a"], [Observation(1000, 300), Observation(1000, 90)]) == {}
