"""AMD's power source on the real binding amdsmi, with a C library in place of libamd_smi.so."""

import os
import shutil
from multiprocessing.managers import RemoteError
from pathlib import Path

import pytest
from support.bindings.boards import AMD_LEVEL_AUTO, AMD_LEVEL_HIGH, EVERY_FUNCTION, Boards
from support.bindings.build import AMD_SMI_LIBRARY, NVML_LIBRARY, needs_cc, run_code
from support.bindings.fixtures import boards as boards
from support.bindings.fixtures import libraries as libraries
from support.bindings.fixtures import library_process as library_process
from support.bindings.process import LibraryProcess

from harness.errors import MeterError, NotAllowedError
from harness.power.caps.limits import set_cap, set_state
from harness.power.source import Device, PowerSource, Readback

A, B = "PCI-0000:05:00.0", "PCI-0000:25:00.0"
INVAL, NOT_SUPPORTED, NO_PERM, BUSY, NOT_FOUND = 1, 2, 10, 30, 31
NOBODY = 65534
OPEN = (
    "from harness.power.sources import open_source\n"
    "try: open_source('amd')\n"
    "except Exception as error: print(type(error).__name__, error)"
)
pytestmark = [needs_cc, pytest.mark.xdist_group("bindings")]


@pytest.fixture
def source(library_process: LibraryProcess, boards: Boards) -> PowerSource:
    return library_process.open_source("amd")


def enforced_mw(readback: Readback) -> int | None:
    return readback.enforced_mw


def test_boards_are_described(source):
    first, second = source.devices()
    assert first == Device(
        A,
        "AMD Instinct MI300X",
        "AMD",
        206_141_652_992,
        "022.040.003.041.000001",
        "0000:05:00.0",
        750.0,
    )
    assert second.uuid == B


def test_every_quantity_is_read(source, boards):
    boards.board[0].energy_uj = 5_000_000_000_000
    boards.board[0].requested_mw = 400_000
    source.read(A)  # the slowdown is what throttled since the previous reading
    boards.board[0].throttled_count += 1
    reading = source.read(A)
    assert reading.status == "ok"
    assert reading.power_avg_mw is None and abs(reading.power_mw - 392_000) <= 6_000
    assert 5_000_000_000 <= reading.energy_mj < 5_000_100_000
    assert (reading.sm_mhz, reading.mem_mhz, reading.temp_c, reading.mem_temp_c) == (
        1305,
        1300,
        66,
        48,
    )
    assert (reading.power_state, reading.slowdown, reading.util_pct, reading.cap_mw) == (
        "auto",
        2,
        98,
        400_000,
    )


def test_limits_and_state_are_read_back(source, boards):
    board = boards.board[1]
    board.ceiling_mw, board.pid, board.is_partitioned = 600_000, 4711, 1
    board.ecc_corrected, board.ecc_uncorrected = 5_000_000_000, 2
    assert source.readback(B, frozenset()) == Readback(
        min_mw=0,
        max_mw=750_000,
        default_mw=700_000,
        requested_mw=600_000,
        enforced_mw=600_000,
        foreign_processes=1,
        mig=True,
        ecc_uncorrected=2,
        ecc_corrected=5_000_000_000,
    )
    assert source.readback(B, frozenset({4711})).foreign_processes == 0


def test_a_limit_is_set_on_one_board_and_read_back(source, boards):
    set_cap(source, A, 400_000, enforced_mw)
    assert [boards.board[n].requested_mw for n in (0, 1)] == [400_000, 700_000]
    assert [source.readback(u, frozenset()).requested_mw for u in (A, B)] == [400_000, 700_000]
    assert source.read(A).cap_mw == 400_000


@pytest.mark.parametrize("level", ["high", "auto", "stable_peak", "determinism"])
def test_a_performance_level_is_set_and_read(source, level):
    set_state(source, source, A, level)
    assert (source.read(A).power_state, source.read(B).power_state) == (level, "auto")


def test_an_unknown_performance_level_is_refused(source):
    with pytest.raises(MeterError, match=f"{A}: the performance level lowest was refused by AMD"):
        source.set_state(A, "lowest")


REFUSALS = [
    (NO_PERM, "Error code: 10 | AMDSMI_STATUS_NO_PERM - Permission Denied", NotAllowedError),
    (INVAL, "Error code: 1 | AMDSMI_STATUS_INVAL - Invalid parameters", MeterError),
    (NOT_SUPPORTED, "Error code: 2 | AMDSMI_STATUS_NOT_SUPPORTED - Feature not", MeterError),
    (BUSY, "Error code: 30 | AMDSMI_STATUS_BUSY - Device busy", MeterError),
    (NOT_FOUND, "Error code: 31 | AMDSMI_STATUS_NOT_FOUND - Device Not found", MeterError),
    (99, "Error code: 99 | AMDSMI_STATUS_UNKNOWN_ERROR - An unknown error", MeterError),
]


@pytest.mark.parametrize(("code", "reason", "kind"), REFUSALS)
def test_a_refused_setting_tells_the_reason_of_amd_smi(source, boards, code, reason, kind):
    for function, change, setting in (
        ("amdsmi_set_power_cap", lambda: source.set_cap(A, 400_000), "a power limit of 400 W"),
        ("amdsmi_set_gpu_perf_level", lambda: source.set_state(A, "high"), "the performance level"),
    ):
        boards.board[0].fail(function, code)
        with pytest.raises(MeterError) as error:
            change()
        assert type(error.value) is kind
        assert str(error.value).startswith(f"{A}: {setting}")
        assert f"refused by AMD SMI ({reason}" in str(error.value)
    assert (boards.board[0].sets, boards.board[0].level) == (0, AMD_LEVEL_AUTO)


def test_a_limit_above_the_highest_is_refused(source, boards):
    with pytest.raises(MeterError, match="AMDSMI_STATUS_INVAL"):
        source.set_cap(A, 750_001)
    assert boards.board[0].requested_mw == 700_000


@pytest.mark.skipif(os.geteuid() != 0, reason="changing the user of a process takes root")
def test_a_user_without_rights_may_read_and_not_set(library_process, source, boards):
    boards.board[0].level = AMD_LEVEL_HIGH
    library_process.set_user(NOBODY)
    try:
        with pytest.raises(NotAllowedError, match="AMDSMI_STATUS_NO_PERM"):
            source.set_cap(A, 400_000)
        with pytest.raises(NotAllowedError, match="AMDSMI_STATUS_NO_PERM"):
            source.set_state(A, "auto")
        assert source.readback(A, frozenset()).enforced_mw == 700_000
    finally:
        library_process.set_user(0)
    assert (boards.board[0].requested_mw, boards.board[0].level) == (700_000, AMD_LEVEL_HIGH)


def test_a_board_that_does_not_keep_its_limit_is_told(source, boards):
    boards.board[0].ignores_limits = 1
    with pytest.raises(MeterError, match="limit of 400 W was asked for, and the board has 700 W"):
        set_cap(source, A, 400_000, enforced_mw)


def test_a_quantity_that_a_board_lacks_is_no_failure(source, boards):
    boards.board[0].fail("amdsmi_get_energy_count", NOT_SUPPORTED)
    reading = source.read(A)
    assert (reading.energy_mj, reading.status) == (None, "ok")


def test_a_reading_that_fails_once_names_the_quantity_and_keeps_the_others(source, boards):
    boards.board[0].fail("amdsmi_get_power_info", BUSY)
    reading = source.read(A)
    assert (reading.power_mw, reading.cap_mw) == (None, 700_000)
    assert reading.status == "power: Error code: 30 | AMDSMI_STATUS_BUSY - Device busy"
    boards.board[0].failing = b""
    assert source.read(A).status == "ok"


def test_a_board_that_is_lost_during_a_run_gives_no_values_and_a_reason(source, boards):
    boards.board[0].fail(EVERY_FUNCTION, NOT_FOUND)
    reading = source.read(A)
    assert (reading.power_mw, reading.energy_mj) == (None, None)
    assert reading.status.startswith("power: Error code: 31 | AMDSMI_STATUS_NOT_FOUND")
    assert source.readback(A, frozenset()) == Readback()
    with pytest.raises(MeterError, match=rf"{A}: .* refused by AMD SMI \(Error code: 31"):
        source.set_cap(A, 400_000)
    assert source.devices()[0] == Device(A, "AMD GPU", "AMD")
    source.set_cap(B, 400_000)
    assert source.read(B).cap_mw == 400_000


@pytest.mark.parametrize("function", [EVERY_FUNCTION, "amdsmi_get_gpu_device_bdf"])
def test_a_board_that_is_lost_keeps_none_of_the_others_from_use(library_process, boards, function):
    boards.board[0].fail(function, NOT_FOUND)
    source = library_process.open_source("amd")
    assert [device.uuid for device in source.devices()] == [B]
    with pytest.raises(MeterError, match=rf"{A}: AMD SMI gives no access to such a GPU; .*amd-smi"):
        source.set_cap(A, 400_000)
    boards.board[1].fail(function, NOT_FOUND)
    with pytest.raises(RemoteError, match="MeterError: AMD SMI gives no access to any GPU here"):
        library_process.open_source("amd")


def test_without_a_driver_the_meter_is_refused(libraries, boards):
    output = run_code(libraries, libraries / "none", OPEN)
    assert output.startswith(
        "MeterError AMD SMI does not answer (Error code: 34 | AMDSMI_STATUS_DRIVER_NOT_LOADED"
    )


def test_without_rocm_the_meter_is_refused(tmp_path):
    output = run_code(tmp_path, tmp_path / "none", OPEN)
    assert output.count("\n") == 1 and output.startswith("MeterError amdsmi does not load (")
    assert "libamd_smi.so: cannot open shared object file" in output


def test_a_library_that_is_older_than_the_binding_is_refused(libraries: Path, tmp_path: Path):
    """It lacks functions that the binding loads on import."""
    shutil.copy(libraries / NVML_LIBRARY, tmp_path / AMD_SMI_LIBRARY)
    output = run_code(tmp_path, libraries / "boards", OPEN)
    assert output.count("\n") == 1 and "undefined symbol: amdsmi_" in output
    assert output.endswith("it needs the libamd_smi of a ROCm of the same version\n")
