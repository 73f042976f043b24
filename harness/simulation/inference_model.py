"""Throughput and power of a simulated board that runs an image model: a made-up formula.

    time of a batch   = launch + memory + compute
    energy of a batch = base power * time + memory power * memory * growth + compute power * compute

`launch` is constant. `memory` follows the activations and the bandwidth of the board, `compute` the
operations and its peak rate. `growth` rises with the logarithm of the activations of a batch that
exceed the cache. So the least energy per image is at a small batch, a batch of one image takes
several times that, and energy follows activations more than operations. A cap lowers the clock, and
power above the base falls with its cube.

The constants are chosen by eye from six models on one H200 in bf16 with CUDA graphs. Images/s and
least energy are within a factor of two of what was measured there.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from harness.simulation.board_models import Model
from rules.boards import find_board

LAUNCH_S = {"eager": 3.2e-3, "cudagraph": 0.81e-3, "compile": 0.6e-3, "tensorrt": 0.5e-3}
"""Time of a batch without any work, by engine."""
TRAFFIC = {"eager": 11.0, "cudagraph": 11.0, "compile": 8.0, "tensorrt": 7.5}
"""How often an activation crosses the memory bus, by engine. Compilers fuse operators."""
BYTES = {"fp32": 4, "tf32": 4, "tf32-conv": 4, "fp16": 2, "bf16": 2}
"""Bytes of an activation, by precision."""
PEAK_SHARE = 0.7
"""Reached share of the peak rate."""
BASE_SHARE, MEMORY_SHARE, COMPUTE_SHARE = 0.09, 0.57, 0.3
"""Power above idle of a board with any batch, of its memory and of its compute units, as shares of
the highest cap."""
CACHED_ACTIVATIONS = 50e6
GROWTH = 0.1
"""Increase of the memory power with each doubling of the activations beyond the cache."""


@dataclass(frozen=True)
class ImageLoad:
    """The work of a batch on a board."""

    batch: int
    """Images per batch."""
    flops: float
    """Per image. A multiply-add counts as two."""
    activations: float
    """Per image."""
    engine: str
    precision: str


@dataclass(frozen=True)
class InferenceCurve:
    """Throughput in images/s and power of a board for a load."""

    board: Model
    load: ImageLoad

    def compute_items_per_s(self, cap_w: float) -> float:
        """Return the throughput in images/s at a cap."""
        return self.load.batch / self._batch_s * self._compute_clock_share(cap_w)

    def compute_power_w(self, cap_w: float) -> float:
        """Return the mean power in W at a cap. A cap below the base power is not kept."""
        return max(self._base_w, min(self._power_w, cap_w))

    def is_capped(self, cap_w: float) -> bool:
        return self._power_w > cap_w

    def _compute_clock_share(self, cap_w: float) -> float:
        """Return the clock at a cap as a share of that without a cap."""
        if not self.is_capped(cap_w):
            return 1.0
        enforced_w = self.compute_power_w(cap_w)
        # A floor, because a board never stops.
        share = (enforced_w - self._base_w) / (self._power_w - self._base_w)
        return math.cbrt(max(0.1, share))

    @property
    def _base_w(self) -> float:
        return self.board.idle_w + BASE_SHARE * self.board.max_w

    @cached_property
    def _memory_s(self) -> float:
        board = find_board(self.board.name)
        assert board is not None and board.memory_tb_per_s is not None
        load = self.load
        activations_bytes = load.batch * load.activations * BYTES[load.precision]
        return TRAFFIC[load.engine] * activations_bytes / (board.memory_tb_per_s * 1e12)

    @cached_property
    def _compute_s(self) -> float:
        board = find_board(self.board.name)
        assert board is not None
        peak_tflops = board.highest_peak_tflops(self.load.precision)
        assert peak_tflops is not None
        return self.load.batch * self.load.flops / (PEAK_SHARE * peak_tflops * 1e12)

    @property
    def _batch_s(self) -> float:
        """Time of a batch without a cap."""
        return LAUNCH_S[self.load.engine] + self._memory_s + self._compute_s

    @cached_property
    def _power_w(self) -> float:
        """Power without a cap."""
        doublings = math.log2(1 + self.load.batch * self.load.activations / CACHED_ACTIVATIONS)
        memory_w = MEMORY_SHARE * self.board.max_w * (1 + GROWTH * doublings)
        compute_w = COMPUTE_SHARE * self.board.max_w
        dynamic_j = memory_w * self._memory_s + compute_w * self._compute_s
        return self._base_w + dynamic_j / self._batch_s
