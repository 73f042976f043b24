"""The least energy of the anchors of committed studies: what an image of the anchor model is known
to take on a board. A test compares them with `submissions/reference/`."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class KnownAnchor:
    """The anchors of one kind of board, engine and precision."""

    least_joules_per_image: float
    boards: int
    """How many boards they were measured on."""


KNOWN_ANCHORS: Mapping[tuple[str, str, str], KnownAnchor] = {
    ("H200", "compile", "bf16"): KnownAnchor(0.0273785, 1),
    ("H200", "cudagraph", "bf16"): KnownAnchor(0.0370210, 13),
    ("H200", "cudagraph", "fp16"): KnownAnchor(0.0346686, 1),
    ("H200", "cudagraph", "fp32"): KnownAnchor(0.1953354, 2),
    ("H200", "cudagraph", "tf32"): KnownAnchor(0.0683882, 1),
}
"""By board, engine and precision, of `resnet50` at 224 pixels at the batch size of the anchors."""
ANCHOR = "resnet50@224"
"""The model of these anchors."""
