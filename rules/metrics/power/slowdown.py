"""The meaning of the bits of a slowdown mask, by the `vendor` of the board in system.json.

NVIDIA's and the simulated boards' are NVML's reasons as they are (NVML API reference,
nvmlClocksEventReasons). AMD's meter sets a bit for each residency counter of throttling that grew
since the reading before. Other vendors' are not known.
"""

import numpy as np
from numpy.typing import NDArray

from rules.bundle_format.table import Table
from rules.protocol import Protocol

_NVML_REASONS = 0x1FF | 1 << 63
"""Idle, application clocks, power cap, hardware slowdown, sync boost, two thermal slowdowns, power
brake and display clock. The highest bit is NVML's reason of unknown cause."""
KNOWN_REASONS = {"NVIDIA": _NVML_REASONS, "simulated": _NVML_REASONS, "AMD": 0x1F}
"""All bits that a mask can have."""
IDLE = {"NVIDIA": 0x1, "simulated": 0x1}
"""The board has no work."""
POWER_CAP = {"NVIDIA": 0x4, "simulated": 0x4, "AMD": 0x2}
"""NVML's software power cap, and AMD's package power tracking. On Hopper, NVML also gives it for
another limit than the cap (`rules/metrics/power/clock_limit.py`)."""
APPLICATION_CLOCKS = {"NVIDIA": 0x2, "simulated": 0x2}
"""A clock that somebody asked for holds the clock down."""
SYNC_BOOST = {"NVIDIA": 0x10, "simulated": 0x10}
"""The board waits for the slowest of a group that boosts together."""


def get_invalid_mask(protocol: Protocol, vendor: str) -> int:
    """The bits that no scored sample of a board of this vendor may have; 0 where their meaning is
    not known."""
    masks = {
        "NVIDIA": protocol.invalid_slowdown_mask,
        "simulated": protocol.invalid_slowdown_mask,
        "AMD": protocol.invalid_slowdown_mask_amd,
    }
    return masks.get(vendor, 0)


def read_masks(samples: Table) -> NDArray[np.uint64]:
    """The slowdown masks of samples, shape (n,), 0 where none was read."""
    masks = samples.floats("slowdown")
    # The table holds floats; a larger number than 2**63 would overflow in the cast.
    return np.minimum(np.where(masks > 0, masks, 0.0), 2.0**63).astype(np.uint64)


def have_any_bit(samples: Table, mask: int) -> NDArray[np.bool_]:
    """Which samples, shape (n,), have any of the bits of `mask`."""
    matches: NDArray[np.bool_] = (read_masks(samples) & np.uint64(mask)) != 0
    return matches
