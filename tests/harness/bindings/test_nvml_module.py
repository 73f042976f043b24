"""Power of modules and memories on the real binding nvidia-ml-py, with a C library in place of
libnvidia-ml.so.1."""

from multiprocessing.managers import RemoteError

import pytest
from support.bindings.boards import EVERY_FUNCTION, Boards
from support.bindings.build import needs_cc
from support.bindings.fixtures import boards as boards
from support.bindings.fixtures import libraries as libraries
from support.bindings.fixtures import library_process as library_process
from support.bindings.process import LibraryProcess

from harness.power.node_meter import MeterAccess

NOT_SUPPORTED, GPU_IS_LOST, TIMEOUT, NO_PERMISSION = 3, 15, 10, 4
pytestmark = [needs_cc, pytest.mark.xdist_group("bindings")]


def make_access(*feeds: str) -> MeterAccess:
    return MeterAccess("parts", "nvml_module", {feed: feed for feed in feeds})


def read_powers(process: LibraryProcess, *feeds: str) -> dict[str, int | None]:
    meter = process.open_node_meter(make_access(*feeds))
    readings = dict(meter.read())
    meter.close()
    assert {reading.status for reading in readings.values()} == {"ok"}
    return {feed: reading.power_mw for feed, reading in readings.items()}


def test_each_feed_has_the_power_of_its_scope_and_gpu(
    library_process: LibraryProcess, boards: Boards
) -> None:
    boards.board[0].memory_mw, boards.board[1].memory_mw = 37_800, 41_000
    boards.board[1].demand_mw, boards.board[1].module_mw = 300_000, 150_000
    powers = read_powers(library_process, "memory", "memory-1", "gpu-1", "module-1", "module-0")
    assert (powers["memory"], powers["memory-1"]) == (37_800, 41_000)
    assert powers["gpu-1"] == pytest.approx(300_000, abs=5_000)
    assert powers["module-1"] == pytest.approx(450_000, abs=5_000)
    assert powers["module-0"] == pytest.approx(1_650_000, abs=5_000)


def test_a_scope_that_the_board_does_not_have_is_refused_when_the_meter_is_opened(
    library_process: LibraryProcess, boards: Boards
) -> None:
    boards.board[0].module_mw = -1
    with pytest.raises(RemoteError, match=r"MeterError: .*scope module of GPU 0 .*leave the feed"):
        library_process.open_node_meter(make_access("module-0"))
    with pytest.raises(RemoteError, match=r"MeterError: .*no power of the scope memory of GPU 0"):
        library_process.open_node_meter(make_access("memory"))


@pytest.mark.parametrize("feed", ["dram-0", "memory-x", "memory 0", "", "module-"])
def test_a_feed_that_names_no_scope_is_refused(
    library_process: LibraryProcess, boards: Boards, feed: str
) -> None:
    with pytest.raises(RemoteError, match=r"MeterError: .*give a scope and the number of a GPU"):
        library_process.open_node_meter(make_access(feed))


def test_a_gpu_that_is_not_there_is_refused(
    library_process: LibraryProcess, boards: Boards
) -> None:
    with pytest.raises(RemoteError, match=r"MeterError: .*GPU 7"):
        library_process.open_node_meter(make_access("module-7"))


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (NOT_SUPPORTED, "absent"),
        (GPU_IS_LOST, "absent"),
        (TIMEOUT, "timeout"),
        (NO_PERMISSION, "refused"),
        (27, "malformed"),
    ],
)
def test_a_failure_during_a_run_is_a_status(
    library_process: LibraryProcess, boards: Boards, code: int, status: str
) -> None:
    boards.board[0].memory_mw = 37_800
    meter = library_process.open_node_meter(make_access("memory", "module-1"))
    boards.board[0].fail(EVERY_FUNCTION, code)
    readings = dict(meter.read())
    assert (readings["memory"].status, readings["memory"].power_mw) == (status, None)
    assert readings["module-1"].status == "ok"
    boards.board[0].fail("", 0)
    assert dict(meter.read())["memory"].power_mw == 37_800
