"""SM clocks that are locked for a run: the lock is removed, however the run ends."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest
from click.testing import CliRunner
from support.harness.cap_node import AS_FOUND, SET, A, B, Node, cut_power, find_watchdogs
from support.kills import wait_for

from harness import interrupts
from harness.cli import main
from harness.interrupts import Interrupted
from harness.power.caps import apply as cap_apply
from harness.power.caps.apply import applied_cap
from harness.power.caps.journal import Journal
from harness.power.caps.restore import RestoreError
from harness.power.source import MeterError, NotAllowedError
from harness.run import board_settings, preflight
from harness.run.plan import Plan, PlanError

LOCKED_MHZ = 1200
LOCKED = {A: LOCKED_MHZ, B: LOCKED_MHZ}


@pytest.fixture
def node(tmp_path, monkeypatch) -> Iterator[Node]:
    with Node(tmp_path, monkeypatch) as new_node:
        yield new_node


def make_lock_plan(node: Node) -> Plan:
    """The plan of a run that locks the clocks at the cap in force."""
    return replace(node.plan(700, found_mw={}), sm_clock_mhz=LOCKED_MHZ)


def test_a_clock_is_locked_during_the_block_and_unlocked_after_it(node):
    with applied_cap(make_lock_plan(node)):
        assert node.locks == LOCKED and node.limits == AS_FOUND
        stored = json.loads(node.journal.read_text())["accelerators"]
        assert [(entry["locked_mhz"], entry["found_mw"]) for entry in stored] == [
            (LOCKED_MHZ, None)
        ] * 2
        assert len(find_watchdogs(node)) == 1
    assert node.locks == {} and not node.journal.exists()


def test_cap_and_clock_are_set_and_restored_together(node):
    with applied_cap(replace(node.plan(), sm_clock_mhz=LOCKED_MHZ)):
        assert (node.locks, node.limits) == (LOCKED, SET)
    assert (node.locks, node.limits) == ({}, AS_FOUND)


def test_journal_and_watchdog_exist_before_the_first_lock(node, monkeypatch):
    states = []
    lock = node.nvml.nvmlDeviceSetGpuLockedClocks

    def record_state(*arguments):
        states.append((len(Journal.read(node.journal).accelerators), len(find_watchdogs(node))))
        lock(*arguments)

    monkeypatch.setattr(node.nvml, "nvmlDeviceSetGpuLockedClocks", record_state, raising=False)
    with applied_cap(make_lock_plan(node)):
        pass
    assert states == [(2, 1)] * 2


def test_the_watchdog_unlocks_the_clocks_of_a_killed_run(node):
    with node.hold_cap_elsewhere(make_lock_plan(node)) as (owner, _):
        assert node.locks == LOCKED
        owner.kill()
        wait_for(lambda: node.locks == {} and not node.journal.exists(), within_s=20)


def test_restore_unlocks_the_clocks_of_a_run_killed_with_its_watchdog(node):
    cut_power(node, make_lock_plan(node))
    assert node.locks == LOCKED
    refused = CliRunner().invoke(main, ["run", "resnet50-train", "-o", str(node.root / "out")])
    assert refused.exit_code == 3 and "bench-submit restore" in refused.output
    restored = CliRunner().invoke(main, ["restore"])
    assert restored.exit_code == 0
    assert f"{A}: restored to unlocked SM clock" in " ".join(restored.output.split())
    assert node.locks == {} and not node.journal.exists()


def test_a_board_that_refuses_its_limit_is_unlocked_all_the_same(node):
    with (
        pytest.raises(RestoreError, match=f"{B}: .*not restored to 700 W and unlocked SM clock"),
        applied_cap(replace(node.plan(), sm_clock_mhz=LOCKED_MHZ)),
    ):
        node.change(deaf=[B])
    assert node.locks == {} and node.limits == {A: 700_000, B: 400_000}
    node.change(deaf=[])


def test_a_lock_that_cannot_be_removed_keeps_the_journal(node):
    with (
        pytest.raises(RestoreError, match="unlock the SM clock was refused by NVML"),
        applied_cap(make_lock_plan(node)),
    ):
        node.change(root=False)
    assert node.locks == LOCKED
    assert [limit.locked_mhz for limit in Journal.read(node.journal).accelerators] == [1200, 1200]
    node.change(root=True)


def test_without_the_right_nothing_is_locked_and_the_reason_is_given(node):
    node.change(root=False)
    says = rf"{A}: an SM clock of 1200 MHz was refused by NVML .*locking the SM clock takes root"
    with pytest.raises(NotAllowedError, match=says):
        applied_cap(make_lock_plan(node)).__enter__()
    assert node.locks == {} and not node.journal.exists() and not find_watchdogs(node)


def test_an_interrupt_before_a_clock_is_locked_reports_nothing_restored(node, monkeypatch, capsys):
    def interrupt(*_: object) -> None:
        raise Interrupted("SIGTERM", signal.SIGTERM)

    monkeypatch.setattr(cap_apply, "_apply", interrupt)
    with pytest.raises(Interrupted):
        applied_cap(make_lock_plan(node)).__enter__()
    assert capsys.readouterr().err == "" and not node.journal.exists()


def test_a_signal_while_a_clock_is_locked_unlocks_it_and_says_so(node, capsys):
    with (
        pytest.raises(Interrupted),
        interrupts.raise_interrupts(),
        applied_cap(make_lock_plan(node)),
    ):
        os.kill(os.getpid(), signal.SIGTERM)
    expected = f"restored: {A} to unlocked SM clock, {B} to unlocked SM clock\n"
    assert capsys.readouterr().err == expected and node.locks == {}


def test_a_dry_run_without_root_says_that_the_lock_takes_root(node, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 65534)
    arguments = ["run", "resnet50-train", "--sm-clock", "1200", "--dry-run"]
    result = CliRunner().invoke(main, [*arguments, "-o", str(node.root / "out")])
    output = " ".join(result.output.split())
    assert result.exit_code != 0 and "cap 700 W as found, SM clock locked at 1200 MHz" in output
    assert "--sm-clock: locking the SM clock takes root" in output
    assert "a run without --sm-clock does not need this right" in output


def test_only_a_clock_of_the_board_can_be_locked(node):
    assert len(preflight.inspect_machine("nvidia", 2, None, sm_clock_mhz=1200).devices) == 2
    with pytest.raises(PlanError) as error:
        preflight.inspect_machine("nvidia", 2, None, sm_clock_mhz=1203)
    assert str(error.value) == (
        f"--sm-clock 1203: {A} can be locked at 110 clocks from 345 to 1980 MHz, and not at this "
        "one; the nearest are 1200 and 1215 MHz"
    )


def test_a_board_or_a_meter_without_a_lock_is_named(node, monkeypatch):
    node.nvml.missing.add("nvmlDeviceGetSupportedGraphicsClocks")
    with pytest.raises(PlanError, match=f"--sm-clock 1200: {A} has no lock; leave out"):
        preflight.inspect_machine("nvidia", 1, None, sm_clock_mhz=1200)
    monkeypatch.setattr(board_settings, "ClockControl", type(None))
    with pytest.raises(PlanError, match="--sm-clock 1200: the meter cannot lock the SM clock"):
        preflight.inspect_machine("nvidia", 1, None, sm_clock_mhz=1200)


def test_a_lost_board_is_an_error_that_names_it(node):
    node.nvml.lost = True
    with pytest.raises(MeterError):
        preflight.inspect_machine("nvidia", 1, None, sm_clock_mhz=1200)
