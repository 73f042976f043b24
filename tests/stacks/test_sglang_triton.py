"""Triton kernels of the training workloads, in Triton's interpreter, which needs no GPU. Triton is
installed with SGLang only: builds of torch for CPUs come without it."""

import os
import subprocess
import sys

import pytest

COMPARE = """
import torch
from reference.transpose_kernel import TILE, transpose_bytes

for shape in ((1, 1), (TILE, TILE), (TILE + 1, TILE - 1), (200, 130), (16, 1024)):
    matrix = torch.randn(shape).to(torch.{data_type})
    transposed = transpose_bytes(matrix)
    assert transposed.is_contiguous() and transposed.dtype == matrix.dtype
    assert torch.equal(transposed.float(), matrix.float().t()), shape
"""


@pytest.mark.parametrize("data_type", ["float8_e4m3fn", "float8_e5m2"])
def test_transposed_copies_are_those_of_torch(data_type: str) -> None:
    """Shapes with and without partly filled tiles. Triton reads TRITON_INTERPRET when it is
    imported, so another process makes the copies."""
    subprocess.run(
        [sys.executable, "-c", COMPARE.format(data_type=data_type)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        check=True,
    )
