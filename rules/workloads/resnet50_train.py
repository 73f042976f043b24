from rules.workloads import Size, Workload

WORKLOAD = Workload(
    id="resnet50-train",
    title="ResNet-50 training",
    item="image",
    mode="training",
    model="resnet50",
    stack="timm",
    variants={"baseline": "tf32", "tuned": "bf16"},
    precisions=("fp32", "tf32", "bf16", "fp16"),
    fixed={
        "baseline": {"autocast": (None,), "compiled": (False,), "memory_format": ("contiguous",)},
        "tuned": {"autocast": ("bf16",), "compiled": (True,), "memory_format": ("channels_last",)},
    },
    full=Size(
        input_shape=(3, 224, 224),
        parameters=25_557_032,
        flops_per_item=24.3e9,
        batch_sizes={"baseline": 512, "tuned": 1024},
        max_batch_size=4096,
    ),
    smoke=Size(
        input_shape=(3, 64, 64),
        parameters=25_557_032,
        flops_per_item=1.995e9,
        batch_sizes={"baseline": 4, "tuned": 4},
        max_batch_size=16,
    ),
    implementation="reference.resnet50_train:build",
    published_as=("resnet50",),
)
