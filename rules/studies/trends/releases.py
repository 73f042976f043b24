"""When models and boards that wattmark measures were published, for their place in the trends."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Release:
    """A publication date and where it is stated."""

    name: str
    released: date
    url: str


def _arxiv(name: str, released: str, number: str) -> Release:
    """A model whose first arXiv version has this date."""
    return Release(name, date.fromisoformat(released), f"https://arxiv.org/abs/{number}")


MODEL_RELEASES: Mapping[str, Release] = {
    "vgg16": _arxiv("VGG-16", "2014-09-04", "1409.1556"),
    "resnet18": _arxiv("ResNet-18", "2015-12-10", "1512.03385"),
    "resnet50": _arxiv("ResNet-50", "2015-12-10", "1512.03385"),
    "resnet152": _arxiv("ResNet-152", "2015-12-10", "1512.03385"),
    "mobilenetv3_large_100": _arxiv("MobileNetV3 large", "2019-05-06", "1905.02244"),
    "efficientnet_b0": _arxiv("EfficientNet-B0", "2019-05-28", "1905.11946"),
    "vit_base_patch16_224": _arxiv("ViT-B/16", "2020-10-22", "2010.11929"),
    "vit_large_patch16_224": _arxiv("ViT-L/16", "2020-10-22", "2010.11929"),
    "swin_tiny_patch4_window7_224": _arxiv("Swin-T", "2021-03-25", "2103.14030"),
    "tf_efficientnetv2_s": _arxiv("EfficientNetV2-S", "2021-04-01", "2104.00298"),
    "mixer_b16_224": _arxiv("Mixer-B/16", "2021-05-04", "2105.01601"),
    "convnext_tiny": _arxiv("ConvNeXt-T", "2022-01-10", "2201.03545"),
    "convnext_base": _arxiv("ConvNeXt-B", "2022-01-10", "2201.03545"),
    "maxvit_base_tf_224": _arxiv("MaxViT-B", "2022-04-04", "2204.01697"),
    "eva02_base_patch14_448": _arxiv("EVA-02-B", "2023-03-20", "2303.11331"),
    "Llama-3-8B": Release(
        "LLaMA 3 8B", date(2024, 4, 18), "https://ai.meta.com/blog/meta-llama-3/"
    ),
}
"""By the name in timm, or by `Workload.model`."""

_BLACKWELL = (
    date(2024, 3, 18),
    "https://bnnbreaking.com/tech/nvidia-unveils-blackwell-superchip-aims-to-revolutionize-ai-and-"
    "sustainability",
)
_BLACKWELL_ULTRA = (date(2025, 3, 18), "https://aiwiki.ai/wiki/nvidia_blackwell_ultra")
_INSTINCT = "https://aiwiki.ai/wiki/amd_instinct"
_NVIDIA_NEWS = "https://nvidianews.nvidia.com/news"
BOARD_LAUNCHES: Mapping[str, Release] = {
    "H100": Release(
        "H100",
        date(2022, 3, 22),
        f"{_NVIDIA_NEWS}/nvidia-announces-hopper-architecture-the-next-generation-of-"
        "accelerated-computing",
    ),
    "H200": Release(
        "H200",
        date(2023, 11, 13),
        f"{_NVIDIA_NEWS}/nvidia-supercharges-hopper-the-worlds-leading-ai-computing-platform",
    ),
    "MI300X": Release("MI300X", date(2023, 12, 6), f"{_INSTINCT}_mi300x"),
    "B200": Release("B200", *_BLACKWELL),
    "GB200": Release("GB200", *_BLACKWELL),
    "MI325X": Release("MI325X", date(2024, 10, 10), f"{_INSTINCT}_mi325x"),
    "B300": Release("B300", *_BLACKWELL_ULTRA),
    "GB300": Release("GB300", *_BLACKWELL_ULTRA),
    "MI355X": Release("MI355X", date(2025, 6, 12), f"{_INSTINCT}_mi355x"),
}
"""By the id of a board: when its maker announced it. A board without a date here has no place in
the trend."""
