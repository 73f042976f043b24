#!/usr/bin/env bash
# torchinfo: "mult-adds" of a linear layer do not grow with the number of tokens.
#
# Guess: the multiply-adds of a linear layer are its weights times the number of vectors, as those of a
# convolution are its weights times the number of pixels.
# What happens: torchinfo 1.8.0 multiplies the parameters of a linear layer by the batch size only. A
# layer over 197 tokens counts as over one, and attention counts nothing. ViT-L/16 has 0.46 G in place
# of 61.6 G, and a ConvNeXt, whose linear layers run over pixels, 0.3 in place of 4.5.
# Source: torchinfo 1.8.0 on PyPI, `summary(...).total_mult_adds`.
# Why it matters: FLOPs per joule or MFU of transformers made with it are a hundred times too low, those
# of ResNet-50 are right, so that a comparison of both is wrong.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.0 torchinfo==1.8.0 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" - << 'END'
from importlib.metadata import version

from torch import nn
from torchinfo import summary

print("torchinfo", version("torchinfo"))
channels = 64


def count(layer, size):
    return summary(layer, size, verbose=0).total_mult_adds


for tokens in (1, 16, 256):
    linear = count(nn.Linear(channels, channels, bias=False), (1, tokens, channels))
    pixels = (1, channels, 1, tokens)
    convolution = count(nn.Conv2d(channels, channels, 1, bias=False), pixels)
    print(f"{tokens} vectors: linear layer {linear}, equal convolution of 1 x 1 {convolution}")
    assert linear == channels**2
    assert convolution == tokens * channels**2
END
echo "as described"
