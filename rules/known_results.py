"""The best committed results: what one board is known to reach.

A rule that judges a bundle alone needs them, because an installed rule book has no other bundles. A
test compares them with `submissions/reference/`.
"""

from collections.abc import Mapping

BEST_ITEMS_PER_S: Mapping[tuple[str, str, str], float] = {
    ("H200", "resnet50-train", "baseline"): 2238.8,
    ("H200", "resnet50-train", "tuned"): 7465.1,
    ("H200", "vitl16-train", "baseline"): 422.2,
    ("H200", "vitl16-train", "tuned"): 1207.2,
    ("H200", "sd2-train", "baseline"): 73.2,
    ("H200", "sd2-train", "tuned"): 100.0,
    ("H200", "llama3-8b-pretrain", "tuned"): 12414.3,
    ("H200", "llama3-8b-serve", "tuned"): 8850.1,
}
"""The highest throughput of an accelerator in items/s by board, workload and variant: of closed
runs in full size, at the highest cap of the board."""
