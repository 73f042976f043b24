#!/usr/bin/env bash
# ptflops: the default count of timm's attention leaves out its linear layers.
#
# Guess: a counter that knows timm's Attention adds the products of queries, keys and values to its
# linear layers, so that it counts more than one that does not know it.
# What happens: with ptflops 0.7.5 the default backend counts the products alone, 34 816 instead of 294 912
# for 16 tokens of width 64, so that ViT-B/16 has 12.0 G multiply-adds in place of 17.6. The backend
# `aten` counts the linear layers, and not the products where they are fused.
# Source: ptflops 0.7.5 and timm 1.0.31 on PyPI.
# Why it matters: a vision transformer seems a third cheaper than it is, beside convolutional networks that
# are counted right, and its FLOPs per joule a third lower.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 torchvision==0.28.0 numpy==2.4.0 timm==1.0.31 ptflops==0.7.5 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" -W ignore - << 'END'
from importlib.metadata import version

import torch

try:
    import torchvision  # noqa: F401
except RuntimeError:
    # Beside a build of torch without CUDA, torchvision lacks the schema of an operator.
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
from ptflops import get_model_complexity_info
from timm.layers import Attention

print("ptflops", version("ptflops"), "timm", version("timm"))
tokens, width = 16, 64
linear, products = 4 * tokens * width**2, 2 * tokens**2 * width
print("linear layers:", linear, "products:", products)
for backend, least, most in (
    ("pytorch", products, linear // 4),
    ("aten", linear, linear + products // 2),
):
    count, _ = get_model_complexity_info(
        Attention(width, num_heads=4).eval(),
        (tokens, width),
        as_strings=False,
        print_per_layer_stat=False,
        backend=backend,
    )
    print(f"backend {backend}: {count}")
    assert least <= count <= most
END
echo "as described"
