"""Linear layers that multiply in FP8 by `torch._scaled_mm`, with one scale a row.

The product of the forward pass and the gradient of the inputs are in FP8, the gradient of the
weight in bf16. All factors are rounded to e4m3. The scale of a row maps its largest magnitude to
the largest number of the format and is computed anew in every step. The recipe `rowwise_with_gw_hp`
of torchao is similar. Sums are fp32 and results bf16.

A row is what a product sums over: a token, or an output of the weight. Its scale therefore needs
one pass over the tensor, which torch.compile can fuse with the rounding and with the operations
before it. A scale of the whole tensor needs two. The tensor cores of Hopper read both factors along
the dimension that is summed over. In FP8, the gradient of the weight would therefore need
transposed copies of inputs and gradients.
"""

from typing import Any

import torch
from torch import Tensor, nn

FP8 = torch.float8_e4m3fn
LARGEST = torch.finfo(FP8).max
MULTIPLE = 16
"""`torch._scaled_mm` needs every dimension of its factors to be a multiple of this on a GPU."""
SMALLEST = 1e-12  # a row of zeros has a scale too


def round_to_fp8(values: Tensor) -> tuple[Tensor, Tensor]:
    """Return `values`, of shape (rows, columns), with each row times a scale, in FP8, and the
    reciprocals of the scales: fp32, of shape (rows, 1)."""
    values = values.float()
    scales = LARGEST / values.abs().amax(1, keepdim=True).clamp(min=SMALLEST)
    # The product of the largest value and the scale may round to more than `LARGEST`.
    rounded = (values * scales).clamp(-LARGEST, LARGEST).to(FP8)
    return rounded.contiguous(), scales.reciprocal()


def multiply(first: Tensor, second: Tensor, fast: bool) -> Tensor:
    """Return `first` times the transpose of `second`, computed in FP8, in bf16: of shape (rows of
    first, rows of second). `fast` lets the tensor cores keep partial sums in fewer bits."""
    first_fp8, first_scales = round_to_fp8(first)
    second_fp8, second_scales = round_to_fp8(second)
    return torch._scaled_mm(
        first_fp8,
        second_fp8.t(),
        first_scales,
        second_scales.t(),
        out_dtype=torch.bfloat16,
        use_fast_accum=fast,
    )


class Fp8Product(torch.autograd.Function):
    """The product of rows, of shape (rows, inputs) in bf16, and a transposed weight, of shape
    (outputs, inputs)."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return multiply(rows, weight, fast=True)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        rows, weight = ctx.saved_tensors
        of_weight = gradient.t() @ rows
        return multiply(gradient, weight.t(), fast=False), of_weight.to(weight.dtype)


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
