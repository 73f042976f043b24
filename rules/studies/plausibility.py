"""Whether results of a study are plausible: against the peak rate of the board, against the limits
of its power, and against twins. Rules use these functions on measured results, the import of
published results uses them too.

Twins are results of one architecture at one input size on one setup: with other weights, on another
board, or measured again. Weights do not matter for energy. In the published results of Yang et al.
twins (232 groups, 589 rows) differ by 0.2 to 1.1 % in the median.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from rules.boards import Board, find_board
from rules.bundle_format.table import Floats
from rules.studies.results import ModelResult

THROUGHPUT_ABOVE_PEAK = "Y101"
POWER_OUTSIDE_LIMITS = "Y102"
POWER_APART_FROM_TWIN = "Y103"
ENERGY_APART_FROM_TWIN = "Y104"

CAP_TOLERANCE = 1.02
"""A board keeps its cap up to this factor of it, as in runs (`cap_tolerance` of the protocol)."""
LOW_SHARE_OF_CAP = 0.5
"""Published power below this share of the cap is worth a look: without samples, nothing shows
whether the model left the board idle or the reading failed."""
EQUAL_THROUGHPUT = 0.05
"""Twins have equal throughput if it differs by at most this share."""
POWER_APART = 0.1
"""Power below that of a twin at equal throughput by more than this share is apart from it. Of 2 305
published results with such a twin, 16 are."""
ENERGY_APART = 0.25
"""Energy above that of the twins by more than this share is apart from them."""


@dataclass(frozen=True)
class Observation:
    """What a study states or measures of a model at one batch size."""

    images_per_s: float
    mean_power_w: float

    @property
    def joules_per_image(self) -> float:
        return self.mean_power_w / self.images_per_s


def share_of_peak(board: Board, precision: str, flops: float, images_per_s: float) -> float | None:
    """Rate of computation over the dense peak of the precision; None if the board has no such
    peak. `flops` is per image."""
    peak_tflops = board.highest_peak_tflops(precision)
    return None if peak_tflops is None else flops * images_per_s / (peak_tflops * 1e12)


def find_low_twins(groups: Sequence[Hashable], twins: Sequence[Observation]) -> dict[int, int]:
    """The results whose power is apart from that of a twin at equal throughput, each with the
    number of the twin of highest power. Results of one group are twins."""
    pairs = {}
    for numbers in _group(groups):
        power_w, rates = _columns(twins, numbers)
        for place, number in enumerate(numbers):
            is_equal = np.abs(rates / rates[place] - 1) <= EQUAL_THROUGHPUT
            highest = int(np.argmax(np.where(is_equal, power_w, -np.inf)))
            if power_w[place] < (1 - POWER_APART) * power_w[highest]:
                pairs[number] = numbers[highest]
    return pairs


def find_costly_twins(groups: Sequence[Hashable], twins: Sequence[Observation]) -> dict[int, float]:
    """The results whose energy per image is apart from the median of their twins, each with that
    median in J. Results of one group are twins. Twins of lower power do not count: their readings
    may have failed."""
    medians = {}
    for numbers in _group(groups):
        power_w, rates = _columns(twins, numbers)
        energies_j = power_w / rates
        for place, number in enumerate(numbers):
            is_comparable = power_w >= (1 - POWER_APART) * power_w[place]
            is_comparable[place] = False
            compared_j = energies_j[is_comparable]
            # The least energy is at most the median, and is found in a fraction of its time.
            if not (len(compared_j) and energies_j[place] > (1 + ENERGY_APART) * compared_j.min()):
                continue
            median_j = float(np.median(compared_j))
            if energies_j[place] > (1 + ENERGY_APART) * median_j:
                medians[number] = median_j
    return medians


def find_doubts(results: Sequence[ModelResult]) -> tuple[tuple[str, ...], ...]:
    """The ids of the rules that find each published result, in the order of the results.

    The precision that the publication states counts. `rules.studies.objections` decides which
    findings mark a row.
    """
    doubts: list[list[str]] = [[] for _ in results]
    for number, result in enumerate(results):
        if _is_above_peak(result):
            doubts[number].append(THROUGHPUT_ABOVE_PEAK)
        if _is_outside_limits(result):
            doubts[number].append(POWER_OUTSIDE_LIMITS)
    groups = [(result.setup, result.architecture, result.size) for result in results]
    observations = [
        Observation(result.best.images_per_s, result.best.mean_power_w) for result in results
    ]
    for number in find_low_twins(groups, observations):
        doubts[number].append(POWER_APART_FROM_TWIN)
    for number in find_costly_twins(groups, observations):
        doubts[number].append(ENERGY_APART_FROM_TWIN)
    return tuple(map(tuple, doubts))


def _is_above_peak(result: ModelResult) -> bool:
    setup, board = result.setup, find_board(result.setup.board)
    if board is None or result.flops is None:
        return False
    precision = setup.claimed_precision or setup.precision
    share = share_of_peak(board, precision, result.flops, result.best.images_per_s)
    return share is not None and share > 1


def _is_outside_limits(result: ModelResult) -> bool:
    setup, power_w = result.setup, result.best.mean_power_w
    board = find_board(setup.board)
    idle_w = board.idle_power_w if board else None
    lowest_w = max(idle_w or 0.0, LOW_SHARE_OF_CAP * (setup.cap_w or 0.0))
    return power_w < lowest_w or power_w > CAP_TOLERANCE * (setup.cap_w or np.inf)


def _group(groups: Sequence[Hashable]) -> list[list[int]]:
    """The numbers of the members of each group with more than one."""
    members: dict[Hashable, list[int]] = {}
    for number, group in enumerate(groups):
        members.setdefault(group, []).append(number)
    return [numbers for numbers in members.values() if len(numbers) > 1]


def _columns(twins: Sequence[Observation], numbers: Sequence[int]) -> tuple[Floats, Floats]:
    """Power in W and images/s of some results."""
    power_w, rates = zip(
        *((twins[number].mean_power_w, twins[number].images_per_s) for number in numbers),
        strict=True,
    )
    return np.array(power_w), np.array(rates)
