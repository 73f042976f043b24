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
    """Fabric's `bf16-true`, except that the logits are not copied to fp32: the compiled loss widens
    them as it reads them."""

    def convert_output(self, data: Any) -> Any:
        return data


def compile_by_block(model: GPT) -> None:
    """Compile block by block, in place, and not as a whole: all blocks have the graph of the
    first."""
    for part in (*model.transformer.h, model.transformer.ln_f):
        part.forward = torch.compile(part.forward)
    model.forward = torch.compiler.disable(model.forward)


def checkpoint_by_block(model: GPT) -> None:
    """Keep of each block only its input, and compute the rest again in the backward pass."""
    for block in model.transformer.h:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)


def shard(precision: str, model: GPT, mesh: Any) -> GPT:
    """Share the model over all ranks; `bf16-mixed` sums the gradients of its fp32 parameters in
    fp32."""
    policy = (
        MixedPrecisionPolicy(torch.bfloat16, torch.float32)
        if precision == "bf16-mixed"
        else MixedPrecisionPolicy()
    )
    for unit in (*model.transformer.h, model):
        fully_shard(unit, mesh=mesh["data_parallel"], mp_policy=policy)
    return model


def to_fp8(model: GPT, emulate: bool) -> None:
    """Make the linear layers of the blocks torchao's, in place; `emulate` rounds as FP8 does where
    the device has none."""
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training

    convert_to_float8_training(model.transformer.h, config=Float8LinearConfig(emulate=emulate))


def whole_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """LitGPT's loss in fp32 and in one piece; compiled, it writes no fp32 copy of the logits."""
    return chunked_cross_entropy(logits.float(), targets, chunk_size=0)
