"""Bounds of boards by the names that other programs give them."""

import math

import pytest

from rules.audit.limits import find_limits
from rules.boards import BOARDS


@pytest.mark.parametrize(
    ("name", "max_power_w"),
    [
        ("NVIDIA H200", 700),
        ("h100", 700),
        ("H100 PCIe", 350),
        ("A100-80GB", 400),
        ("A100", None),  # one board of this model has no known limit
        ("NVIDIA A100 80GB PCIe", 300),
        ("b200", 1000),
        ("gb200-nvl72", 1200),
        ("mi355x", 1400),
        ("a40", 300),
    ],
)
def test_name_means_the_widest_of_its_boards(name: str, max_power_w: float | None) -> None:
    limits = find_limits(name)
    assert limits is not None and limits.max_power_w == max_power_w


@pytest.mark.parametrize(
    "name", ["", "NVIDIA RTX 9999 Generation", "RTX", "H1000", "Simulated GPU"]
)
def test_unknown_board_has_no_bounds(name: str) -> None:
    assert find_limits(name) is None


def test_board_without_known_peaks_has_no_bound() -> None:
    without = [board for board in BOARDS if not board.peak_tflops and board.names]
    assert without
    limits = find_limits(without[0].names[0])
    assert limits is not None and limits.peak_flops("bf16") == math.inf


@pytest.mark.parametrize(
    ("precision", "factor"), [("bfloat16", 1.0), ("fp8", 2.0), ("mxfp4", 8.0), ("", 8.0)]
)
def test_unknown_precision_has_the_widest_peak(precision: str, factor: float) -> None:
    limits = find_limits("B200")
    assert limits is not None
    assert limits.peak_flops(precision) == pytest.approx(factor * 2250e12)
