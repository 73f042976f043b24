from rules.workloads import Size, Workload

_COMMON = {
    "weights_and_gradients": ("bf16",),
    "master_weights_and_moments": ("fp32",),
    "encoders": ("frozen, in the loop, bf16",),
}

WORKLOAD = Workload(
    id="sd2-train",
    title="Stable Diffusion v2 training",
    item="image",
    mode="training",
    model="stable-diffusion-2 (U-Net trained; VAE encoder and text encoder frozen, in the loop)",
    stack="diffusers",
    variants={"baseline": "bf16", "tuned": "bf16", "mayr": "fp16"},
    variants_in_words={
        "baseline": "uncompiled",
        "tuned": "compiled",
        "mayr": "settings of Mayr et al.",
    },
    precisions=("tf32", "bf16", "fp16"),
    fixed={
        "baseline": {**_COMMON, "compiled": (False,), "memory_format": ("contiguous",)},
        "tuned": {**_COMMON, "compiled": (True,), "memory_format": ("channels_last",)},
    },
    full=Size(
        input_shape=(3, 512, 512),
        parameters=865_910_724,
        flops_per_item=3.571e12,
        batch_sizes={"baseline": 32, "tuned": 64, "mayr": 192},
        max_batch_size=256,
    ),
    smoke=Size(
        input_shape=(3, 64, 64),
        parameters=2_140_036,
        flops_per_item=415.1e6,
        batch_sizes={"baseline": 2, "tuned": 2, "mayr": 2},
        max_batch_size=16,
    ),
    open_variants=("mayr",),
    implementation="reference.sd2_train:build",
    notes="The FLOPs per item are the sum of U-Net forward and backward (2.409 T), VAE encoder "
    "(1.117 T) and text encoder (0.045 T).",
    published_as=("stable_diffusion_v2",),
)
