"""Boards in a file that several processes map: those of the C libraries in this directory.

The libraries stand in for `libnvidia-ml.so.1` and `libamd_smi.so`, below the real bindings
nvidia-ml-py and amdsmi. A harness, its watchdog and a test thus see the same limits.
"""

import ctypes
import mmap
from pathlib import Path

FILE_VARIABLE = "WATTMARK_TEST_BOARDS"
"""Names the file to the libraries."""
EVERY_FUNCTION = "*"
EVERY_READING = "readings"
"""The functions that do not belong to finding a board."""


class Board(ctypes.Structure):
    """An accelerator as the libraries give it. A test may change any field at any time."""

    _fields_ = (
        ("uuid", ctypes.c_char * 48),
        ("failing", ctypes.c_char * 64),
        ("error_code", ctypes.c_int64),
        ("requested_mw", ctypes.c_int64),
        ("ceiling_mw", ctypes.c_int64),
        ("min_mw", ctypes.c_int64),
        ("max_mw", ctypes.c_int64),
        ("default_mw", ctypes.c_int64),
        ("demand_mw", ctypes.c_int64),
        ("energy_uj", ctypes.c_int64),
        ("energy_at_ns", ctypes.c_int64),
        ("ignores_limits", ctypes.c_int64),
        ("sets", ctypes.c_int64),
        ("set_duration_ms", ctypes.c_int64),
        ("is_partitioned", ctypes.c_int64),
        ("ecc_corrected", ctypes.c_int64),
        ("ecc_uncorrected", ctypes.c_int64),
        ("pid", ctypes.c_int64),
        ("level", ctypes.c_int64),
        ("throttled_count", ctypes.c_int64),
        ("sm_mhz", ctypes.c_int64),
        ("bus", ctypes.c_int64),
        ("module_mw", ctypes.c_int64),
        ("memory_mw", ctypes.c_int64),
        ("locked_mhz", ctypes.c_int64),
    )
    """`failing`: the C function that returns `error_code`, or EVERY_FUNCTION, EVERY_READING or
    `field N`.
    `requested_mw`: the limit that was set. The smaller of it and `ceiling_mw` is in force.
    `demand_mw`: what the board draws without a limit.
    `ignores_limits`: the board takes a limit, returns success and does not keep it.
    `sets`: how many limits were set. Each takes `set_duration_ms`.
    `pid`: a process that computes on the board, 0 for none.
    `level`: AMD's performance level. `throttled_count`: how often AMD's limit throttled the board.
    `sm_mhz`: NVIDIA's application clock.
    `module_mw`: what the module around the board draws beside it, negative without a module.
    `memory_mw`: mean power of the memory, 0 if the board does not give it.
    `locked_mhz`: NVIDIA's locked SM clock, 0 without a lock.
    """

    def fail(self, function: str, error_code: int) -> None:
        """Let a function of the library return an error code for this board."""
        self.error_code = error_code
        self.failing = function.encode()


class Boards(ctypes.Structure):
    """The boards of a node."""

    _fields_ = (("count", ctypes.c_int64), ("board", Board * 4))


FOUND_MW = 700_000
AMD_LEVEL_AUTO, AMD_LEVEL_HIGH = 0, 2


def make_board(number: int) -> Board:
    """An H200 or an MI300X, depending on the library, at 700 W of at most 700 W."""
    return Board(
        uuid=f"GPU-{number:08x}-0000-0000-0000-000000000000".encode(),
        ceiling_mw=750_000,
        requested_mw=FOUND_MW,
        min_mw=200_000,
        max_mw=750_000,
        default_mw=FOUND_MW,
        demand_mw=650_000,
        sm_mhz=1980,
        bus=5 + 0x20 * number,
        module_mw=1_000_000,
    )


def map_boards(path: Path, count: int = 2) -> Boards:
    """Write `count` boards to the file at `path` and map it. The boards show what any process does
    to them."""
    path.write_bytes(bytes(ctypes.sizeof(Boards)))
    with path.open("r+b") as file:
        boards = Boards.from_buffer(mmap.mmap(file.fileno(), 0))
    boards.count = count
    for number in range(count):
        boards.board[number] = make_board(number)
    return boards
