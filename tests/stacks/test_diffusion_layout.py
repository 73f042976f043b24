"""The layout of Stable Diffusion v2's tensors in the tuned variant, and its group norm."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
from diffusers import UNet2DConditionModel
from diffusers.models.upsampling import Upsample2D
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from reference import sd2_train
from reference.channels_last import GroupNormByChannel, UpsampleByTwo, compute_in_channels_last
from reference.sd2_train import Encoders, make_unet

BATCH = 64
"""The batch from which diffusers interpolates in another layout."""
aten = torch.ops.aten


class ConvolutionLayouts(TorchDispatchMode):
    """Collects whether the images that each convolution reads are in channels_last: in the forward
    pass, and again for the gradient of its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.channels_last: list[bool] = []

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        images = {aten.convolution.default: 0, aten.convolution_backward.default: 1}.get(operation)
        if images is not None:
            layout = torch.channels_last
            self.channels_last.append(args[images].is_contiguous(memory_format=layout))
        return operation(*args, **(kwargs or {}))


SMALL = {
    "block_out_channels": (32, 64),
    "layers_per_block": 1,
    "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
    "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
    "attention_head_dim": (2, 4),
    "cross_attention_dim": 32,
}
"""A U-Net of two levels, which compiles in a minute."""


def compute_gradients(unet: nn.Module) -> tuple[Tensor, Tensor]:
    """The U-Net's prediction for one batch, and the gradients of its weights."""
    torch.manual_seed(1)
    noisy = torch.randn(BATCH, 4, 16, 16).to(memory_format=torch.channels_last)
    timesteps, embeddings = torch.randint(1000, (BATCH,)), torch.randn(BATCH, 77, 32)
    predicted = unet(noisy, timesteps, embeddings).sample
    predicted.square().mean().backward()
    return predicted, torch.cat([p.grad.flatten() for p in unet.parameters()])


def encode(encoders: nn.Module) -> tuple[Tensor, Tensor]:
    """Latents and embeddings of one batch."""
    torch.manual_seed(1)
    images = torch.randn(2, 3, 64, 64).to(memory_format=torch.channels_last)
    tokens = torch.randint(49408, (2, 77))
    torch.manual_seed(2)
    return encoders(images, tokens)


@pytest.fixture(params=["unet", "encoders"])
def pair(request: pytest.FixtureRequest) -> tuple[nn.Module, nn.Module, Callable[..., Any]]:
    """Two networks of one seed, the second in channels_last throughout, and what runs them."""

    def make() -> nn.Module:
        torch.manual_seed(3)
        return make_unet("smoke").train() if request.param == "unet" else Encoders("smoke")

    plain, converted = make().to(memory_format=torch.channels_last), make()
    compute_in_channels_last(converted)
    return plain, converted, compute_gradients if request.param == "unet" else encode


def test_the_tuned_networks_compute_the_same(
    pair: tuple[nn.Module, nn.Module, Callable[..., Any]],
) -> None:
    plain, converted, run = pair
    assert any(type(module) is GroupNormByChannel for module in converted.modules())
    for expected, result in zip(run(plain), run(converted), strict=True):
        assert result.shape == expected.shape
        assert (result - expected).norm() < 1e-4 * expected.norm()


def test_every_convolution_of_the_unet_is_in_channels_last() -> None:
    networks = [make_unet("smoke").train().to(memory_format=torch.channels_last) for _ in range(2)]
    compute_in_channels_last(networks[1])
    layouts = []
    for network in networks:
        with ConvolutionLayouts() as mode:
            compute_gradients(network)
        layouts.append(mode.channels_last)
    assert len(layouts[0]) == len(layouts[1]) > 80
    assert all(layouts[1])
    assert not all(layouts[0]), "diffusers keeps the layout itself: compute_in_channels_last can go"


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler here")
def test_compiled_gradients_are_those_of_the_eager_unet() -> None:
    """torch.compile of torch 2.13 for CPUs computes zero for the gradients in front of an
    interpolation of diffusers."""
    networks = []
    for _ in range(2):
        torch.manual_seed(3)
        networks.append(UNet2DConditionModel(**sd2_train.UNET | SMALL).train())
    compute_in_channels_last(networks[1])
    networks[1].compile()
    expected, compiled = map(compute_gradients, networks)
    for eager_values, values in zip(expected, compiled, strict=True):
        assert (values - eager_values).norm() < 1e-4 * eager_values.norm()


def test_the_upsampling_refuses_another_size() -> None:
    layer = UpsampleByTwo(Upsample2D(4, use_conv=True))
    assert layer(torch.zeros(1, 4, 3, 5)).shape == (1, 4, 6, 10)
    with pytest.raises(ValueError, match="only twice the input is supported"):
        layer(torch.zeros(1, 4, 3, 5), (7, 11))


@pytest.mark.parametrize("shape", [(3, 32, 6, 5), (3, 32, 7)])
def test_the_group_norm_by_channel_is_a_group_norm(shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    norm = nn.GroupNorm(8, 32)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    inputs, upstream = 5 + 3 * torch.randn(shape), torch.randn(shape)
    results = []
    for layer in (norm, GroupNormByChannel(norm)):
        leaf = inputs.clone().requires_grad_()
        outputs = layer(leaf)
        gradients = torch.autograd.grad(outputs, [leaf, *layer.parameters()], upstream)
        results.append((outputs, *gradients))
    for expected, result in zip(*results, strict=True):
        assert (result - expected).norm() < 1e-5 * expected.norm()


def test_a_group_of_equal_values_is_finite() -> None:
    layer = GroupNormByChannel(nn.GroupNorm(2, 8))
    inputs = torch.full((1, 8, 5, 5), 1000.3, requires_grad=True)
    layer(inputs).sum().backward()
    assert inputs.grad is not None and inputs.grad.isfinite().all()


def test_the_type_and_the_layout_of_the_input_are_kept() -> None:
    layer = GroupNormByChannel(nn.GroupNorm(2, 8)).bfloat16()
    inputs = torch.randn(2, 8, 4, 4).to(torch.bfloat16, memory_format=torch.channels_last)
    outputs = layer(inputs)
    assert outputs.dtype == torch.bfloat16
    assert outputs.is_contiguous(memory_format=torch.channels_last)
