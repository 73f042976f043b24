from rules.workloads import Size, Workload

_PRECISION_VARIANTS = ("tuned", "tuned-tf32", "tuned-fp16", "fp8")

WORKLOAD = Workload(
    id="vitl16-train",
    title="ViT-L/16 training",
    item="image",
    mode="training",
    model="vit_large_patch16_224",
    stack="timm",
    variants={
        "baseline": "tf32",
        "tuned": "bf16",
        "tuned-tf32": "tf32",
        "tuned-fp16": "fp16",
        "fp8": "fp8",
        "mayr": "tf32",
    },
    variants_in_words={
        "baseline": "uncompiled, TF32",
        "tuned": "compiled, bf16",
        "tuned-tf32": "compiled, TF32",
        "tuned-fp16": "compiled, fp16",
        "fp8": "compiled, FP8 products",
        "mayr": "settings of Mayr et al.",
    },
    precisions=("fp32", "tf32", "bf16", "fp16"),
    fixed={
        "baseline": {"autocast": (None,), "compiled": (False,), "residual_stream": ("fp32",)},
        "tuned": {"autocast": ("bf16",), "compiled": (True,), "residual_stream": ("bf16",)},
        "tuned-tf32": {"autocast": (None,), "compiled": (True,), "residual_stream": ("fp32",)},
        "tuned-fp16": {"autocast": ("fp16",), "compiled": (True,), "residual_stream": ("fp16",)},
    },
    full=Size(
        input_shape=(3, 224, 224),
        parameters=304_326_632,
        flops_per_item=371e9,
        batch_sizes={"baseline": 128, "mayr": 256, **dict.fromkeys(_PRECISION_VARIANTS, 256)},
        max_batch_size=2048,
        min_flops_per_item=369.02e9,
    ),
    smoke=Size(
        input_shape=(3, 64, 64),
        parameters=1_234_216,
        flops_per_item=102.2e6,
        batch_sizes={"baseline": 8, "mayr": 8, **dict.fromkeys(_PRECISION_VARIANTS, 8)},
        max_batch_size=64,
    ),
    open_variants=("fp8", "mayr"),
    precision_variants=_PRECISION_VARIANTS,
    implementation="reference.vitl16_train:build",
    notes=(
        "The FLOPs per image are defined as 371 G. Counted from the shapes they are 369.02 G, "
        "which are the minimum FLOPs per item: three times the forward pass of 61.55 G "
        "multiply-adds, less the gradient of the input image. The definition stays, so that MFU "
        "compares with earlier results; it is 0.5 % higher."
    ),
    published_as=("vit_l16",),
)
