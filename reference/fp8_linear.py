"""Linear layers that multiply in FP8 by `torch._scaled_mm`, with delayed scaling: one scale per
tensor, from the step before.

The product of the forward pass and the gradient of the inputs are in FP8, the gradient of the
weight in bf16, from inputs and gradients that were never rounded. Inputs and weights are rounded to
e4m3, and gradients to e5m2, which has a larger range. Tensor cores keep partial sums in fewer bits
than fp32 (fast accumulation). Results are bf16.

The scale maps the largest magnitude of a tensor to the largest number of the format. For inputs
and gradients it is the largest magnitude of the step before. So one pass over a tensor gives the
rounded tensor and the largest magnitude for the next step, and torch.compile fuses this pass with
the operations before it. Of weights it is that of the current step. The recipe `DelayedScaling` of
NVIDIA's Transformer Engine is similar.

The tensor cores of Hopper read both factors along the dimension that is summed over. In FP8, the
gradient of the weight would therefore need transposed copies of inputs and gradients.
"""

from typing import Any

import torch
from torch import Tensor, nn

MULTIPLE = 16
"""`torch._scaled_mm` needs every dimension of its factors to be a multiple of this on a GPU."""
HEADROOM = 2.0
"""Up to this factor a tensor may grow from one step to the next before values are clamped."""
FIRST_MAXIMUM = 16.0
"""Taken for the largest magnitude before the first step, which belongs to the warm-up. With the
headroom, e4m3 then keeps inputs from 1.4e-4 to 32, and e5m2 gradients from 8.5e-9 to 32."""
SMALLEST = 1e-12  # a tensor of zeros has a scale too


def round_to_fp8(values: Tensor, maximum: Tensor, data_type: torch.dtype) -> tuple[Tensor, Tensor]:
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


def multiply(
    first: Tensor,
    first_maximum: Tensor,
    second: Tensor,
    second_maximum: Tensor,
    first_type: torch.dtype = torch.float8_e4m3fn,
    bias: Tensor | None = None,
) -> Tensor:
    """Return `first` times the transpose of `second`, computed in FP8, in bf16: of shape (rows of
    first, rows of second)."""
    first_fp8, first_scale = round_to_fp8(first, first_maximum, first_type)
    second_fp8, second_scale = round_to_fp8(second, second_maximum, torch.float8_e4m3fn)
    return torch._scaled_mm(
        first_fp8,
        second_fp8.t(),
        first_scale,
        second_scale,
        bias,
        out_dtype=torch.bfloat16,
        use_fast_accum=True,
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
        weight_maximum = find_maximum(weight)
        ctx.save_for_backward(rows, weight, maxima, weight_maximum, find_maximum(rows))
        ctx.has_bias = bias is not None
        return multiply(rows, maxima[0] * HEADROOM, weight, weight_maximum, bias=bias)

    @staticmethod
    def backward(  # type: ignore[override]
        ctx: Any, gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        rows, weight, maxima, weight_maximum, rows_maximum = ctx.saved_tensors
        # First, so that torch.compile stores the gradient, and the sums below read it. It would
        # compute the gradient again for them, which costs more.
        of_weight = (gradient.t() @ rows).to(weight.dtype)
        of_bias = gradient.sum(0) if ctx.has_bias else None
        of_rows = multiply(
            gradient,
            maxima[1] * HEADROOM,
            weight.t(),
            weight_maximum,
            first_type=torch.float8_e5m2,
        )
        return of_rows, of_weight, of_bias, torch.stack((rows_maximum, find_maximum(gradient)))


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
