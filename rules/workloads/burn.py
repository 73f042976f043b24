from rules.workloads import Size, Workload

WORKLOAD = Workload(
    id="burn",
    title="Burn control: matrix products",
    item="TFLOP",
    mode="control",
    model="matrix product",
    stack="torch",
    variants={"bf16": "bf16", "fp16": "fp16", "tf32": "tf32", "fp8": "fp8", "fp64": "fp64"},
    variants_in_words={
        "bf16": "products in bf16",
        "fp16": "products in fp16",
        "tf32": "products in TF32",
        "fp8": "products in FP8",
        "fp64": "products in FP64",
    },
    precisions=("bf16", "fp16", "tf32", "fp8", "fp64"),
    fixed={},
    # A batch takes 0.15 to 0.35 s on an H200 in every precision.
    full=Size(
        input_shape=(8192, 8192),
        parameters=8192**2,
        flops_per_item=1e12,
        batch_sizes={"bf16": 100, "fp16": 100, "tf32": 50, "fp8": 200, "fp64": 20},
        max_batch_size=10_000,
    ),
    # A laptop takes more than 10 s for a TFLOP, so the item of the smoke size is a GFLOP.
    smoke=Size(
        input_shape=(256, 256),
        parameters=256**2,
        flops_per_item=1e9,
        batch_sizes={"bf16": 2, "fp16": 2, "tf32": 2, "fp8": 2, "fp64": 2},
        max_batch_size=100,
        item="GFLOP",
    ),
    implementation="reference.burn:build",
    options={"input": (), "side": ("1024", "2048", "4096", "8192", "16384")},
    notes="Compared with no workload. Shows how much power the boards can draw.",
)
