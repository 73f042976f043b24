#!/usr/bin/env bash
# PyTorch: FlopCounterMode counts no attention on the CPU.
#
# Guess: the count of a model does not depend on the device, because no operation is computed twice.
# What happens: with torch 2.13.0, scaled_dot_product_attention on the device cpu counts 0 FLOPs, forward
# and backward; on the device meta, or with the math backend, it counts 4 n² d per head, and 3 times
# that with the backward pass. There is no warning.
# Source: torch 2.13.0 on PyPI, torch.utils.flop_counter: `flop_registry` has the fused attention of
# CUDA and not `_scaled_dot_product_flash_attention_for_cpu`.
# Why it matters: operations counted on a login node without a GPU are too few, 3 % for ViT-L/16 at 224
# pixels and more for long sequences, and so are MFU and FLOPs per joule. Count on the device meta.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.0 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

heads, tokens, width = 4, 128, 64
expected = 4 * heads * tokens**2 * width


def count(device, backend, with_backward):
    query = torch.ones(1, heads, tokens, width, device=device, requires_grad=with_backward)
    with sdpa_kernel(backend), FlopCounterMode(display=False) as counter:
        output = functional.scaled_dot_product_attention(query, query, query)
        if with_backward:
            output.sum().backward()
    return counter.get_total_flops()


print("torch", torch.__version__, "FLOPs of the attention:", expected)
every = [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
for device, backend, share in (("cpu", every, 0), ("cpu", SDPBackend.MATH, 1), ("meta", every, 1)):
    for with_backward in (False, True):
        flops = count(device, backend, with_backward)
        name = "math" if backend is SDPBackend.MATH else "chosen by torch"
        print(f"{device}, backend {name}, backward {with_backward}: {flops}")
        assert flops == share * expected * (3 if with_backward else 1)
END
echo "as described"
