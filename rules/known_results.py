"""The best committed results: what one board is known to reach.

A rule that judges a bundle alone needs them, because an installed rule book has no other bundles. A
test compares them with `submissions/reference/`.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class KnownResult:
    """The best of the committed closed runs in full size, per accelerator."""

    items_per_s: float
    items_per_megacycle: float
    """Items in a million cycles of the mean SM clock."""


KNOWN_CAP_W = 700.0
"""The cap of all these runs."""
KNOWN_RESULTS: Mapping[tuple[str, str, str], KnownResult] = {
    ("H200", "resnet50-train", "baseline"): KnownResult(2238.8, 1.1428),
    ("H200", "resnet50-train", "tuned"): KnownResult(7465.1, 4.2215),
    ("H200", "vitl16-train", "baseline"): KnownResult(422.2, 0.2290),
    ("H200", "vitl16-train", "tuned"): KnownResult(1207.2, 0.7514),
    ("H200", "sd2-train", "baseline"): KnownResult(73.2, 0.03844),
    ("H200", "sd2-train", "tuned"): KnownResult(100.0, 0.05717),
    ("H200", "llama3-8b-pretrain", "tuned"): KnownResult(12414.3, 8.1452),
    ("H200", "llama3-8b-serve", "tuned"): KnownResult(8849.6, 5.6982),
}
"""By board, workload and variant."""
