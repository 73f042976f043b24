"""The boards of the rule book as a table, with a mark where a paper prints another value."""

from reporting.report_table import Column, ReportTable
from reporting.sections.cells import Cells
from reporting.sections.section import Section
from rules.boards import BOARDS, Board

_PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8")

PRINTED_OTHERWISE = {
    "H100 94GB HBM2e": "Mayr et al. 2026, Table 2: TF32 989 TFLOP/s, the rate with sparsity",
    "H200": "Mayr et al. 2026, Table 2: TF32 989 TFLOP/s, the rate with sparsity, and HBM3",
    "H100 PCIe": "Yang et al. 2024, Table 1: 310 W",
}
"""By board: what a paper prints in place of the value of the data sheet."""


def build_board_table() -> ReportTable:
    """All boards, in the order of the rule book."""
    columns = (
        Column("board", "board"),
        Column("vendor", "vendor"),
        *(
            Column(key, key, "TFLOP/s", "number", about="dense peak; empty: the board has no rate")
            for key in _PRECISIONS
        ),
        Column("memory_gib", "memory", "GB", "count"),
        Column("memory_type", "type of memory"),
        Column("memory_tb_per_s", "memory bandwidth", "TB/s", "number", 3),
        Column("default_power_w", "default power", "W", "count", about="limit without a change"),
        Column("max_power_w", "highest power", "W", "count", about="highest limit"),
        Column("source", "source", form="evidence", about="data sheet or publication"),
        Column("printed", "printed otherwise", about="another value in a paper"),
        Column("url", "address of the source", hidden=True),
        Column("other_sources", "further sources", hidden=True),
        Column(
            "names", "reported names", hidden=True, about="names that the vendor's library reports"
        ),
    )
    about = (
        "Dense peak rates: NVIDIA's sheets give rates with sparsity, of which these are half. An "
        "empty cell: no source gives the value. The power of GH200 covers its CPU too, and MI250X "
        "is two devices to its driver."
    )
    rows = tuple(_make_cells(board) for board in BOARDS)
    return ReportTable("boards", "Boards", columns, rows, about)


def _make_cells(board: Board) -> Cells:
    first, *others = board.sources
    return {
        "board": board.id,
        "vendor": board.vendor,
        **{precision: board.peak_tflops.get(precision) for precision in _PRECISIONS},
        "memory_gib": board.memory_gib,
        "memory_type": board.memory_type,
        "memory_tb_per_s": board.memory_tb_per_s,
        "default_power_w": board.default_power_w,
        "max_power_w": board.max_power_w,
        "source": first.title,
        "printed": PRINTED_OTHERWISE.get(board.id),
        "url": first.url,
        "other_sources": "; ".join(f"{source.title}, {source.url}" for source in others) or None,
        "names": "; ".join(board.names) or None,
    }


SECTION = Section(name="boards", place=180, build=lambda page: [build_board_table()])
