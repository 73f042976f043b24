from dataclasses import replace

from rules.workloads import Size, Workload

_PARAMETERS = ("bf16-true", "bf16-mixed")
_FP8 = "torchao, tensorwise, in the blocks"

_FULL = Size(
    input_shape=(4096,),
    parameters=8_030_261_248,
    flops_per_item=51.47e9,
    batch_sizes={"baseline": 2, "tuned": 4, "tuned-tf32": 1, "fp8": 4},
    max_batch_size=16,
    min_flops_per_item=48.25e9,
    items_per_sample=4096,
)

WORKLOAD = Workload(
    id="llama3-8b-pretrain",
    title="LLaMA 3 8B pre-training",
    item="token",
    mode="training",
    model="Llama-3-8B",
    stack="litgpt",
    variants={
        "baseline": "bf16",
        "tuned": "bf16",
        "tuned-tf32": "tf32",
        "fp8": "fp8",
        "mayr": "bf16",
    },
    variants_in_words={
        "baseline": "LitGPT's defaults",
        "tuned": "blocks and loss compiled",
        "tuned-tf32": "matrix products in TF32",
        "fp8": "FP8 products",
        "mayr": "settings of Mayr et al.",
    },
    precisions=("bf16", "fp16"),
    fixed={
        "baseline": {
            "fp8_linear": (None,),
            "fabric_precision": _PARAMETERS,
            "compiled": ("model", "blocks"),
        },
        "tuned": {
            "fp8_linear": (None,),
            "fabric_precision": _PARAMETERS,
            "compiled": ("blocks and loss",),
        },
        "fp8": {
            "fp8_linear": (_FP8,),
            "fabric_precision": _PARAMETERS,
            "compiled": ("blocks and loss",),
        },
    },
    full=_FULL,
    smoke=Size(
        input_shape=(64,),
        parameters=139_584,
        flops_per_item=737_280,
        batch_sizes={"baseline": 2, "tuned": 2, "tuned-tf32": 2, "fp8": 2, "mayr": 8},
        max_batch_size=16,
        min_flops_per_item=688_896,
        items_per_sample=64,
    ),
    variant_sizes={
        # A batch of 16 on each of four GPUs is the global batch of 64 sequences.
        ("mayr", "full"): replace(
            _FULL,
            input_shape=(512,),
            flops_per_item=45.83e9,
            batch_sizes={"mayr": 16},
            max_batch_size=64,
            min_flops_per_item=45.43e9,
            items_per_sample=512,
        )
    },
    open_variants=("tuned-tf32", "mayr"),
    precision_variants=("tuned", "tuned-tf32", "fp8"),
    implementation="reference.llama3_8b_pretrain:build",
    options={
        "precision": _PARAMETERS,
        "checkpointing": ("none", "block"),
        "tokenizer": (),
    },
    inputs=("corpus", "weights"),
    notes=(
        "The FLOPs per token have two parts. Matrix products take 6 FLOPs per parameter, 45.03 G "
        "in all; the embedding (0.53 G parameters) is a table look-up and does not count. "
        "Attention over a sequence of 4 096 tokens takes 6.44 G as libraries count it. Causal "
        "attention needs only half of this, 3.22 G, and the minimum FLOPs per item count this "
        "half. The variants hold parameters, gradients and AdamW's state in bf16 (64 GB), except "
        "tuned-tf32, which holds them in fp32 (128 GB). The default of LitGPT, bf16-mixed, does so "
        "too. In addition to the activations, 128 GB need several GPUs, or the option "
        "checkpointing=block with a batch of 1. There is no fp16 variant: with parameters in fp16, "
        "Fabric does not scale the loss, and the squares of gradients that AdamW keeps underflow. "
        "The variants fp8 and tuned-tf32 are for the open division."
    ),
    published_as=("llama3_8b_pretraining",),
)
