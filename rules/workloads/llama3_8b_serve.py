from rules.workloads import Size, Workload

_EVERY = {
    "dtype": ("bfloat16",),
    "quantization": (None,),
    "kv_cache_dtype": ("auto", "bfloat16"),
    "disable_radix_cache": (True,),
    "decoding": ("greedy",),
}

WORKLOAD = Workload(
    id="llama3-8b-serve",
    title="LLaMA 3 8B serving",
    item="token",
    mode="inference",
    model="Llama-3-8B",
    stack="sglang",
    variants={"baseline": "bf16", "tuned": "bf16"},
    precisions=("bf16", "fp16", "fp8"),
    fixed={"baseline": _EVERY, "tuned": _EVERY},
    full=Size(
        input_shape=(1024,),
        parameters=8_030_261_248,
        flops_per_item=44.106e9,
        batch_sizes={"baseline": 256, "tuned": 512},
        max_batch_size=1024,
        min_flops_per_item=42.899e9,
        read_parameters=7_504_924_672,
        kv_values_per_token=65_536,
        items_per_sample=512,
    ),
    smoke=Size(
        input_shape=(16,),
        parameters=139_584,
        flops_per_item=507_136.0,
        batch_sizes={"baseline": 4, "tuned": 4},
        max_batch_size=16,
        min_flops_per_item=489_472.0,
        items_per_sample=8,
    ),
    implementation="reference.llama3_8b_serve:build",
    notes=(
        "An item is an output token; a batch is one completed request of 1 024 prompt "
        "tokens and 512 output tokens. FLOPs per"
        " item are those of a whole request, prefill included, divided by its output "
        "tokens. The weights of the layers are"
        " applied to every token but the last, which is generated and not read again: 2 x "
        "6.979 G x 1 535 / 512 = 41.85 G. The"
        " output head is applied once for each output token, 2 x 0.525 G = 1.05 G. A token "
        "attends to itself and all before it,"
        " 4 x 4 096 FLOPs for each of these in each of the 32 layers: 1.21 G. The least is "
        "without attention."
        " A step of decoding reads every parameter but the embedding's 0.525 G, and of "
        "each token before it the 2 x 8 x 128 keys"
        " and values of 32 layers."
    ),
    published_as=("llama3_8b_inference",),
)
