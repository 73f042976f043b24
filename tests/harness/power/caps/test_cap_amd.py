"""Caps and performance levels of AMD GPUs that are set for a run, on a fake of AMD SMI."""

import sys
from collections.abc import Iterator

import pytest
from support.fakes.fake_amdsmi import BUSY, FakeAmdSmi, FakeGpu
from support.harness.cap_node import Node, find_watchdogs
from support.kills import wait_for

from harness.errors import MeterError
from harness.power.caps.apply import applied_cap
from harness.power.caps.journal import Journal, SavedLimit
from harness.power.caps.restore import RestoreError
from harness.power.sources import amd, open_source
from harness.run.board_settings import find_states_to_change
from harness.run.plan import Machine, Plan, RunRequest
from harness.run.planning import make_plan
from harness.system import DESCRIPTION


@pytest.fixture
def node(tmp_path, monkeypatch) -> Iterator[Node]:
    with Node(tmp_path, monkeypatch) as new_node:
        yield new_node


@pytest.fixture
def gpu(tmp_path, monkeypatch) -> FakeGpu:
    """An MI300X at 600 W and the performance level `high`, whose name is its address: no kernel
    tells its unique id."""
    board = FakeGpu(1, hip_id=0, bus=0xE5)
    board.level = "AMDSMI_DEV_PERF_LEVEL_HIGH"
    (tmp_path / "amdsmi.py").write_text(
        "import sys\nfrom support.fakes import fake_amdsmi\nsys.modules[__name__] = "
        "fake_amdsmi.FakeAmdSmi(fake_amdsmi.FakeGpu(1, 0, 0xE5))\n"
    )
    monkeypatch.setitem(sys.modules, "amdsmi", FakeAmdSmi(board))
    monkeypatch.setattr(amd, "KFD_NODES", tmp_path / "none")
    return board


def make_amd_plan(cap_w: float, found_mw: dict[str, int] | None) -> Plan:
    meter = open_source("amd")
    devices = tuple(meter.devices())
    machine = Machine(
        "amd", "cuda", "6", devices, "auto", cap_w, found_mw, find_states_to_change(meter, devices)
    )
    return make_plan(RunRequest("resnet50-train"), machine, dict(DESCRIPTION), "0" * 64)


def test_amds_limit_and_performance_level_are_set_and_restored(node, gpu):
    with applied_cap(make_amd_plan(400, {"PCI-0000:e5:00.0": 600_000})):
        assert (gpu.caps["power_cap"], gpu.level) == (400_000_000, "AMDSMI_DEV_PERF_LEVEL_AUTO")
        assert Journal.read(node.journal).accelerators == (
            SavedLimit("PCI-0000:e5:00.0", 600_000, "high"),
        )
    assert (gpu.caps["power_cap"], gpu.level) == (600_000_000, "AMDSMI_DEV_PERF_LEVEL_HIGH")


def test_a_performance_level_that_moved_since_the_plan_was_made_is_refused(node, gpu):
    for plan_level, current_level in (("HIGH", "LOW"), ("AUTO", "HIGH")):
        gpu.level = f"AMDSMI_DEV_PERF_LEVEL_{plan_level}"
        plan = make_amd_plan(600, None)
        gpu.level = f"AMDSMI_DEV_PERF_LEVEL_{current_level}"
        with pytest.raises(
            MeterError,
            match=f"performance level was {plan_level.lower()} when .* "
            f"and is {current_level.lower()} now",
        ):
            applied_cap(plan).__enter__()


def test_amds_performance_level_is_set_for_a_run_at_the_cap_that_was_found(node, gpu):
    with applied_cap(make_amd_plan(600, None)):
        assert (gpu.caps["power_cap"], gpu.level) == (600_000_000, "AMDSMI_DEV_PERF_LEVEL_AUTO")
    assert gpu.level == "AMDSMI_DEV_PERF_LEVEL_HIGH"
    gpu.level = "AMDSMI_DEV_PERF_LEVEL_AUTO"
    with applied_cap(make_amd_plan(600, None)):
        assert not node.journal.exists()


def test_only_boards_that_the_run_changes_are_in_the_journal(node, gpu, monkeypatch):
    other = FakeGpu(2, hip_id=1, bus=0xE6)
    other.level = "AMDSMI_DEV_PERF_LEVEL_AUTO"
    monkeypatch.setitem(sys.modules, "amdsmi", FakeAmdSmi(gpu, other))
    with applied_cap(make_amd_plan(600, None)):
        stored = Journal.read(node.journal).accelerators
        assert stored == (SavedLimit("PCI-0000:e5:00.0", None, "high"),)


def test_a_performance_level_that_cannot_be_restored_is_said(node, gpu):
    says = (
        r"the performance level high was refused .* not restored to high; try: bench-submit restore"
    )
    with pytest.raises(RestoreError, match=says), applied_cap(make_amd_plan(600, None)):
        gpu.errors["amdsmi_set_gpu_perf_level"] = BUSY
    wait_for(lambda: not find_watchdogs(node))
