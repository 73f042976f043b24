"""The best committed results: what one board is known to reach.

A rule that judges a bundle alone needs them, because an installed rule book has no other bundles. A
test compares them with `submissions/reference/`.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class KnownResult:
    """The best of the committed runs in full size, per accelerator."""

    items_per_s: float
    items_per_joule: float
    items_per_megacycle: float
    """Items in a million cycles of the mean SM clock."""


KNOWN_CAP_W = 700.0
"""The cap of all these runs."""
KNOWN_RESULTS: Mapping[tuple[str, str, str], KnownResult] = {
    ("H100", "resnet50-train", "tuned"): KnownResult(6111.1, 8.9493, 3.1995),
    ("H200", "resnet50-train", "baseline"): KnownResult(2238.8, 3.4153, 1.1428),
    ("H200", "resnet50-train", "mayr"): KnownResult(2209.2, 3.5213, 1.1169),
    ("H200", "resnet50-train", "tuned"): KnownResult(7465.1, 10.805, 4.2479),
    ("H200", "resnet50-train", "s2d"): KnownResult(8126.5, 11.749, 4.959),
    ("H200", "vitl16-train", "baseline"): KnownResult(422.2, 0.61166, 0.2290),
    ("H200", "vitl16-train", "mayr"): KnownResult(436.1, 0.63087, 0.2316),
    ("H200", "vitl16-train", "tuned"): KnownResult(1256.4, 1.8152, 0.7514),
    ("H200", "vitl16-train", "tuned-tf32"): KnownResult(454.8, 0.65749, 0.2513),
    ("H200", "vitl16-train", "tuned-fp16"): KnownResult(1232.8, 1.7821, 0.7455),
    ("H200", "vitl16-train", "fp8"): KnownResult(1460.5, 2.1121, 0.8061),
    ("H200", "sd2-train", "baseline"): KnownResult(73.2, 0.10699, 0.03844),
    ("H200", "sd2-train", "mayr"): KnownResult(62.38, 0.091735, 0.03268),
    ("H200", "sd2-train", "tuned"): KnownResult(116.0, 0.16765, 0.07075),
    ("H200", "sd2-latents-train", "tuned"): KnownResult(175.02, 0.25283, 0.1061),
    ("H200", "llama3-8b-pretrain", "baseline"): KnownResult(11730.8, 17.029, 7.386),
    ("H200", "llama3-8b-pretrain", "tuned"): KnownResult(12414.3, 17.978, 8.1452),
    ("H200", "llama3-8b-pretrain", "tuned-tf32"): KnownResult(3001.5, 4.3823, 1.6036),
    ("H200", "llama3-8b-pretrain", "fp8"): KnownResult(17013.0, 24.618, 11.044),
    ("H200", "llama3-8b-pretrain", "mayr"): KnownResult(8894.5, 12.986, 5.1533),
    ("H200", "llama3-8b-serve", "baseline"): KnownResult(8501.3, 12.314, 5.400),
    ("H200", "llama3-8b-serve", "tuned"): KnownResult(8849.6, 12.780, 5.6982),
    ("H200", "llama3-8b-serve", "fp8"): KnownResult(11424.6, 16.534, 7.022),
    ("H200", "llama3-8b-serve", "fp8-kv"): KnownResult(12866.6, 19.722, 7.2775),
    ("H200", "llama3-8b-serve", "mayr"): KnownResult(6642.5, 9.6356, 4.2909),
}
"""By board, workload and variant. The runs of fp8, fp8-kv, mayr and LLaMA's tuned-tf32 are open,
all others closed."""


def find_known_result(board: str, workload: str, variant: str = "") -> KnownResult | None:
    """The best known result of a board and a workload: of the variant, or of all variants if it
    has none. None if the board has no result of the workload."""
    by_variant = {
        known_variant: result
        for (known_board, known_workload, known_variant), result in KNOWN_RESULTS.items()
        if (known_board, known_workload) == (board, workload)
    }
    if variant in by_variant:
        return by_variant[variant]
    columns = zip(*map(astuple, by_variant.values()), strict=True)
    return KnownResult(*map(max, columns)) if by_variant else None
