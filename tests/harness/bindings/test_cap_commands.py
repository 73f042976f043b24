"""`run --cap`, `doctor` and `restore` on the real bindings over the C libraries, where a board
refuses a limit, does not keep it, or is lost: what is said, and that the other boards come back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bindings.boards import AMD_LEVEL_HIGH, EVERY_FUNCTION, EVERY_READING, FOUND_MW
from support.bindings.build import needs_cc
from support.bindings.fixtures import libraries as libraries
from support.bindings.sandbox import (
    CAP_W,
    METERS,
    LibrarySandbox,
    kill_harness_and_watchdog,
    open_library_sandbox,
)
from support.kills import wait_for

FOUND = [(FOUND_MW, AMD_LEVEL_HIGH, 0)] * 2
UUIDS = {
    "nvidia_on_cpu": tuple(f"GPU-0000000{n}-0000-0000-0000-000000000000" for n in (0, 1)),
    "amd_on_cpu": ("PCI-0000:05:00.0", "PCI-0000:25:00.0"),
}
LIBRARY = {"nvidia_on_cpu": "NVML", "amd_on_cpu": "AMD SMI"}
SET_FUNCTION = {
    "nvidia_on_cpu": "nvmlDeviceSetPowerManagementLimit",
    "amd_on_cpu": "amdsmi_set_power_cap",
}
NO_PERMISSION = {"nvidia_on_cpu": 4, "amd_on_cpu": 10}
LOST = {"nvidia_on_cpu": 15, "amd_on_cpu": 31}
pytestmark = [
    needs_cc,
    pytest.mark.xdist_group("bindings"),
    pytest.mark.parametrize("meter", METERS),
]


@pytest.fixture
def sandbox(tmp_path: Path, libraries: Path, meter: str) -> Iterator[LibrarySandbox]:
    with open_library_sandbox(tmp_path, libraries, meter) as new_sandbox:
        yield new_sandbox


def hold_caps(sandbox: LibrarySandbox) -> None:
    """Let a process set the cap on both boards and hold it."""
    sandbox.start_caps(times=1, hold_s=600)
    wait_for(lambda: sandbox.caps_mw == {CAP_W * 1000} or sandbox.process.poll() is not None)
    assert sandbox.process.poll() is None, sandbox.output


def leave_caps(sandbox: LibrarySandbox) -> None:
    """Leave both boards at the cap of a process that was killed with its watchdog."""
    hold_caps(sandbox)
    kill_harness_and_watchdog(sandbox)
    sandbox.wait_for_exit()
    assert sandbox.caps_mw == {CAP_W * 1000} and sandbox.journal.exists()


def test_a_cap_that_a_board_refuses_is_told_and_the_boards_before_it_are_restored(sandbox, meter):
    sandbox.boards.board[1].fail(SET_FUNCTION[meter], NO_PERMISSION[meter])
    result = sandbox.run_command(*sandbox.make_run_arguments(), "--gpus=2")
    assert result.returncode == 3, result.stdout
    assert f"{UUIDS[meter][1]}: a power limit of 400 W was refused by" in result.stdout
    assert "setting a cap takes root" in result.stdout
    assert sandbox.settings == FOUND and not sandbox.journal.exists()
    assert [board.sets for board in sandbox.boards.board[:2]] == [2, 0]


def test_a_cap_that_a_board_does_not_keep_is_told(sandbox, meter):
    sandbox.boards.board[0].ignores_limits = 1
    result = sandbox.run_command(*sandbox.make_run_arguments())
    assert result.returncode == 3, result.stdout
    assert (
        f"{UUIDS[meter][0]}: a power limit of 400 W was asked for, and the board has 700 W"
        in result.stdout
    )
    assert sandbox.settings == FOUND and not sandbox.journal.exists()


def test_a_cap_out_of_range_is_refused_before_anything_is_set(sandbox, meter):
    result = sandbox.run_command(*sandbox.make_run_arguments(), "--cap=800")
    assert result.returncode == 2
    assert f"--cap 800: {UUIDS[meter][0]} can be set to" in result.stdout
    assert "to 750 W" in result.stdout and not sandbox.journal.exists()


def test_a_board_that_answers_nothing_is_told(sandbox, meter):
    """It is found, and then lost: from then on every function fails."""
    sandbox.boards.board[0].fail(EVERY_READING, LOST[meter])
    result = sandbox.run_command(*sandbox.make_run_arguments())
    assert result.returncode == 3, result.stdout
    assert f"{UUIDS[meter][0]}: the board gives no power limit, and no reading" in result.stdout
    doctor = sandbox.run_command("doctor", "--meter", meter)
    assert doctor.returncode == 1 and "a first reading failed" in doctor.stdout


def test_a_lost_board_keeps_none_of_the_others_from_being_restored(sandbox, meter):
    leave_caps(sandbox)
    first = sandbox.boards.board[0]
    first.fail(EVERY_FUNCTION, LOST[meter])
    result = sandbox.run_command("restore")
    assert result.returncode == 1, result.stdout
    assert f"{UUIDS[meter][0]}: {LIBRARY[meter]} gives no access to such a GPU" in result.stdout
    assert f"{UUIDS[meter][1]}: restored to 700 W" in result.stdout
    assert sandbox.settings[1] == FOUND[1]
    assert UUIDS[meter][0] in sandbox.journal.read_text()
    assert UUIDS[meter][1] not in sandbox.journal.read_text()
    first.failing = b""
    result = sandbox.run_command("restore")
    assert result.returncode == 0, result.stdout
    assert sandbox.settings == FOUND and not sandbox.journal.exists()


@pytest.mark.parametrize("variable", [None, "CUDA_VISIBLE_DEVICES"])
def test_the_watchdog_restores_the_others_of_a_board_that_is_lost_during_a_run(
    sandbox, meter, variable, monkeypatch
):
    """Also where the variable names the lost board: the journal names the boards to restore."""
    if variable is not None:
        monkeypatch.setenv(variable, "0,1")
    hold_caps(sandbox)
    first = sandbox.boards.board[0]
    first.fail(EVERY_FUNCTION, LOST[meter])
    sandbox.process.kill()
    sandbox.process.wait()
    wait_for(lambda: sandbox.settings[1] == FOUND[1], within_s=20)
    first.failing = b""
    sandbox.wait_for_exit()  # the watchdog tries again
    assert sandbox.settings == FOUND and not sandbox.journal.exists()
