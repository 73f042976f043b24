"""Power folded by the phase of batches."""

from dataclasses import dataclass

import numpy as np
from forgeries.readings import Floats

from rules.bundle import Bundle

PIECES = 10
"""Into so many pieces a run is divided to estimate the standard error."""


@dataclass(frozen=True)
class Batches:
    """Start and end in s of the batches of one accelerator, each of shape (n,)."""

    start_s: Floats
    end_s: Floats

    @classmethod
    def of(cls, bundle: Bundle, accelerator: str) -> "Batches":
        rows = bundle.batches.ints("rank") == bundle.accelerator_ranks[accelerator]
        start_s, end_s = (
            np.sort(bundle.batches.ints(name)[rows]) / 1e9 for name in ("start_ns", "end_ns")
        )
        return cls(start_s, end_s)

    @property
    def length_s(self) -> float:
        """The median length of a batch."""
        return float(np.median(self.end_s - self.start_s))

    def compute_phases(self, at_s: Floats) -> Floats:
        """Where in its batch each time lies, from 0 to below 1, shape (m,)."""
        places = np.clip(np.searchsorted(self.start_s, at_s, side="right") - 1, 0, None)
        start_s, end_s = self.start_s[places], self.end_s[places]
        return np.clip((at_s - start_s) / (end_s - start_s), 0, 1 - 1e-9)

    def measure_amplitude(
        self, harmonic: int, at_s: Floats, power_w: Floats
    ) -> tuple[float, float]:
        """The amplitude in W of a harmonic of the batch in a series of shape (m,), and its standard
        error over `PIECES` pieces of the run."""
        wave = np.exp(-2j * np.pi * harmonic * self.compute_phases(at_s))
        products = 2 * (power_w - power_w.mean()) * wave
        means = np.array([piece.mean() for piece in np.array_split(products, PIECES)])
        error_w = np.abs(means - products.mean()).std() / np.sqrt(PIECES)
        return float(abs(products.mean())), float(error_w)
