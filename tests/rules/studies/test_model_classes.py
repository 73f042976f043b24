"""Each architecture has a class, and the curated list is that of the specification."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from rules.studies.accuracy import read_shipped_table
from rules.studies.models import CURATED, FAMILIES, MODEL_CLASSES, UNKNOWN_CLASS, classify

CURATED_CLASSES = {
    **dict.fromkeys(("mixer_b16_224", "resmlp_24_224"), "mlp"),
    **dict.fromkeys(
        (
            "efficientvit_m0",
            "swin_tiny_patch4_window7_224",
            "deit3_small_patch16_224",
            "vit_base_patch16_224",
            "beitv2_base_patch16_224",
            "vit_large_patch16_224",
            "eva02_base_patch14_448",
            "eva_large_patch14_336",
        ),
        "transformer",
    ),
    **dict.fromkeys(
        ("levit_128s", "caformer_s18", "tiny_vit_21m_224", "nextvit_base", "maxvit_base_tf_224"),
        "hybrid",
    ),
}
"""The classes that are published with the curated list. All others are `cnn`."""


def test_each_architecture_of_the_table_has_a_class() -> None:
    architectures = {model.architecture for model in read_shipped_table().models}
    assert len(architectures) == 900
    assert {a for a in architectures if classify(a) not in MODEL_CLASSES} == set()


def _list_timm_architectures() -> set[str]:
    """The names that timm registers, from its source: the import takes 4 s."""
    spec = find_spec("timm")
    assert spec is not None and spec.origin is not None
    return {
        name
        for path in (Path(spec.origin).parent / "models").glob("*.py")
        for name in re.findall(r"^@register_model\ndef (\w+)\(", path.read_text(), re.MULTILINE)
    }


def test_each_architecture_of_timm_has_a_class_and_each_family_an_architecture() -> None:
    architectures = _list_timm_architectures()
    assert len(architectures) > 1_300
    assert {a for a in architectures if classify(a) not in MODEL_CLASSES} == set()
    used = {next(prefix for prefix, _ in FAMILIES if a.startswith(prefix)) for a in architectures}
    assert [prefix for prefix, _ in FAMILIES if prefix not in used] == []


def test_curated_models_have_the_published_classes() -> None:
    for architecture, _ in CURATED:
        assert classify(architecture) == CURATED_CLASSES.get(architecture, "cnn"), architecture
    assert CURATED_CLASSES.keys() <= {architecture for architecture, _ in CURATED}


def test_curated_models_have_a_published_accuracy() -> None:
    assert len(set(CURATED)) == 30
    assert set(CURATED) <= read_shipped_table().by_input.keys()


@pytest.mark.parametrize(
    ("architecture", "model_class"),
    [
        ("resmlp_24_224", "mlp"),
        ("vit_base_r50_s16_224", "hybrid"),
        ("vit_base_patch16_224", "transformer"),
        ("vitamin_base_224", "hybrid"),
        ("efficientvit_m0", "transformer"),
        ("efficientvit_b0", "hybrid"),
        ("convformer_b36", "cnn"),
        ("caformer_b36", "hybrid"),
        ("mobilenetv4_hybrid_medium", "hybrid"),
        ("mobilenetv4_conv_small", "cnn"),
        ("no_such_family", UNKNOWN_CLASS),
    ],
)
def test_first_matching_family_counts(architecture: str, model_class: str) -> None:
    assert classify(architecture) == model_class
