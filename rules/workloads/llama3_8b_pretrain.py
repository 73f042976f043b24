from rules.workloads import Size, Workload

WORKLOAD = Workload(
    id="llama3-8b-pretrain",
    title="LLaMA 3 8B pre-training",
    item="token",
    mode="training",
    model="Llama-3-8B",
    stack="litgpt",
    variants={"baseline": "bf16", "tuned": "bf16"},
    precisions=("bf16", "fp16"),
    full=Size(
        input_shape=(4096,),
        parameters=8_030_261_248,
        flops_per_item=51.5e9,
        batch_sizes={"baseline": 2, "tuned": 2},
        max_batch_size=16,
        min_flops_per_item=6 * 8.03e9,
        items_per_sample=4096,
    ),
    notes="FLOPs per token are 6 N and attention without a causal discount at a sequence of 4 096; at least 6 N.",
    published_as=("llama3_8b_pretraining",),
)
