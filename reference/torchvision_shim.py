"""timm, where torchvision's compiled operators do not load.

timm imports torchvision, whose registry wheel holds CUDA operators; beside a CPU build of torch that import fails on the
missing schema of `torchvision::nms`, an operator that no workload uses. Declaring the two schemas is enough.
"""

from types import ModuleType

import torch

_library: torch.library.Library | None = None  # the schemas live as long as this reference


def import_timm() -> ModuleType:
    """The timm module. Raises ImportError where it is not installed."""
    global _library
    try:
        import torchvision  # noqa: F401
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        _library = torch.library.Library("torchvision", "FRAGMENT")
        _library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import timm

    return timm
