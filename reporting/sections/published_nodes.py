"""Power of whole nodes, transcribed from papers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedNodePower:
    """Power of a whole node as a paper states it, in W."""

    source: str
    url: str
    accelerator: str
    accelerators: int
    work: str
    median_w: float
    max_w: float
    rated_w: float


_LATIF = ("Latif et al. 2024", "https://arxiv.org/abs/2412.08602", "H100", 8)

PUBLISHED_NODES = tuple(
    PublishedNodePower(*_LATIF, work, median_kw * 1e3, max_kw * 1e3, 10_200)
    for work, median_kw, max_kw in (
        ("ResNet-152 training, batch 512", 4.68, 5.02),
        ("ResNet-152 training, batch 4096", 6.26, 6.48),
        ("Llama2-13B fine-tuning, batch 128", 7.92, 8.42),
        ("gpu-burn and stress-ng", 8.43, 8.48),
    )
)
"""Latif, Newkirk, Carbone, Munir, Lin, Koomey, Yu, Dong: Empirical Measurements of AI Training
Power Demand on a GPU-Accelerated Node, section V, figures 1 and 2. The maximum at batch 512 is
printed as 5.02 W, and is read as kW."""
