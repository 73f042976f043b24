from rules.workloads import Size, Workload

WORKLOAD = Workload(
    id="sd2-train",
    title="Stable Diffusion v2 training",
    item="image",
    mode="training",
    model="stable-diffusion-2 (U-Net trained; VAE encoder and text encoder frozen, in the loop)",
    stack="diffusers",
    variants={"baseline": "bf16", "tuned": "bf16"},
    precisions=("tf32", "bf16", "fp16"),
    full=Size(
        input_shape=(3, 512, 512),
        parameters=865_910_724,
        flops_per_item=3.63e12,
        batch_sizes={"baseline": 32, "tuned": 32},
        max_batch_size=256,
    ),
    notes="FLOPs per item are all in; the U-Net alone takes 2.41 T.",
    published_as=("stable_diffusion_v2",),
)
