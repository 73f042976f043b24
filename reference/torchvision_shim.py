"""timm, where torchvision's compiled operators do not load.

timm imports torchvision, whose registry wheel holds CUDA operators; beside a CPU build of torch
that import fails on the missing schema of `torchvision::nms`, an operator that no workload uses.
Declaring the two schemas is enough.
"""

from types import ModuleType

import torch

_LIBRARIES: list[torch.library.Library] = []  # the schemas live as long as these


def declare_operators() -> None:
    """Declare the schemas that torchvision's import asks for, once in a process and before that
    import."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _LIBRARIES.append(library)


def import_timm() -> ModuleType:
    """The timm module. Raises ImportError where it is not installed."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        declare_operators()
    import timm

    return timm
