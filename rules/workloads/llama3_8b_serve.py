from rules.workloads import Size, Workload

WORKLOAD = Workload(
    id="llama3-8b-serve",
    title="LLaMA 3 8B serving",
    item="token",
    mode="inference",
    model="Llama-3-8B",
    stack="sglang",
    variants={"baseline": "bf16", "tuned": "bf16"},
    precisions=("bf16", "fp16", "fp8"),
    full=Size(
        input_shape=(1024,),
        parameters=8_030_261_248,
        flops_per_item=16.06e9,
        batch_sizes={"baseline": 256, "tuned": 512},
        max_batch_size=1024,
        items_per_sample=512,
    ),
    notes="An item is an output token; a batch is one completed request. FLOPs per token are 2 N, attention left out.",
    published_as=("llama3_8b_inference",),
)
