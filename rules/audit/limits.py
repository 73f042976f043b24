"""What a board can draw and compute at most, by the name that another program gives it."""

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from rules.boards import BOARDS, Board, find_board

_NO_MODELS = frozenset({"QUADRO", "RTX"})
"""First words of ids that many boards share."""
_PRECISIONS = {
    "bf16": "bf16",
    "bfloat16": "bf16",
    "fp16": "fp16",
    "float16": "fp16",
    "tf32": "tf32",
    "fp32": "fp32",
    "float32": "fp32",
    "fp64": "fp64",
    "fp8": "fp8",
}
_NARROW_FACTOR = 4
"""No board computes in four bits more than four times as fast as in its fastest listed
precision (B300: three times)."""


@dataclass(frozen=True)
class Limits:
    """Bounds of one board. None where nothing is known."""

    max_power_w: float | None
    """None if that of one of the boards is not known."""
    idle_power_w: float | None
    boards: tuple[Board, ...]

    def peak_flops(self, precision: str) -> float:
        """The highest dense rate in FLOP/s of a precision, or of any if the name is unknown;
        infinite if a board has no known rate."""
        if not all(board.peak_tflops for board in self.boards):
            return math.inf
        known = _PRECISIONS.get(precision.lower())
        rates = [board.highest_peak_tflops(known) for board in self.boards if known]
        peaks = [rate for rate in rates if rate is not None]
        if peaks:
            return max(peaks) * 1e12
        fastest = max(rate for board in self.boards for rate in board.peak_tflops.values())
        return _NARROW_FACTOR * fastest * 1e12


@lru_cache(maxsize=1024)
def find_limits(name: str) -> Limits | None:
    """The bounds of the boards that `name` may mean, the widest of them; None for no known board.

    A name such as `h100` or `A100-80GB` means every board of that model, of that memory if it
    states one.
    """
    # Several boards may report one name.
    candidates = [board for board in BOARDS if name in board.names]
    exact = find_board(name)
    if not candidates and exact and (name != exact.id or " " in exact.id):
        candidates = [exact]
    candidates = candidates or _find_by_model(name.upper())
    if not candidates:
        return None
    maxima = [board.max_power_w for board in candidates]
    idles = [board.idle_power_w for board in candidates if board.idle_power_w is not None]
    return Limits(
        max_power_w=None if None in maxima else max(w for w in maxima if w is not None),
        idle_power_w=min(idles, default=None),
        boards=tuple(candidates),
    )


def _find_by_model(name: str) -> list[Board]:
    """The boards whose model is a word of `name`, in capitals."""
    words = set(re.split(r"[^A-Z0-9]+", name))
    boards = [
        board
        for board in BOARDS
        if (model := board.id.upper().split()[0]) in words and model not in _NO_MODELS
    ]
    of_memory = [board for board in boards if f"{board.memory_gib:g}GB" in words]
    return of_memory or boards
