"""NVIDIA's power source on the real binding nvidia-ml-py, with a C library in place of
libnvidia-ml.so.1."""

import os
import time
from itertools import pairwise
from multiprocessing.managers import RemoteError

import pynvml
import pytest
from support.bindings.boards import EVERY_FUNCTION, Boards
from support.bindings.build import needs_cc, run_code
from support.bindings.fixtures import boards as boards
from support.bindings.fixtures import libraries as libraries
from support.bindings.fixtures import library_process as library_process
from support.bindings.process import LibraryProcess

from harness.errors import MeterError, NotAllowedError
from harness.power.caps.limits import set_cap
from harness.power.source import Device, PowerSource, Readback

A, B = (f"GPU-0000000{n}-0000-0000-0000-000000000000" for n in (0, 1))
NOBODY = 65534
UNKNOWN_CODE = 27
pytestmark = [needs_cc, pytest.mark.xdist_group("bindings")]


@pytest.fixture
def source(library_process: LibraryProcess, boards: Boards) -> PowerSource:
    return library_process.open_source("nvidia")


def enforced_mw(readback: Readback) -> int | None:
    return readback.enforced_mw


def test_boards_are_described(source):
    first, second = source.devices()
    assert first == Device(
        A, "NVIDIA H200", "NVIDIA", 150_754_820_096, "96.00.BC.00.01", "00000000:05:00.0", 750.0
    )
    assert (second.uuid, second.pci) == (B, "00000000:25:00.0")


def test_every_quantity_is_read(source, boards):
    boards.board[0].energy_uj = 5_000_000_000_000  # more than 32 bits of mJ
    boards.board[0].requested_mw = 400_000
    reading = source.read(A)
    assert reading.status == "ok"
    assert reading.power_avg_mw == 392_000 and abs(reading.power_mw - 392_000) <= 5_000
    assert 5_000_000_000 <= reading.energy_mj < 5_000_100_000
    assert (reading.sm_mhz, reading.mem_mhz, reading.temp_c, reading.mem_temp_c) == (
        1755,
        3201,
        55,
        61,
    )
    assert (reading.power_state, reading.slowdown, reading.util_pct, reading.cap_mw) == (
        "P0",
        4,
        99,
        400_000,
    )


def test_counter_is_read_apart_and_memory_has_power_where_the_board_gives_it(
    library_process, boards
):
    boards.board[0].memory_mw, boards.board[1].memory_mw = 37_800, 0
    source = library_process.open_source("nvidia")
    state = source.read_state(A)
    assert state.energy_mj is None and state.mem_power_mw == 37_800 and state.status == "ok"
    before_mj, energy_mj, after_mj = (
        source.read(A).energy_mj,
        source.read_counter(A),
        source.read(A).energy_mj,
    )
    assert before_mj <= energy_mj <= after_mj and before_mj < after_mj
    assert source.read_state(B).mem_power_mw is None


def test_buffer_has_readings_of_20_ms_later_than_the_last_ones(source):
    readings = source.read_buffer(A, 0)
    assert len(readings) == 119
    times_ns = [time_ns for time_ns, _ in readings]
    steps_ms = {round((b - a) / 1e6) for a, b in pairwise(times_ns)}
    assert steps_ms == {20} and 0 <= time.monotonic_ns() - times_ns[-1] < 5e9
    assert all(power_mw > 0 for _, power_mw in readings)
    assert len(source.read_buffer(A, times_ns[-3])) < 119
    assert source.read_buffer(A, times_ns[-1] + 60_000_000_000) == []


def test_limits_and_state_are_read_back(source, boards):
    board = boards.board[1]
    board.ceiling_mw, board.pid, board.is_partitioned, board.sm_mhz = 600_000, 4711, 1, 1500
    board.ecc_corrected, board.ecc_uncorrected = 5_000_000_000, 2
    assert source.readback(B, frozenset()) == Readback(
        min_mw=200_000,
        max_mw=750_000,
        default_mw=700_000,
        requested_mw=700_000,
        enforced_mw=600_000,
        foreign_processes=1,
        mig=True,
        ecc_uncorrected=2,
        ecc_corrected=5_000_000_000,
        sm_set_mhz=1500,
        sm_default_mhz=1980,
        mem_set_mhz=3201,
        mem_default_mhz=3201,
    )
    assert source.readback(B, frozenset({4711})).foreign_processes == 0


def test_fields_are_those_of_the_gpu_and_not_of_its_module(source):
    """The library gives 1 kW more in the scope of the module."""
    assert source.read(A).power_mw < 700_000
    assert source.readback(A, frozenset()).enforced_mw == 700_000


def test_a_limit_is_set_on_one_board_and_read_back(source, boards):
    set_cap(source, A, 400_000, enforced_mw)
    assert [boards.board[n].requested_mw for n in (0, 1)] == [400_000, 700_000]
    assert [source.readback(u, frozenset()).requested_mw for u in (A, B)] == [400_000, 700_000]
    assert source.read(A).cap_mw == 400_000


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (pynvml.NVML_ERROR_NO_PERMISSION, "Insufficient Permissions", NotAllowedError),
        (pynvml.NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument", MeterError),
        (pynvml.NVML_ERROR_NOT_SUPPORTED, "Not Supported", MeterError),
        (pynvml.NVML_ERROR_GPU_IS_LOST, "GPU is lost", MeterError),
        (pynvml.NVML_ERROR_UNKNOWN, "Unknown Error", MeterError),
        (UNKNOWN_CODE, "Insufficient Resources", MeterError),
    ],
)
def test_a_refused_limit_tells_the_reason_of_nvml(source, boards, code, reason, kind):
    boards.board[0].fail("nvmlDeviceSetPowerManagementLimit", code)
    with pytest.raises(MeterError) as error:
        source.set_cap(A, 400_000)
    assert type(error.value) is kind
    assert str(error.value) == f"{A}: a power limit of 400 W was refused by NVML ({reason})"
    assert boards.board[0].sets == 0


@pytest.mark.parametrize("cap_mw", [199_999, 750_001])
def test_a_limit_out_of_range_is_refused(source, boards, cap_mw):
    with pytest.raises(MeterError, match=r"refused by NVML \(Invalid Argument\)"):
        source.set_cap(A, cap_mw)
    assert boards.board[0].requested_mw == 700_000


def test_a_clock_is_locked_on_one_board_and_shows_in_its_readings(source, boards):
    assert source.list_sm_clocks(A) == list(range(345, 1981, 15))
    source.lock_sm_clock(A, 1200)
    assert [boards.board[n].locked_mhz for n in (0, 1)] == [1200, 0]
    assert [source.read(uuid).sm_mhz for uuid in (A, B)] == [1200, 1755]
    source.reset_sm_clock(A)
    assert boards.board[0].locked_mhz == 0 and source.read(A).sm_mhz == 1755


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (pynvml.NVML_ERROR_NO_PERMISSION, "Insufficient Permissions", NotAllowedError),
        (pynvml.NVML_ERROR_GPU_IS_LOST, "GPU is lost", MeterError),
        (UNKNOWN_CODE, "Insufficient Resources", MeterError),
    ],
)
def test_a_refused_lock_tells_the_reason_of_nvml(source, boards, code, reason, kind):
    for function, act, request in (
        ("SetGpuLockedClocks", lambda: source.lock_sm_clock(A, 1200), "an SM clock of 1200 MHz"),
        ("ResetGpuLockedClocks", lambda: source.reset_sm_clock(A), "to unlock the SM clock"),
    ):
        boards.board[0].fail(f"nvmlDevice{function}", code)
        with pytest.raises(MeterError) as error:
            act()
        assert type(error.value) is kind
        assert str(error.value) == f"{A}: {request} was refused by NVML ({reason})"


def test_a_board_that_cannot_be_locked_says_so_and_has_no_lock_to_remove(source, boards):
    """A board before Volta lists its clocks and has no lock. A journal must not wait for its
    removal for ever."""
    boards.board[0].fail("nvmlDeviceSetGpuLockedClocks", pynvml.NVML_ERROR_NOT_SUPPORTED)
    with pytest.raises(MeterError, match=r"1200 MHz was refused by NVML \(Not Supported\)"):
        source.lock_sm_clock(A, 1200)
    boards.board[0].fail("nvmlDeviceResetGpuLockedClocks", pynvml.NVML_ERROR_NOT_SUPPORTED)
    source.reset_sm_clock(A)


def test_a_board_without_a_lock_has_no_clocks_and_a_lost_one_is_an_error(source, boards):
    boards.board[0].fail("nvmlDeviceGetSupportedMemoryClocks", pynvml.NVML_ERROR_NOT_SUPPORTED)
    assert source.list_sm_clocks(A) == []
    boards.board[0].fail(EVERY_FUNCTION, pynvml.NVML_ERROR_GPU_IS_LOST)
    with pytest.raises(MeterError, match=rf"{A}: NVML does not list the SM clocks \(GPU is lost\)"):
        source.list_sm_clocks(A)


@pytest.mark.skipif(os.geteuid() != 0, reason="changing the user of a process takes root")
def test_a_user_without_rights_may_read_and_not_set(library_process, source, boards):
    library_process.set_user(NOBODY)
    try:
        for act in (
            lambda: source.set_cap(A, 400_000),
            lambda: source.lock_sm_clock(A, 1200),
            lambda: source.reset_sm_clock(A),
        ):
            with pytest.raises(NotAllowedError, match=r"NVML \(Insufficient Permissions\)"):
                act()
        assert source.readback(A, frozenset()).enforced_mw == 700_000
    finally:
        library_process.set_user(0)
    assert boards.board[0].requested_mw == 700_000


def test_a_board_that_does_not_keep_its_limit_is_told(source, boards):
    boards.board[0].ignores_limits = 1
    with pytest.raises(MeterError, match="limit of 400 W was asked for, and the board has 700 W"):
        set_cap(source, A, 400_000, enforced_mw)


def test_the_second_version_of_the_call_hides_a_refusal(libraries, library_process, boards):
    """The reason why the source does not use it. If this test fails, the binding is mended."""
    code = (
        "import pynvml; pynvml.nvmlInit(); board = pynvml.nvmlDeviceGetHandleByIndex(0); "
        "print(pynvml.nvmlDeviceSetPowerManagementLimit_v2(board, 0, 1_000_000))"
    )
    assert (
        run_code(libraries, libraries / "boards", code) == "0\n"
        and boards.board[0].requested_mw == 700_000
    )


@pytest.mark.parametrize(
    "code", [pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_INVALID_ARGUMENT]
)
@pytest.mark.parametrize(
    ("function", "quantity"),
    [("field 186", "power_mw"), ("nvmlDeviceGetUtilizationRates", "util_pct")],
)
def test_a_quantity_that_a_board_lacks_is_no_failure(
    library_process, boards, function, quantity, code
):
    boards.board[0].fail(function, code)
    reading = library_process.open_source("nvidia").read(A)
    assert getattr(reading, quantity) is None and reading.status == "ok"
    assert reading.power_avg_mw == 650_000


def test_slowdown_is_read_under_its_former_name_from_an_older_driver(library_process, boards):
    """The binding knows the new function, and the library of a driver before 535 does not."""
    boards.board[0].fail(
        "nvmlDeviceGetCurrentClocksEventReasons", pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
    )
    boards.board[0].requested_mw = 400_000
    reading = library_process.open_source("nvidia").read(A)
    assert (reading.slowdown, reading.status) == (4, "ok")


def test_a_reading_that_fails_once_names_the_quantity_and_keeps_the_others(source, boards):
    boards.board[0].fail("field 186", pynvml.NVML_ERROR_UNKNOWN)
    reading = source.read(A)
    assert (reading.power_mw, reading.power_avg_mw) == (None, 650_000)
    assert reading.status == "power_mw: Unknown Error"
    boards.board[0].failing = b""
    assert source.read(A).status == "ok"


def test_a_board_that_is_lost_during_a_run_gives_no_values_and_a_reason(source, boards):
    boards.board[0].fail(EVERY_FUNCTION, pynvml.NVML_ERROR_GPU_IS_LOST)
    reading = source.read(A)
    assert (reading.power_mw, reading.energy_mj) == (None, None)
    assert reading.status == "power_mw: GPU is lost"
    assert source.readback(A, frozenset()) == Readback()
    with pytest.raises(MeterError, match=rf"{A}: .* refused by NVML \(GPU is lost\)"):
        source.set_cap(A, 400_000)
    assert source.devices()[0] == Device(A, "NVIDIA GPU", "NVIDIA")
    source.set_cap(B, 400_000)
    assert source.read(B).cap_mw == 400_000


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (pynvml.NVML_ERROR_GPU_IS_LOST, "GPU is lost"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"),
    ],
)
def test_a_board_without_a_handle_keeps_none_of_the_others_from_use(
    library_process, boards, code, reason
):
    boards.board[0].fail("nvmlDeviceGetHandleByIndex_v2", code)
    source = library_process.open_source("nvidia")
    assert [device.uuid for device in source.devices()] == [B]
    with pytest.raises(MeterError, match=rf"{A}: NVML gives no access to such a GPU; .*nvidia-smi"):
        source.set_cap(A, 400_000)
    boards.board[1].fail("nvmlDeviceGetHandleByIndex_v2", code)
    with pytest.raises(
        RemoteError, match=rf"MeterError: NVML gives no access to GPU 0 \({reason}\)"
    ):
        library_process.open_source("nvidia")


def test_without_a_driver_the_meter_is_refused(library_process, libraries, boards):
    code = (
        "from harness.power.sources import open_source\n"
        "try: open_source('nvidia')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    output = run_code(libraries, libraries / "none", code)
    assert output.startswith("MeterError NVML does not answer (Driver Not Loaded); is the NVIDIA")
