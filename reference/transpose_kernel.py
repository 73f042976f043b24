"""Transposed copies by a Triton kernel.

torch.compile fuses the copy that it generates for `matrix.t().contiguous()` with the operations
before it, and computes these again in the backward pass. It keeps the result of this kernel.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 64  # rows and columns of the tile that a program copies


@triton.jit
def copy_tile(source, target, rows, columns, tile: tl.constexpr):
    """Copy one tile of `source`, of shape (rows, columns), to `target`, of shape (columns, rows).
    Both are contiguous."""
    row = tl.program_id(1).to(tl.int64) * tile + tl.arange(0, tile)
    column = tl.program_id(0).to(tl.int64) * tile + tl.arange(0, tile)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    values = tl.load(source + row[:, None] * columns + column[None, :], inside)
    places = target + column[:, None] * rows + row[None, :]
    tl.store(places, tl.trans(values), tl.trans(inside))


def transpose_bytes(matrix: Tensor) -> Tensor:
    """Return a contiguous copy of the transpose of a contiguous matrix of one byte a value."""
    rows, columns = matrix.shape
    result = torch.empty(columns, rows, dtype=torch.uint8, device=matrix.device)
    grid = (triton.cdiv(columns, TILE), triton.cdiv(rows, TILE))
    copy_tile[grid](matrix.view(torch.uint8), result, rows, columns, tile=TILE)
    return result.view(matrix.dtype)
