"""What one board is known to reach: the committed results in full size, and what a lower cap is
known to save.

A rule that judges a bundle alone needs them, because an installed rule book has no other bundles.
Tests compare them with `submissions/reference/` and `submissions/published/`. A committed run
beyond them (T123) stays out until another board repeats it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rules.boards import find_board
from rules.bundle import Bundle
from rules.metrics.power.clock_limit import have_clock_below_ceilings
from rules.metrics.power.series import Series


@dataclass(frozen=True)
class KnownResult:
    """The committed runs of one board, workload, variant and batch size, per accelerator."""

    items_per_s: float
    """The best."""
    items_per_joule: float
    """The best."""
    items_per_megacycle: float
    """Items in a million cycles of the mean SM clock: the most."""
    least_per_megacycle: float
    """The least of them."""
    highest_mhz: float
    """The highest mean SM clock."""
    capped_power: float
    """The least mean power of their boards as a share of the cap, if all of them name the power cap
    in 90 % of the samples; otherwise 0."""


KNOWN_CAP_W = 700.0
"""The cap of all these runs."""
SAME_CAP = 0.05
"""Largest difference of caps that count as equal, as a share."""
AT_CAP = 0.85
"""Power of known runs, as a share of the cap, from which the cap is their limit."""
BELOW_CEILINGS_SHARE = 0.1
"""Share of samples with a clock below every ceiling from which the cap is the limit."""
KNOWN_RESULTS: Mapping[tuple[str, str, str, int], KnownResult] = {
    ("H100", "resnet50-train", "tuned", 256): KnownResult(
        5695, 8.6905, 2.8763, 2.8763, 1980.0, 0.000
    ),
    ("H100", "resnet50-train", "tuned", 512): KnownResult(
        5960, 8.6703, 3.065, 3.065, 1944.5, 0.982
    ),
    ("H100", "resnet50-train", "tuned", 1024): KnownResult(
        6111.1, 8.9493, 3.1995, 3.1559, 1936.0, 0.975
    ),
    ("H200", "resnet50-train", "baseline", 512): KnownResult(
        2238.8, 3.4153, 1.1428, 1.1428, 1959.1, 0.937
    ),
    ("H200", "resnet50-train", "mayr", 256): KnownResult(
        2209.2, 3.521, 1.1168, 1.1168, 1978.3, 0.000
    ),
    ("H200", "resnet50-train", "tuned", 256): KnownResult(
        6711.9, 9.7042, 3.5594, 3.5594, 1885.7, 0.990
    ),
    ("H200", "resnet50-train", "tuned", 512): KnownResult(
        6998.3, 10.124, 3.8719, 3.8719, 1807.5, 0.988
    ),
    ("H200", "resnet50-train", "tuned", 1024): KnownResult(
        7122.9, 10.292, 4.0847, 4.0706, 1746.0, 0.988
    ),
    ("H200", "resnet50-train", "tuned", 1536): KnownResult(
        7091.1, 10.246, 4.1065, 4.1065, 1726.8, 0.990
    ),
    ("H200", "resnet50-train", "tuned", 2048): KnownResult(
        7465.1, 10.805, 4.2479, 4.0426, 1808.8, 0.980
    ),
    ("H200", "resnet50-train", "tuned", 3072): KnownResult(
        7145.9, 10.329, 4.1478, 4.1478, 1722.8, 0.989
    ),
    ("H200", "resnet50-train", "s2d", 2048): KnownResult(
        8126.5, 11.749, 4.9588, 4.4828, 1683.3, 0.989
    ),
    ("H200", "vitl16-train", "baseline", 256): KnownResult(
        422.19, 0.61166, 0.229, 0.229, 1843.6, 0.987
    ),
    ("H200", "vitl16-train", "mayr", 256): KnownResult(
        436.08, 0.63081, 0.23164, 0.23164, 1882.5, 0.987
    ),
    ("H200", "vitl16-train", "tuned", 256): KnownResult(
        1256.4, 1.8152, 0.75136, 0.741, 1695.5, 0.988
    ),
    ("H200", "vitl16-train", "tuned-tf32", 256): KnownResult(
        454.82, 0.65749, 0.2513, 0.2513, 1809.9, 0.988
    ),
    ("H200", "vitl16-train", "tuned-fp16", 256): KnownResult(
        1232.8, 1.7821, 0.74553, 0.74553, 1653.6, 0.989
    ),
    ("H200", "vitl16-train", "fp8", 256): KnownResult(
        1460.5, 2.1121, 0.80607, 0.70129, 1849.2, 0.987
    ),
    ("H200", "sd2-train", "baseline", 32): KnownResult(
        73.174, 0.10699, 0.038444, 0.037822, 1934.7, 0.977
    ),
    ("H200", "sd2-train", "mayr", 64): KnownResult(
        62.382, 0.091735, 0.032683, 0.032683, 1908.7, 0.970
    ),
    ("H200", "sd2-train", "tuned", 64): KnownResult(
        116, 0.16765, 0.070752, 0.056661, 1749.2, 0.980
    ),
    ("H200", "sd2-latents-train", "tuned", 128): KnownResult(
        175.02, 0.25283, 0.10609, 0.087108, 1739.6, 0.987
    ),
    ("H200", "llama3-8b-pretrain", "baseline", 2): KnownResult(
        11731, 17.029, 7.3863, 7.3863, 1588.2, 0.984
    ),
    ("H200", "llama3-8b-pretrain", "mayr", 16): KnownResult(
        8894.5, 12.984, 5.1533, 5.1533, 1726.0, 0.978
    ),
    ("H200", "llama3-8b-pretrain", "tuned", 1): KnownResult(
        9085.9, 13.151, 5.6522, 5.6404, 1607.5, 0.984
    ),
    ("H200", "llama3-8b-pretrain", "tuned", 4): KnownResult(
        12414, 17.978, 8.1452, 7.8366, 1528.0, 0.987
    ),
    ("H200", "llama3-8b-pretrain", "tuned-tf32", 1): KnownResult(
        3001.5, 4.3823, 1.6036, 1.6036, 1871.7, 0.979
    ),
    ("H200", "llama3-8b-pretrain", "fp8", 1): KnownResult(
        11246, 16.308, 6.7691, 6.7691, 1661.3, 0.985
    ),
    ("H200", "llama3-8b-pretrain", "fp8", 4): KnownResult(
        17013, 24.618, 11.044, 11.044, 1540.5, 0.988
    ),
    ("H200", "llama3-8b-serve", "baseline", 512): KnownResult(
        8501.3, 12.314, 5.3997, 5.3997, 1574.4, 0.986
    ),
    ("H200", "llama3-8b-serve", "mayr", 512): KnownResult(
        6642.5, 9.6356, 4.2909, 4.2909, 1548.0, 0.985
    ),
    ("H200", "llama3-8b-serve", "tuned", 1): KnownResult(
        208.9, 0.44628, 0.10566, 0.10566, 1977.1, 0.000
    ),
    ("H200", "llama3-8b-serve", "tuned", 4): KnownResult(
        764.89, 1.4326, 0.39003, 0.39003, 1961.1, 0.000
    ),
    ("H200", "llama3-8b-serve", "tuned", 16): KnownResult(
        2541.5, 4.202, 1.3216, 1.3216, 1923.1, 0.860
    ),
    ("H200", "llama3-8b-serve", "tuned", 64): KnownResult(
        5858.1, 8.4756, 3.3267, 3.3267, 1760.9, 0.989
    ),
    ("H200", "llama3-8b-serve", "tuned", 256): KnownResult(
        8145.8, 11.749, 5.3947, 5.3947, 1509.9, 0.991
    ),
    ("H200", "llama3-8b-serve", "tuned", 512): KnownResult(
        8849.6, 12.78, 5.6982, 5.6651, 1562.1, 0.989
    ),
    ("H200", "llama3-8b-serve", "tuned", 1024): KnownResult(
        8406.4, 12.14, 5.3009, 5.3009, 1585.8, 0.989
    ),
    ("H200", "llama3-8b-serve", "fp8", 512): KnownResult(
        11425, 16.534, 7.0217, 7.0217, 1627.0, 0.988
    ),
    ("H200", "llama3-8b-serve", "fp8-kv", 512): KnownResult(
        12907, 19.722, 7.2793, 7.2775, 1773.2, 0.933
    ),
}
"""By board, workload, variant and batch size; for serving, requests in flight per accelerator. The
runs of fp8, fp8-kv, mayr and LLaMA's tuned-tf32 are open, all others closed."""
PUBLISHED_SAVINGS: Mapping[str, Mapping[float, float]] = {
    "H100": {200: 1.994, 300: 2.071, 400: 1.687, 500: 1.385, 600: 1.163, 700: 1.0},
    "H200": {200: 1.060, 300: 1.212, 400: 1.319, 500: 1.248, 600: 1.119, 700: 1.0},
}
"""By board and cap in W, the most items per joule of any workload of Mayr et al. 2026, as a
multiple of those at 700 W, if the boards draw their caps."""


def list_known_results(board: str, workload: str) -> Mapping[tuple[str, int], KnownResult]:
    """The known results of a board and a workload, by variant and batch size."""
    return {
        (variant, batch_size): result
        for (name, known_workload, variant, batch_size), result in KNOWN_RESULTS.items()
        if (name, known_workload) == (board, workload)
    }


def find_known_result(
    board: str, workload: str, variant: str, batch_size: float
) -> tuple[int, KnownResult] | None:
    """The known result of a board, workload and variant at the nearest batch size, with this size;
    None if there is none."""
    by_size = {
        size: result
        for (name, size), result in list_known_results(board, workload).items()
        if name == variant
    }
    if not by_size:
        return None
    nearest = min(by_size, key=lambda size: abs(math.log(size / max(batch_size, 1e-9))))
    return nearest, by_size[nearest]


def find_best_result(board: str, workload: str) -> KnownResult | None:
    """The best of every figure over all variants and batch sizes; None if none is known."""
    known = list_known_results(board, workload).values()
    if not known:
        return None
    return KnownResult(
        max(result.items_per_s for result in known),
        max(result.items_per_joule for result in known),
        max(result.items_per_megacycle for result in known),
        min(result.least_per_megacycle for result in known),
        max(result.highest_mhz for result in known),
        min(result.capped_power for result in known),
    )


def find_largest_saving(board: str, cap_w: float) -> float:
    """The most items per joule at a cap, as a multiple of those at `KNOWN_CAP_W`, that was
    published of a board; between two published caps on the line through both. 1 for a board without
    published caps, and above the highest of them."""
    published = PUBLISHED_SAVINGS.get(board, {})
    for (low_w, low), (high_w, high) in pairwise(sorted(published.items())):
        if cap_w <= high_w:
            share = max(0.0, (cap_w - low_w) / (high_w - low_w))
            return low + share * (high - low)
    return 1.0


def count_batch_per_accelerator(bundle: Bundle) -> float:
    """The batch size as `KNOWN_RESULTS` has it: that of a rank, or the requests in flight per
    accelerator of a server."""
    is_server = bundle.workload is not None and bundle.workload.mode == "inference"
    return bundle.batch_size / (max(1, bundle.settings.accelerators) if is_server else 1)


def is_known_to_be_capped(bundle: Bundle, board: str, least_power: float) -> bool:
    """Whether the known runs of this board, workload and variant at the nearest batch size name the
    power cap and draw `least_power` of it or more, and this run is of their kind: with the
    reference implementation, half of this batch size or more, and no higher cap."""
    found = find_known_result(
        board, bundle.declaration.workload, bundle.variant, count_batch_per_accelerator(bundle)
    )
    if found is None or bundle.implementation.sha256 is not None:
        return False
    batch_size, known = found
    return (
        known.capped_power >= least_power
        and batch_size <= 2 * count_batch_per_accelerator(bundle)
        and (bundle.cap_w or math.inf) <= KNOWN_CAP_W * (1 + SAME_CAP)
    )


def is_held_by_cap(bundle: Bundle, series: Series) -> bool:
    """Whether only the power cap explains the clock of a board that names it as the reason: the
    known runs of this kind are limited by the cap, or the clock is below every measured ceiling in
    `BELOW_CEILINGS_SHARE` of the samples under load. False on boards without measured ceilings."""
    board = find_board(series.name)
    if board is None or not board.clock_ceilings_mhz:
        return False
    if is_known_to_be_capped(bundle, board.id, AT_CAP):
        return True
    below = have_clock_below_ceilings(series, bundle.precision)[series.load]
    return int(np.count_nonzero(below)) >= BELOW_CEILINGS_SHARE * len(below)
