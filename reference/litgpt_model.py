"""What the variants of LLaMA 3 8B pre-training change in LitGPT's model: precision, compilation,
sharding, the loss."""

from functools import partial
from typing import Any

import torch
from lightning.fabric.plugins import HalfPrecision
from litgpt import GPT
from litgpt.utils import chunked_cross_entropy
from torch import Tensor
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint


class Bf16(HalfPrecision):
    """Fabric's `bf16-true` without the copy of the logits to fp32: the compiled loss converts them
    as it reads them."""

    def convert_output(self, data: Any) -> Any:
        return data


def compile_by_block(model: GPT) -> None:
    """Compile each block in place instead of the whole model: all blocks share the graph of the
    first."""
    for part in (*model.transformer.h, model.transformer.ln_f):
        part.forward = torch.compile(part.forward)
    # LitGPT compiles the model as a whole afterwards. Disabled here, its loop over the blocks stays
    # eager, and only the blocks are compiled.
    model.forward = torch.compiler.disable(model.forward)


def checkpoint_by_block(model: GPT) -> None:
    """Save only the input of each block, and compute its activations again in the backward
    pass."""
    for block in model.transformer.h:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)


def shard_model(precision: str, model: GPT, mesh: Any) -> GPT:
    """Shard the model over all ranks by FSDP2. With `bf16-mixed` the gradients of its fp32
    parameters are summed in fp32."""
    policy = (
        MixedPrecisionPolicy(torch.bfloat16, torch.float32)
        if precision == "bf16-mixed"
        else MixedPrecisionPolicy()
    )
    # The model comes last: what no block holds then becomes a unit of its own.
    for unit in (*model.transformer.h, model):
        fully_shard(unit, mesh=mesh["data_parallel"], mp_policy=policy)
    return model


def convert_to_fp8(model: GPT, emulate: bool) -> None:
    """Replace the linear layers of the blocks by torchao's FP8 layers, in place. `emulate` rounds
    as FP8 does on devices that have none."""
    # Imported here because only the variant `fp8` needs torchao.
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training

    convert_to_float8_training(model.transformer.h, config=Float8LinearConfig(emulate=emulate))


def compute_unchunked_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Return LitGPT's cross entropy in fp32, computed in one piece. Compiled, it writes no fp32
    copy of the logits."""
    return chunked_cross_entropy(logits.float(), targets, chunk_size=0)
