"""The ceilings of the clock in rules/boards.py: what the docs say of them, and what follows."""

import re
from pathlib import Path

import pytest

from rules.boards import BOARDS, CEILING_FALL_MHZ, CLOCK_TOLERANCE_MHZ, find_board

PAGE = Path(__file__).parents[2] / "docs" / "measurement.md"


def test_docs_have_the_ceilings_of_the_boards() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (table,) = re.findall(r"<!-- begin ceilings -->\n\n(.*?)\n\n<!-- end", text, re.DOTALL)
    head, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.split("\n")
    )
    stated = {
        name: {p: int(mhz) for p, mhz in zip(head[1:], cells, strict=True) if mhz.isdigit()}
        for name, *cells in rows
    }
    assert stated == {b.id: dict(b.clock_ceilings_mhz) for b in BOARDS if b.clock_ceilings_mhz}


@pytest.mark.parametrize(
    ("board", "precision", "of_zeros_mhz"),
    [
        ("NVIDIA H200", "bf16", 1740),
        ("NVIDIA H200", "tf32", 1950),
        ("NVIDIA H200", "fp64", 1635),
        ("NVIDIA H100 80GB HBM3", "fp16", 1560),
        ("NVIDIA H100 80GB HBM3", "int8", 1560),
    ],
)
def test_lowest_ceiling_is_below_that_of_zeros_or_of_any_precision(
    board: str, precision: str, of_zeros_mhz: int
) -> None:
    found = find_board(board)
    assert found is not None
    lowest_mhz = of_zeros_mhz - CEILING_FALL_MHZ - CLOCK_TOLERANCE_MHZ
    assert found.lowest_ceiling_mhz(precision) == lowest_mhz


def test_board_that_was_not_measured_has_no_ceiling() -> None:
    found = find_board("NVIDIA A100-SXM4-80GB")
    assert found is not None and found.lowest_ceiling_mhz("bf16") is None
