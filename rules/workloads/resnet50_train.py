from rules.workloads import Size, Workload

WORKLOAD = Workload(
    id="resnet50-train",
    title="ResNet-50 training",
    item="image",
    mode="training",
    model="resnet50",
    stack="timm",
    variants={"baseline": "tf32", "tuned": "bf16", "s2d": "bf16", "mayr": "tf32"},
    variants_in_words={
        "baseline": "uncompiled, TF32",
        "tuned": "compiled",
        "s2d": "first convolution on 2 \u00d7 2 blocks",
        "mayr": "settings of Mayr et al.",
    },
    precisions=("fp32", "tf32", "bf16", "fp16"),
    fixed={
        "baseline": {"autocast": (None,), "compiled": (False,), "memory_format": ("contiguous",)},
        "tuned": {"autocast": ("bf16",), "compiled": (True,), "memory_format": ("channels_last",)},
        "s2d": {
            "autocast": ("bf16",),
            "compiled": (True,),
            "memory_format": ("channels_last",),
            "stem": ("blocks of 2 x 2 pixels",),
        },
    },
    full=Size(
        input_shape=(3, 224, 224),
        parameters=25_557_032,
        flops_per_item=24.3e9,
        batch_sizes={"baseline": 512, "tuned": 1024, "s2d": 1024, "mayr": 256},
        max_batch_size=4096,
    ),
    smoke=Size(
        input_shape=(3, 64, 64),
        parameters=25_557_032,
        flops_per_item=1.995e9,
        batch_sizes={"baseline": 4, "tuned": 4, "s2d": 4, "mayr": 4},
        max_batch_size=16,
    ),
    open_variants=("mayr",),
    implementation="reference.resnet50_train:build",
    published_as=("resnet50",),
)
