from dataclasses import replace

from rules.workloads import Size, Workload

_COMMON = {
    "dtype": ("bfloat16",),
    "quantization": (None,),
    "kv_cache_dtype": ("auto", "bfloat16"),
    "disable_radix_cache": (True,),
    "decoding": ("greedy",),
}

_FULL = Size(
    input_shape=(1024,),
    parameters=8_030_261_248,
    flops_per_item=44.106e9,
    batch_sizes={"baseline": 256, "tuned": 512, "fp8": 512, "fp8-kv": 512},
    max_batch_size=1024,
    min_flops_per_item=42.899e9,
    read_parameters=7_504_924_672,
    kv_values_per_token=65_536,
    items_per_sample=512,
)
_SMOKE = Size(
    input_shape=(16,),
    parameters=139_584,
    flops_per_item=507_136.0,
    batch_sizes={"baseline": 4, "tuned": 4, "fp8": 4, "fp8-kv": 4},
    max_batch_size=16,
    min_flops_per_item=489_472.0,
    items_per_sample=8,
)

WORKLOAD = Workload(
    id="llama3-8b-serve",
    title="LLaMA 3 8B serving",
    item="token",
    mode="inference",
    model="Llama-3-8B",
    stack="sglang",
    variants={
        "baseline": "bf16",
        "tuned": "bf16",
        "fp8": "fp8",
        "fp8-kv": "fp8",
        "mayr": "bf16",
    },
    variants_in_words={
        "baseline": "SGLang's defaults",
        "tuned": "larger graphs and pages",
        "fp8": "FP8 weights",
        "fp8-kv": "FP8 weights and cache",
        "mayr": "settings of Mayr et al.",
    },
    precisions=("bf16", "fp16", "fp8"),
    fixed={"baseline": _COMMON, "tuned": _COMMON},
    full=_FULL,
    smoke=_SMOKE,
    variant_sizes={
        # All 2 048 requests are in flight at once on four GPUs. The FLOPs are those of a request of
        # mean lengths, and of the mean square of its length for attention.
        ("mayr", "full"): replace(
            _FULL,
            flops_per_item=71.60e9,
            min_flops_per_item=70.57e9,
            batch_sizes={"mayr": 512},
            items_per_sample=256,
            uniform_requests=True,
        ),
        ("mayr", "smoke"): replace(
            _SMOKE,
            flops_per_item=469134.2,
            min_flops_per_item=458752.0,
            batch_sizes={"mayr": 4},
            uniform_requests=True,
        ),
    },
    open_variants=("fp8", "fp8-kv", "mayr"),
    # An FP8 cache holds more requests, so fp8-kv can run more of them at once than tuned.
    precision_variants=("tuned", "fp8"),
    implementation="reference.llama3_8b_serve:build",
    options={
        "attention": ("fa3", "flashinfer", "triton"),
        # TensorRT-LLM's XQA on Hopper, which has no kernel for prefill.
        "decode-attention": ("trtllm_mha",),
        "parallel": ("dp", "tp"),
    },
    inputs=("weights",),
    notes=(
        "An item is an output token. A batch is one completed request of 1 024 prompt tokens and "
        "512 output tokens. The FLOPs per item are the FLOPs of a whole request, prefill included, "
        "divided by its number of output tokens. The layers process every token except the last "
        "output token: 2 x 6.979 G x 1 535 / 512 = 41.85 G. The output head runs once per output "
        "token: 2 x 0.525 G = 1.05 G. Attention takes 4 x 4 096 FLOPs per layer, in 32 layers, for "
        "each pair of a token and a token at or before it: 1.21 G. The minimum FLOPs per item "
        "leave out attention. A decoding step reads all parameters except the embedding "
        "(0.525 G), and the key-value cache "
        "of all earlier tokens: 2 x 8 x 128 values per token and layer."
    ),
    published_as=("llama3_8b_inference",),
)
