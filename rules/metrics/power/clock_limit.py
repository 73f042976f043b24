"""What holds the SM clock of a board down: its power cap, or another limit that NVML names alike.

On Hopper, dense products on the tensor cores hold the clock at a constant value below the highest
one. It depends on the board, the precision and the inputs: 1 740 MHz for zeros in bf16 on an H200
that draws 415 W. NVML gives the software power cap (0x4) as the reason in every sample, as it does
for a board at its cap. So the reason alone does not tell that a board draws its cap. Two things do:

- the run is of a kind that is known to be limited by the cap (`rules.known_results`);
- the clock is lower than any such ceiling of the board (`Board.lowest_ceiling_mhz`).

Source: measurements on four H200s and one H100, driver 580.159.04 (docs/measurement.md).
"""

import numpy as np

from rules.boards import find_board
from rules.bundle_format.table import Mask
from rules.metrics.power.series import Series

BELOW_BOOST = 0.98
"""A clock below this share of the highest clock counts as low."""


def has_known_ceilings(series: Series) -> bool:
    """Whether it was measured how low the board holds its clock without the power cap."""
    board = find_board(series.name)
    return board is not None and bool(board.clock_ceilings_mhz)


def have_low_clock(series: Series) -> Mask:
    """Which samples, shape (n,), have a clock below `BELOW_BOOST` of the highest one."""
    board = find_board(series.name)
    boost_mhz = board.boost_mhz if board and board.boost_mhz else np.nan
    low: Mask = series.sm_mhz < BELOW_BOOST * boost_mhz
    return low


def have_clock_below_ceilings(series: Series, precision: str) -> Mask:
    """Which samples, shape (n,), have a clock that only a power cap explains: below every ceiling
    that was measured on this kind of board in this precision. None of them on other boards."""
    board = find_board(series.name)
    lowest_mhz = board.lowest_ceiling_mhz(precision) if board else None
    below: Mask = series.sm_mhz < (np.nan if lowest_mhz is None else lowest_mhz)
    return below
