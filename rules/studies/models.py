"""The class of each image model, and the curated list of models.

The class says which layers mix the positions of an image:

- `cnn`: convolutions or pooling, also with gates and channel attention;
- `transformer`: self-attention in all stages, after a patch embedding;
- `hybrid`: convolutional stages or blocks, and attention or a state-space model;
- `mlp`: dense or recurrent layers, without convolution and attention.

The name of an architecture in timm gives its family, and a family has one class.
"""

from functools import cache

MODEL_CLASSES = ("cnn", "transformer", "hybrid", "mlp")
UNKNOWN_CLASS = "unknown"
"""The class of an architecture whose family is not in the table."""

_FAMILIES_BY_CLASS = (
    # Exceptions: their names begin with the name of a family of another class.
    ("mlp", "resmlp"),
    (
        "hybrid",
        "vit_base_mci vit_base_r26 vit_base_r50 vit_base_resnet vit_large_r50 vit_small_r26 "
        "vit_small_resnet vit_tiny_r_ vitamin mobilenetv4_hybrid mobilenetv5 eca_botnext "
        "eca_halonext efficientvit_b efficientvit_l efficientvim test_coatnet test_maxvit",
    ),
    ("transformer", "efficientvit_m test_vit"),
    (
        "cnn",
        "bat_ convformer convmixer convnext cs3 csp dark densenet dla dm_nfnet dpn eca_nfnet "
        "eca_res eca_vovnet ecaresne efficientnet ese_vovnet fasternet fbnet focalnet "
        "gc_efficientnet gcresne gernet ghostnet hardcorenas hgnet hrnet inception lcnet legacy_ "
        "mambaout mixnet mnasnet mobilenet mobileone nasnet nf_ nfnet pnasnet poolformer rdnet "
        "regnet repghostnet repvgg repvit res rexnet sedarknet selecsls semnasnet senet seresne "
        "skres spnasnet starnet test_byobnet test_convnext test_efficientnet test_mambaout "
        "test_nfnet test_resnet tf_ tinynet tresnet vgg vovnet wide_resnet xception",
    ),
    (
        "transformer",
        "aimv2 beit cait convit crossvit davit deepseek_vit deit eva flexivit gemma4_vit hiera "
        "mvitv2 naflexvit nest pit pvt qwen3_vit sam2_hiera samvit swin tnt twins vit_ volo xcit",
    ),
    (
        "hybrid",
        "botnet caformer coat cpubone csatv2 edgenext efficientformer fastvit gcvit halo iformer "
        "lambda lamhalobotnet levit lowformer maxvit maxxvit mobilevit nextvit sebotnet sehalonet "
        "shvit swiftformer tiny_vit visformer",
    ),
    ("mlp", "gmixer gmlp mixer sequencer"),
)

FAMILIES: tuple[tuple[str, str], ...] = tuple(
    (prefix, model_class)
    for model_class, prefixes in _FAMILIES_BY_CLASS
    for prefix in prefixes.split()
)
"""Beginnings of the names of architectures and their classes. The first that matches counts."""

CURATED: tuple[tuple[str, int], ...] = (
    ("test_efficientnet", 160),
    ("mobilenetv3_small_100", 224),
    ("mobilenetv4_conv_small", 224),
    ("efficientvit_m0", 224),
    ("levit_128s", 224),
    ("resnet18", 224),
    ("mobilenetv3_large_100", 224),
    ("efficientnet_b0", 224),
    ("hgnetv2_b4", 224),
    ("resnet50", 224),
    ("resnet50", 288),
    ("regnety_032", 224),
    ("mixer_b16_224", 224),
    ("resmlp_24_224", 224),
    ("vgg16", 224),
    ("resnet152", 224),
    ("convnext_tiny", 224),
    ("swin_tiny_patch4_window7_224", 224),
    ("deit3_small_patch16_224", 224),
    ("caformer_s18", 224),
    ("tiny_vit_21m_224", 224),
    ("nextvit_base", 224),
    ("tf_efficientnetv2_s", 384),
    ("vit_base_patch16_224", 224),
    ("beitv2_base_patch16_224", 224),
    ("convnext_base", 256),
    ("maxvit_base_tf_224", 224),
    ("vit_large_patch16_224", 224),
    ("eva02_base_patch14_448", 448),
    ("eva_large_patch14_336", 336),
)
"""Architectures and input sizes, all classes and 3.5 decades of energy, in the order of energy on
an H100 in the published data."""


@cache
def classify(architecture: str) -> str:
    """The class of an architecture, one of `MODEL_CLASSES` or `UNKNOWN_CLASS`."""
    for prefix, model_class in FAMILIES:
        if architecture.startswith(prefix):
            return model_class
    return UNKNOWN_CLASS
