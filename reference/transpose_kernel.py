"""Transposed copies by a Triton kernel.

torch.compile fuses the copy that it generates for `matrix.t().contiguous()` with the operations
before it, and computes these again in the backward pass. torch.compile keeps the result of this
kernel from the forward pass.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 64  # rows and columns of the tile that a program copies


@triton.jit
def transpose_tile(source, target, row_count, column_count, tile: tl.constexpr):
    """Copy one tile of `source`, of shape (row_count, column_count), to `target`, of shape
    (column_count, row_count). Both are contiguous."""
    rows = tl.program_id(1).to(tl.int64) * tile + tl.arange(0, tile)
    columns = tl.program_id(0).to(tl.int64) * tile + tl.arange(0, tile)
    inside = (rows < row_count)[:, None] & (columns < column_count)[None, :]
    values = tl.load(source + rows[:, None] * column_count + columns[None, :], inside)
    addresses = target + columns[:, None] * row_count + rows[None, :]
    tl.store(addresses, tl.trans(values), tl.trans(inside))


def transpose_bytes(matrix: Tensor) -> Tensor:
    """Return a contiguous copy of the transpose of a contiguous matrix of one byte a value."""
    row_count, column_count = matrix.shape
    transposed = torch.empty(column_count, row_count, dtype=torch.uint8, device=matrix.device)
    grid = (triton.cdiv(column_count, TILE), triton.cdiv(row_count, TILE))
    transpose_tile[grid](matrix.view(torch.uint8), transposed, row_count, column_count, tile=TILE)
    return transposed.view(matrix.dtype)
