"""Linear layers that multiply in FP8 by `torch._scaled_mm`, with delayed scaling: one scale per
tensor, from the step before.

All three products are in FP8: that of the forward pass and the gradients of inputs and weight.
Inputs and weights are rounded to e4m3, and gradients to e5m2, which has a larger range. Tensor
cores keep partial sums in fewer bits than fp32 (fast accumulation), except for the gradient of the
weight, which sums over all rows of a batch. Results are bf16.

The scale maps the largest magnitude of a tensor to the largest number of the format. For inputs
and gradients it is the largest magnitude of the step before. So one pass over a tensor gives the
rounded tensor and the largest magnitude for the next step, and torch.compile fuses this pass with
the operations before it. Of weights it is that of the current step. The recipe `DelayedScaling` of
NVIDIA's Transformer Engine is similar.

The tensor cores of Hopper read both factors in FP8 along the dimension that is summed over. The
gradient of the weight therefore takes transposed copies of inputs and gradients.
"""

from typing import Any

import torch
from torch import Tensor, nn

try:
    from reference.transpose_kernel import transpose_bytes
except ImportError:  # builds of torch for CPUs come without Triton
    transpose_bytes = None

MULTIPLE = 16
"""`torch._scaled_mm` needs every dimension of its factors to be a multiple of this on a GPU."""
HEADROOM = 2.0
"""Up to this factor a tensor may grow from one step to the next before values are clamped."""
FIRST_MAXIMUM = 16.0
"""Taken for the largest magnitude before the first step, which belongs to the warm-up. With the
headroom, e4m3 then keeps inputs from 1.4e-4 to 32, and e5m2 gradients from 8.5e-9 to 32."""
SMALLEST = 1e-12  # a tensor of zeros has a scale too


def round_to_fp8(
    values: Tensor, maximum: Tensor, data_type: torch.dtype = torch.float8_e4m3fn
) -> tuple[Tensor, Tensor]:
    """Return `values` in FP8, times the scale that maps `maximum`, a scalar, to the largest number
    of the format, and the reciprocal of the scale. Larger values are clamped."""
    largest = torch.finfo(data_type).max
    scale = largest / maximum.clamp(min=SMALLEST)
    rounded = (values.float() * scale).clamp(-largest, largest).to(data_type)
    return rounded.contiguous(), scale.reciprocal()


def find_maximum(values: Tensor) -> Tensor:
    """Return the largest magnitude of `values`, of shape (rows, columns), in fp32."""
    # By row first: torch.compile computes this in the pass that normalises or rounds the rows.
    return values.abs().amax(1).amax().float()


def transpose(matrix: Tensor) -> Tensor:
    """Return a contiguous copy of the transpose of a matrix in FP8."""
    if transpose_bytes is None or not matrix.is_cuda:
        return matrix.t().contiguous()
    return transpose_bytes(matrix)


def multiply(
    first: Tensor,
    first_scale: Tensor,
    second: Tensor,
    second_scale: Tensor,
    bias: Tensor | None = None,
    fast_accumulation: bool = True,
) -> Tensor:
    """Return `first` times the transpose of `second`, in bf16: of shape (rows of first, rows of
    second). Both are in FP8, and their values count times their scales."""
    return torch._scaled_mm(
        first,
        second.t(),
        first_scale,
        second_scale,
        bias,
        out_dtype=torch.bfloat16,
        use_fast_accum=fast_accumulation,
    )


class Fp8Product(torch.autograd.Function):
    """The product of rows, of shape (rows, inputs) in bf16, and a transposed weight, of shape
    (outputs, inputs), plus a bias in bf16.

    `maxima` are the largest magnitudes of rows and gradient in the step before. The backward pass
    returns the maxima of this step as the gradient of `maxima`.
    """

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None, maxima: Tensor
    ) -> Tensor:
        rows_fp8, rows_scale = round_to_fp8(rows, maxima[0] * HEADROOM)
        weight_fp8, weight_scale = round_to_fp8(weight, find_maximum(weight))
        ctx.save_for_backward(
            transpose(rows_fp8), rows_scale, transpose(weight_fp8), weight_scale,
            find_maximum(rows), maxima,
        )  # fmt: skip
        ctx.weight_type, ctx.has_bias = weight.dtype, bias is not None
        return multiply(rows_fp8, rows_scale, weight_fp8, weight_scale, bias)

    @staticmethod
    def backward(  # type: ignore[override]
        ctx: Any, gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        (
            rows_transposed, rows_scale, weight_transposed, weight_scale, rows_maximum, maxima
        ) = ctx.saved_tensors  # fmt: skip
        gradient_fp8, gradient_scale = round_to_fp8(
            gradient, maxima[1] * HEADROOM, torch.float8_e5m2
        )
        gradient_transposed = transpose(gradient_fp8)
        of_rows = multiply(gradient_fp8, gradient_scale, weight_transposed, weight_scale)
        # Fast accumulation would triple the rounding error of a sum over tens of thousands of rows.
        of_weight = multiply(
            gradient_transposed,
            gradient_scale,
            rows_transposed,
            rows_scale,
            fast_accumulation=False,
        )
        # Of the rounded gradient: the gradient in bf16 would be stored for this sum alone.
        of_bias = (gradient_transposed.float().sum(1) * gradient_scale).bfloat16()
        return (
            of_rows,
            of_weight.to(ctx.weight_type),
            of_bias if ctx.has_bias else None,
            torch.stack((rows_maximum, find_maximum(gradient))),
        )


class Fp8Linear(nn.Module):
    """A linear layer with the parameters of `linear` that multiplies in FP8 and returns bf16.

    `update_maxima` must follow each backward pass. With several ranks, each has its own scales.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        # No parameter, which the optimiser would change, and no buffer, which
        # DistributedDataParallel would copy from the first rank to the others.
        self.maxima = torch.full(
            (2,), FIRST_MAXIMUM, device=linear.weight.device, requires_grad=True
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """Map inputs of shape (..., inputs) to (..., outputs)."""
        rows = inputs.to(torch.bfloat16).flatten(0, -2)
        bias = None if self.bias is None else self.bias.to(torch.bfloat16)
        outputs = Fp8Product.apply(rows, self.weight, bias, self.maxima)
        return outputs.unflatten(0, inputs.shape[:-1])


def convert_linear_layers(module: nn.Module) -> None:
    """Replace every linear layer inside `module` by an FP8 layer with the same parameters, in
    place."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, Fp8Linear(child))
        else:
            convert_linear_layers(child)


@torch.no_grad()
def update_maxima(module: nn.Module) -> None:
    """Take over the largest magnitudes that the last backward pass found in the layers of `module`.
    Every layer must have taken part in it, once."""
    maxima = [layer.maxima for layer in module.modules() if isinstance(layer, Fp8Linear)]
    torch._foreach_copy_(maxima, [tensor.grad for tensor in maxima])
    for tensor in maxima:
        tensor.grad = None
