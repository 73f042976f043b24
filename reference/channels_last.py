"""Networks of diffusers that compute in channels_last throughout.

In channels_last, the channels of one pixel lie together in memory. cuDNN's convolutions in bf16
need this layout, and each tensor in another layout costs a copy. Two things in the networks of
diffusers work against it:

* Transformers, residual blocks in training, and interpolation from a batch of 64 on call
  `contiguous()`. Their results, and all that follows up to the next convolution, are in the
  other layout.
* A group norm sums over a few channels of all pixels. In channels_last these are short pieces of
  memory: 20 bytes for 10 channels in bf16. Sums over the pixels of each channel read whole rows,
  and the sums of a group follow from them without another pass. The gradients have the same form.

Nearest-neighbour interpolation is replaced too. The gradient of repeated pixels is a sum and needs
no atomic additions. With the interpolation, torch.compile of torch 2.13 for CPUs computes gradients
of zero for what is in front of it.
"""

from collections.abc import Sequence

import torch
from diffusers.models.transformers.transformer_2d import Transformer2DModel
from diffusers.models.upsampling import Upsample2D
from torch import Tensor, nn


class GroupNormByChannel(nn.Module):
    """A group norm with the parameters of `norm`, computed from the sums of each channel.

    The variance is a difference of two sums in fp32. It loses digits where the mean is much larger
    than the deviation: the relative error of the result is 6e-6 at 10 times, and 7e-4 at 100 times.
    """

    def __init__(self, norm: nn.GroupNorm) -> None:
        super().__init__()
        self.groups, self.epsilon = norm.num_groups, norm.eps
        self.weight, self.bias = norm.weight, norm.bias

    def forward(self, inputs: Tensor) -> Tensor:
        """Normalise inputs of shape (batch, channels, ...) over the groups. The arithmetic is fp32,
        and the result has the type and layout of the inputs."""
        batch, channels, *pixels = inputs.shape
        pixel_axes = tuple(range(2, inputs.dim()))
        values = inputs.float()
        # (batch, groups, channels of a group)
        grouped = (batch, self.groups, channels // self.groups)
        sums = values.sum(pixel_axes).view(grouped).sum(2, keepdim=True)
        squares = values.square().sum(pixel_axes).view(grouped).sum(2, keepdim=True)
        count = inputs[0].numel() // self.groups
        means = sums / count
        # Rounding can make the variance of equal values negative.
        variances = (squares / count - means.square()).clamp(min=0)
        scales = self.weight.float().view(grouped[1:]) / (variances + self.epsilon).sqrt()
        shifts = self.bias.float().view(grouped[1:]) - means * scales
        by_channel = (batch, channels, *(1 for _ in pixels))
        return (values * scales.view(by_channel) + shifts.view(by_channel)).to(inputs.dtype)


class UpsampleByTwo(nn.Module):
    """The convolution of `upsample` on an image of twice the height and width."""

    def __init__(self, upsample: Upsample2D) -> None:
        super().__init__()
        self.conv = upsample.conv

    def forward(self, inputs: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Repeat each pixel of inputs of shape (batch, channels, height, width) in both directions
        and convolve. diffusers gives an output size for images whose height or width the levels
        of the U-Net do not divide. Raises ValueError for it."""
        if output_size is not None:
            raise ValueError(
                f"output of {[*output_size]} pixels: only twice the input is supported"
            )
        pixels = inputs[:, :, :, None, :, None].expand(-1, -1, -1, 2, -1, 2)
        return self.conv(pixels.flatten(4, 5).flatten(2, 3))


def replace_layers(module: nn.Module) -> None:
    """Replace every group norm and every interpolation inside `module`, in place. The parameters
    and their names stay the same."""
    for name, child in module.named_children():
        if type(child) is nn.GroupNorm:
            setattr(module, name, GroupNormByChannel(child))
        elif type(child) is Upsample2D:
            setattr(module, name, UpsampleByTwo(child))
        else:
            replace_layers(child)


def convert_to_channels_last(tensor: Tensor) -> Tensor:
    """Return `tensor`, of shape (batch, channels, height, width), in channels_last."""
    return tensor.contiguous(memory_format=torch.channels_last)


def compute_in_channels_last(network: nn.Module) -> None:
    """Make `network`, whose weights may be in any layout, compute in channels_last throughout.

    The network computes the same function. torch.compile fuses the copies that this adds in the
    forward pass with the operations before them.
    """
    network.to(memory_format=torch.channels_last)
    replace_layers(network)
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_pre_hook(
                lambda _, inputs: (convert_to_channels_last(inputs[0]), *inputs[1:])
            )
        elif isinstance(module, Transformer2DModel):
            module.register_forward_hook(
                lambda _, __, outputs: (convert_to_channels_last(outputs[0]),)
            )
