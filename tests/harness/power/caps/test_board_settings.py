"""Which settings a run changes, and whether boards keep a locked SM clock in the first epoch."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.fakes.fake_nvml import FakeNvml
from support.harness.session_runs import change_plan, make_test_plan

from harness.errors import MachineError, PlanError
from harness.power.source import Readback
from harness.power.sources.nvidia import NvidiaSource
from harness.run.board_settings import check_locked_clock, determine_cap, find_states_to_change
from harness.run.plan import Plan
from rules.bundle_format.records import Reading

LOCKED_MHZ = 1200
HIGHEST_EQUAL_MHZ = 1230
START_NS, END_NS = 1000, 1099
"""An epoch of 100 samples, one each ns."""


def make_lock_plan(boards: int = 1) -> Plan:
    return change_plan(make_test_plan(gpus=boards), sm_clock_mhz=LOCKED_MHZ)


def write_clocks(
    directory: Path, clocks_mhz: Sequence[float | str], board: int = 0, start_ns: int = START_NS
) -> Path:
    """Add samples of a board, one each ns, to the file of samples. A clock may be empty."""
    path = directory / "samples.csv"
    rows = "" if path.exists() else "read_ns,accelerator,sm_mhz\n"
    for read_ns, clock_mhz in enumerate(clocks_mhz, start_ns):
        rows += f"{read_ns},SIM-H200-{board},{clock_mhz}\n"
    with path.open("a") as file:
        file.write(rows)
    return path


def test_one_percent_of_the_samples_may_have_a_clock_above_the_locked_one(tmp_path):
    plan = make_lock_plan()
    clocks_mhz = [HIGHEST_EQUAL_MHZ] * 99 + [HIGHEST_EQUAL_MHZ + 15]
    check_locked_clock(plan, write_clocks(tmp_path, clocks_mhz), START_NS, END_NS)
    (tmp_path / "samples.csv").unlink()
    samples = write_clocks(tmp_path, [*clocks_mhz[1:], 1500])
    says = r"SIM-H200-0: .* at 1200 MHz, and 2 % .* epoch 0 are above it, up to 1500 MHz; check"
    with pytest.raises(MachineError, match=says):
        check_locked_clock(plan, samples, START_NS, END_NS)


def test_clocks_from_the_begin_to_the_end_of_the_epoch_count(tmp_path):
    """Of ten samples of the epoch, the first and the last are above the locked clock."""
    write_clocks(tmp_path, [1500] * 90, start_ns=START_NS - 90)
    write_clocks(tmp_path, [1500, *[LOCKED_MHZ] * 8, 1500])
    samples = write_clocks(tmp_path, [1500] * 90, start_ns=START_NS + 10)
    with pytest.raises(MachineError, match="and 20 % of the samples of epoch 0"):
        check_locked_clock(make_lock_plan(), samples, START_NS, START_NS + 9)
    check_locked_clock(make_lock_plan(), samples, START_NS + 1, START_NS + 8)


def test_samples_without_a_clock_do_not_count_and_all_boards_are_compared(tmp_path):
    write_clocks(tmp_path, [""] * 100)
    samples = write_clocks(tmp_path, [LOCKED_MHZ, *[""] * 98, 1500], board=1)
    with pytest.raises(MachineError, match=r"SIM-H200-1: .* and 50 % of the samples"):
        check_locked_clock(make_lock_plan(2), samples, START_NS, END_NS)


def test_samples_of_a_run_without_a_locked_clock_are_not_read(tmp_path):
    check_locked_clock(make_test_plan(), tmp_path / "missing.csv", START_NS, END_NS)


def make_meter(readback: Readback) -> NvidiaSource:
    """A meter of one board."""
    source = NvidiaSource(FakeNvml("GPU-0"), None)
    source.readback = lambda uuid, run_pids: readback
    return source


@pytest.mark.parametrize("cap_w", [200.0, 700.0])
def test_lowest_and_highest_limit_of_a_board_can_be_set(cap_w):
    meter = make_meter(Readback(200_000, 700_000, 700_000, 500_000, 500_000))
    assert determine_cap(meter, meter.devices(), cap_w) == (cap_w, {"GPU-0": 500_000})


def test_a_board_without_stated_limits_is_set_to_at_most_the_limit_that_it_has():
    meter = make_meter(Readback(requested_mw=500_000, enforced_mw=500_000))
    assert determine_cap(meter, meter.devices(), 100.0) == (100.0, {"GPU-0": 500_000})
    with pytest.raises(PlanError, match="--cap 600: GPU-0 can be set to 0 to 500 W"):
        determine_cap(meter, meter.devices(), 600.0)


def test_a_cap_is_in_force_within_a_milliwatt():
    meter = make_meter(Readback(200_000, 700_000, 700_000, 500_000, 500_000))
    assert determine_cap(meter, meter.devices(), 500.001) == (500.001, None)
    assert determine_cap(meter, meter.devices(), 500.002) == (500.002, {"GPU-0": 500_000})


def test_a_power_state_that_the_driver_chooses_is_not_changed():
    """NVIDIA's P8 of an idle board is no setting, though a run expects P0 under load."""
    meter = make_meter(Readback())
    meter.read = lambda uuid: Reading(power_state="P8")
    assert find_states_to_change(meter, meter.devices()) is None
