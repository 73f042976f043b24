"""Imports timm even if torchvision's compiled operators do not load.

timm imports torchvision, whose registry wheel holds CUDA operators. Beside a CPU build of torch
that import fails on the missing schema of `torchvision::nms`, an operator that no workload uses.
Declaring the schemas of two operators is enough.
"""

from types import ModuleType

import torch

_LIBRARIES: list[torch.library.Library] = []  # torch drops the schemas with their library


def declare_operators() -> None:
    """Declare the schemas that the import of torchvision needs. Call it once in a process, before
    that import."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _LIBRARIES.append(library)


def import_timm() -> ModuleType:
    """Return the timm module. Raises ImportError if it is not installed."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        declare_operators()
    import timm

    return timm
