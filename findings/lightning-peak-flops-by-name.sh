#!/usr/bin/env bash
# Lightning: the peak FLOP/s behind a logged MFU is another board's, that with sparsity, or none.
#
# Guess: get_available_flops gives the dense peak of the board whose name the driver reports.
# What happens: with lightning 2.6.6, by names as drivers report them,
# - "NVIDIA L40S" and "NVIDIA L40" are taken for an L4: a third and two thirds of their peaks;
# - "NVIDIA H100 NVL" has 1979 TFLOP/s in bfloat16, the peak with sparsity; "NVIDIA H100 80GB HBM3" has
#   the dense 989;
# - "NVIDIA H200" and "NVIDIA GH200 480GB" have none, although the table has an entry "h200 sxm1".
# Source: lightning 2.6.6 on PyPI, lightning.fabric.utilities.throughput, which LitGPT's MFU uses; data
# sheets of NVIDIA.
# Why it matters: the same run has three times the MFU on an L40S, half of it on an H100 NVL and none on an
# H200. Compare MFU only after dividing by one list of peaks.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.0 lightning==2.6.6 2> "$place/log" || cat "$place/log"
"$place/env/bin/python" -W ignore - << 'END'
from importlib.metadata import version
from unittest import mock

import torch
from lightning.fabric.utilities.throughput import get_available_flops

print("lightning", version("lightning"))
FOUND = {
    "NVIDIA A100-SXM4-80GB": 312.0,
    "NVIDIA H100 80GB HBM3": 989.4,
    "NVIDIA H100 NVL": 1978.8,
    "NVIDIA H200": None,
    "NVIDIA GH200 480GB": None,
    "NVIDIA L4": 121.0,
    "NVIDIA L40": 121.0,
    "NVIDIA L40S": 121.0,
}
for name, expected in FOUND.items():
    # The name is all that the function asks of a GPU.
    with mock.patch.object(torch.cuda, "get_device_name", return_value=name):
        flops = get_available_flops(torch.device("cuda", 0), torch.bfloat16)
    tflops = None if flops is None else flops / 1e12
    print(f"{name}: {tflops} TFLOP/s in bfloat16")
    assert tflops == expected, expected
END
echo "as described"
