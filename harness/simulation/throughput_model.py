"""How fast, and at what power, a simulated board does a workload at a power cap: curves fitted to
published figures.

    items/s = limit u / (1 + u^sharpness)^(1 / sharpness),  u = (cap / knee)^rise

Throughput rises as a power of the cap until, around the knee, something else (memory, host, the
highest clock) limits it. `benchmarks/fit_boards.py` finds the four parameters and writes fits.json;
docs/simulated.md says how well they fit and what is assumed of power, which was not published.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

PATH = Path(__file__).with_name("throughput_model.json")
UNENFORCED_SHARE = 0.3
"""Of every watt that a cap asks for below the least one that a board enforces, this share is given
up (assumed)."""


def throughput(
    cap_w: float, limit_per_s: float, knee_w: float, rise: float, sharpness: float
) -> float:
    """Items/s at a cap, by the formula above."""
    u: float = (cap_w / knee_w) ** rise
    return float(limit_per_s * u / (1 + u**sharpness) ** (1 / sharpness))


@dataclass(frozen=True)
class Curve:
    """One workload on one board."""

    limit_per_s: float
    knee_w: float
    rise: float
    sharpness: float
    full_draw_w: float | None = None
    """Above this cap the board draws less than the cap, None where it always draws all of it."""
    draw_share: float = 1.0
    """Of every watt of cap above `full_draw_w`, the share that is drawn."""
    enforced_from_w: float = 0.0
    """Below this the board takes a cap and does not enforce it; throughput is then as printed, by
    `unenforced_per_s`."""
    unenforced_per_s: tuple[tuple[float, float], ...] = ()
    """Cap in W and items/s, in order of cap."""

    def items_per_s(self, cap_w: float) -> float:
        """Throughput of one board at a cap that was set."""
        fitted = throughput(max(cap_w, self.enforced_from_w), *self.parameters)
        for (below_w, below), (above_w, above) in pairwise(
            (*self.unenforced_per_s, (self.enforced_from_w, fitted))
        ):
            if cap_w < above_w:
                return below + (above - below) * max(0.0, cap_w - below_w) / (above_w - below_w)
        return fitted

    def power_w(self, cap_w: float) -> float:
        """Mean power that one board draws at a cap that was set."""
        if cap_w < self.enforced_from_w:
            return self.enforced_from_w - UNENFORCED_SHARE * (self.enforced_from_w - cap_w)
        if self.full_draw_w is None or cap_w <= self.full_draw_w:
            return cap_w
        return self.full_draw_w + self.draw_share * (cap_w - self.full_draw_w)

    @property
    def parameters(self) -> tuple[float, float, float, float]:
        return self.limit_per_s, self.knee_w, self.rise, self.sharpness


@dataclass(frozen=True)
class Fit:
    """All curves of one fit, by board and workload."""

    name: str
    curves: Mapping[tuple[str, str], Curve]


@cache
def fit() -> Fit:
    """The fit in fits.json."""
    stored = json.loads(PATH.read_text())
    curves = {}
    for one in stored["curves"]:
        board, workload = one.pop("accelerator"), one.pop("workload")
        unenforced = tuple(
            (cap_w, items_per_s) for cap_w, items_per_s in one.pop("unenforced_per_s", ())
        )
        curves[board, workload] = Curve(**one, unenforced_per_s=unenforced)
    return Fit(stored["name"], curves)
