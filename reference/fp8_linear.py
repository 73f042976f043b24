"""Linear layers that multiply in FP8: all three matrix products of a training step, by
`torch._scaled_mm`, with one scale a tensor.

Activations and weights are rounded to e4m3, gradients to e5m2. The scale of a tensor maps its
largest magnitude to the largest number of the format and is computed anew in every step. torchao
has the same recipe and calls it tensorwise and dynamic. Sums are fp32 and results bf16. The tensor
cores of Hopper read both factors along the dimension that is summed over, so the backward pass
stores transposed copies.
"""

from typing import Any

import torch
from torch import Tensor, nn

FORWARD = torch.float8_e4m3fn
GRADIENT = torch.float8_e5m2
MULTIPLE = 16
"""`torch._scaled_mm` needs every dimension of its factors to be a multiple of this on a GPU."""
SMALLEST = 1e-12  # a tensor of zeros has a scale too


def round_to_fp8(values: Tensor, data_type: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return `values` times a scale, in `data_type`, and the reciprocal of that scale: a scalar in
    fp32."""
    largest = torch.finfo(data_type).max
    scale = largest / values.abs().amax().float().clamp(min=SMALLEST)
    # The product of the largest value and the scale may round to more than `largest`.
    rounded = (values.float() * scale).clamp(-largest, largest).to(data_type)
    return rounded, scale.reciprocal()


def multiply(
    first: Tensor, second: Tensor, first_scale: Tensor, second_scale: Tensor, fast: bool
) -> Tensor:
    """Return `first` times the transpose of `second` in bf16, of shape (rows of first, rows of
    second). Both are FP8 and contiguous. `fast` lets the tensor cores keep partial sums in fewer
    bits."""
    return torch._scaled_mm(
        first,
        second.t(),
        first_scale,
        second_scale,
        out_dtype=torch.bfloat16,
        use_fast_accum=fast,
    )


class Fp8Product(torch.autograd.Function):
    """The product of rows, of shape (rows, inputs) in bf16, and a transposed weight, of shape
    (outputs, inputs)."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor) -> Tensor:
        rows_fp8, rows_scale = round_to_fp8(rows, FORWARD)
        weight_fp8, weight_scale = round_to_fp8(weight, FORWARD)
        ctx.save_for_backward(rows_fp8, rows_scale, weight_fp8, weight_scale)
        ctx.weight_type = weight.dtype
        return multiply(rows_fp8, weight_fp8, rows_scale, weight_scale, fast=True)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        rows_fp8, rows_scale, weight_fp8, weight_scale = ctx.saved_tensors
        gradient_fp8, scale = round_to_fp8(gradient, GRADIENT)
        of_rows = multiply(
            gradient_fp8, weight_fp8.t().contiguous(), scale, weight_scale, fast=False
        )
        of_weight = multiply(
            gradient_fp8.t().contiguous(),
            rows_fp8.t().contiguous(),
            scale,
            rows_scale,
            fast=False,
        )
        return of_rows, of_weight.to(ctx.weight_type)


class Fp8Linear(nn.Module):
    """A linear layer with the parameters of `linear` that multiplies in FP8 and returns bf16."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, inputs: Tensor) -> Tensor:
        """Map inputs of shape (..., inputs) to (..., outputs)."""
        rows = inputs.to(torch.bfloat16).flatten(0, -2)
        outputs = Fp8Product.apply(rows, self.weight)
        if self.bias is not None:
            outputs = outputs + self.bias.to(torch.bfloat16)
        return outputs.unflatten(0, inputs.shape[:-1])


def convert_linear_layers(module: nn.Module) -> None:
    """Replace every linear layer inside `module` by an FP8 layer with the same parameters, in
    place."""
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, Fp8Linear(child))
        else:
            convert_linear_layers(child)
