from rules.workloads import Size, Workload

_COMMON = {
    "weights_and_gradients": ("bf16",),
    "master_weights_and_moments": ("fp32",),
    "encoders": ("none: latents and embeddings are resident",),
}

WORKLOAD = Workload(
    id="sd2-latents-train",
    title="Stable Diffusion v2 training on latents",
    item="image",
    mode="training",
    model="stable-diffusion-2 (U-Net trained; latents and text embeddings precomputed)",
    stack="diffusers",
    variants={"baseline": "bf16", "tuned": "bf16"},
    variants_in_words={"baseline": "uncompiled", "tuned": "compiled"},
    precisions=("tf32", "bf16", "fp16"),
    fixed={
        "baseline": {**_COMMON, "compiled": (False,), "memory_format": ("contiguous",)},
        "tuned": {**_COMMON, "compiled": (True,), "memory_format": ("channels_last",)},
    },
    full=Size(
        input_shape=(4, 64, 64),
        parameters=865_910_724,
        flops_per_item=2.409e12,
        batch_sizes={"baseline": 32, "tuned": 32},
        max_batch_size=256,
    ),
    smoke=Size(
        input_shape=(4, 8, 8),
        parameters=2_140_036,
        flops_per_item=171.4e6,
        batch_sizes={"baseline": 2, "tuned": 2},
        max_batch_size=16,
    ),
    implementation="reference.sd2_train:build",
    notes="Trains only the U-Net of sd2-train. The latents and text embeddings are precomputed, so "
    "no encoder runs. An item is the latent of one 512 x 512 image.",
)
