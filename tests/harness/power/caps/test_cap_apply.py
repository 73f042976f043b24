"""Caps that are set for a run: the former limits come back, however the run ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
from click.testing import CliRunner
from support.harness.cap_node import AS_FOUND, SET, A, B, Node, find_watchdogs
from support.harness.shares import make_share
from support.kills import wait_for

from harness import interrupts
from harness.cli import main
from harness.interrupts import Interrupted
from harness.power.caps import journal as journal
from harness.power.caps.apply import applied_cap, explain_refusal
from harness.power.caps.journal import Journal
from harness.power.caps.restore import RestoreError
from harness.power.source import MeterError, NotAllowedError
from harness.run import evidence


@pytest.fixture
def node(tmp_path, monkeypatch) -> Iterator[Node]:
    with Node(tmp_path, monkeypatch) as new_node:
        yield new_node


def test_a_cap_is_set_while_it_is_held_and_what_was_found_comes_back(node):
    with applied_cap(node.plan()):
        assert node.limits == SET
        stored = json.loads(node.journal.read_text())
        assert [(limit["uuid"], limit["found_mw"]) for limit in stored["accelerators"]] == [
            (A, 700_000),
            (B, 700_000),
        ]
        assert stored["pid"] == os.getpid() and stored["meter"] == "nvidia"
        assert (
            node.journal.stat().st_mode & 0o777 == 0o644
            and node.state.stat().st_mode & 0o777 == 0o755
        )
    assert node.limits == AS_FOUND
    assert not node.journal.exists() and not find_watchdogs(node)


def test_boards_that_were_found_at_different_limits_get_each_its_own_back(node):
    node.change(limits={A: 700_000, B: 500_000})
    with applied_cap(node.plan(found_mw={A: 700_000, B: 500_000})):
        assert node.limits == SET
    assert node.limits == {A: 700_000, B: 500_000}


def test_a_limit_that_another_holds_lower_is_restored_to_what_was_asked_for(node):
    """The board's management controller holds B at 500 W whatever is asked; the limit to bring back
    is the one before the run."""
    plain = node.nvml.nvmlDeviceGetFieldValues

    def held_down(handle, fields):
        values = plain(handle, fields)
        if handle == B and fields == [190]:
            values[0].value.uiVal = min(500_000, values[0].value.uiVal)
        return values

    node.nvml.nvmlDeviceGetFieldValues = held_down
    with applied_cap(node.plan()):
        assert node.limits == SET
    assert node.limits == AS_FOUND

    says = f"{B}: a power limit of 600 W was asked for, and the board has 500 W"
    with pytest.raises(MeterError, match=says), applied_cap(node.plan(600)):
        pytest.fail("held at a cap that is not in force")
    assert node.limits == AS_FOUND


def test_nothing_is_touched_where_the_cap_is_the_one_that_was_found(node):
    with applied_cap(node.plan(700, found_mw={})) as guard:
        guard()
        assert not find_watchdogs(node)
    assert not node.state.exists()


def test_journal_and_watchdog_stand_before_the_first_write(node, monkeypatch):
    states = []
    plain = node.nvml.nvmlDeviceSetPowerManagementLimit

    def look(handle, limit_mw):
        states.append(
            (limit_mw, len(Journal.read(node.journal).accelerators), len(find_watchdogs(node)))
        )
        plain(handle, limit_mw)

    monkeypatch.setattr(node.nvml, "nvmlDeviceSetPowerManagementLimit", look, raising=False)
    with applied_cap(node.plan()):
        pass
    assert states == [(400_000, 2, 1), (400_000, 2, 1), (700_000, 2, 1), (700_000, 2, 1)]


def test_a_board_that_does_not_take_the_limit_is_named_and_all_are_put_back(node):
    node.change(deaf=[B])
    with pytest.raises(
        MeterError, match=f"{B}: a power limit of 400 W was asked for, and the board has 700 W"
    ):
        applied_cap(node.plan()).__enter__()
    assert node.limits == AS_FOUND and not node.journal.exists() and not find_watchdogs(node)


def test_without_the_right_to_set_it_is_said_what_an_administrator_can_do(node):
    node.change(root=False)
    with pytest.raises(
        NotAllowedError, match=rf"{A}: .*refused by NVML .*setting a cap takes root.*docs/caps\.md"
    ):
        applied_cap(node.plan()).__enter__()
    assert not node.journal.exists() and not find_watchdogs(node)


def test_a_run_without_the_right_to_set_leaves_nothing_behind(node):
    node.change(root=False)
    out = node.root / "out"
    result = CliRunner().invoke(main, ["run", "resnet50-train", "--cap", "400", "-o", str(out)])
    assert result.exit_code == 3 and "docs/caps.md" in result.output
    assert "cap 400 W, set for this run (found 700 W)" in result.output
    assert not list(out.iterdir()) and node.limits == AS_FOUND


def test_a_run_that_was_refused_for_another_leaves_nothing_behind(node, monkeypatch):
    """The other has boards of its own, so that it shows only when the limits are to be set."""
    out = node.root / "out"
    monkeypatch.setattr(journal, "GRACE_S", 0.2)
    with node.hold_cap_elsewhere() as (owner, _):
        other_journal = Journal.read(node.journal)
        other_limits = tuple(
            replace(limit, uuid=limit.uuid.replace("0000", "1111"))
            for limit in other_journal.accelerators
        )
        replace(other_journal, accelerators=other_limits).write(node.journal)
        result = CliRunner().invoke(main, ["run", "resnet50-train", "--cap", "500", "-o", str(out)])
    assert (
        result.exit_code == 3
        and f"process {owner.pid}" in result.output
        and "is running and holds" in result.output
    )
    assert "--resume" not in result.output and not out.exists()


def test_a_result_over_nodes_names_what_was_found_on_all_of_them(node):
    """On one of them the cap was in force already."""
    plan = node.plan()
    shares = [
        replace(make_share(), found_mw=plan.found_mw, found_state={}),
        replace(make_share("C"), found_mw=None, found_state={}),
    ]
    power = {"mode": "set", "found_mw": {**AS_FOUND, "C": 400_000}}
    assert (
        evidence._make_power(plan, shares)
        == evidence._make_power(replace(plan, found_mw=None), shares)
        == power
    )
    assert evidence._make_power(plan, [shares[1]]) == {"mode": "as-found"}
    shares[1] = replace(shares[1], found_state={"C": "high"})
    assert evidence._make_power(plan, shares) == {**power, "found_state": {"C": "high"}}


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to become somebody else")
def test_a_state_directory_that_may_not_be_written_is_the_right_that_lacks(node):
    plan = node.plan()
    os.seteuid(65534)
    try:
        with pytest.raises(NotAllowedError, match=r"may not be written; setting a cap takes root"):
            applied_cap(plan).__enter__()
        assert explain_refusal("nvidia") is not None and explain_refusal("simulated:h200") is None
    finally:
        os.seteuid(0)
    assert node.limits == AS_FOUND and explain_refusal("nvidia") is None


def test_a_full_disk_refuses_the_run_before_a_limit_moves(node):
    program = (
        "import resource, sys; from pathlib import Path; from harness.power.caps.apply import "
        "applied_cap; from harness.run.plan import Plan\n"
        "plan = Plan.load(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))\n"
        "applied_cap(plan).__enter__()\n"
    )
    node.plan().save(node.root)
    process = subprocess.run(
        [sys.executable, "-c", program, str(node.root)], capture_output=True, text=True, check=False
    )
    assert f"{node.journal}: the journal cannot be written (File too large)" in process.stderr
    assert node.limits == AS_FOUND and not node.journal.exists()
    assert [p.name for p in node.state.iterdir()] == ["caps.lock"]


def test_a_state_directory_that_cannot_be_is_named_with_what_to_do(node, monkeypatch):
    monkeypatch.setenv("WATTMARK_STATE", str(node.boards / "state"))
    with pytest.raises(
        MeterError,
        match=r"cannot be written \(Not a directory\); name a directory .* with WATTMARK_STATE",
    ):
        applied_cap(node.plan()).__enter__()


def test_a_limit_that_moved_since_the_plan_was_made_is_refused(node):
    plan = node.plan()
    node.change(limits={A: 700_000, B: 600_000})
    with pytest.raises(
        MeterError,
        match=f"{B}: the power limit was 700 W when the run was planned and is 600 W now",
    ):
        applied_cap(plan).__enter__()
    with pytest.raises(
        MeterError,
        match=f"{B}: the power limit was 700 W when the run was planned and is 600 W now",
    ):
        applied_cap(node.plan(700, found_mw={})).__enter__()
    assert node.limits == {A: 700_000, B: 600_000} and not node.journal.exists()


def test_a_signal_in_the_middle_of_restoring_takes_effect_after_it(node, monkeypatch, capsys):
    plain = node.nvml.nvmlDeviceSetPowerManagementLimit

    def disturbed(handle, limit_mw):
        if (handle, limit_mw) == (A, 700_000):
            os.kill(os.getpid(), signal.SIGTERM)
        plain(handle, limit_mw)

    monkeypatch.setattr(node.nvml, "nvmlDeviceSetPowerManagementLimit", disturbed, raising=False)
    with pytest.raises(Interrupted), interrupts.raise_interrupts(), applied_cap(node.plan()):
        pass
    assert node.limits == AS_FOUND and not node.journal.exists() and not find_watchdogs(node)
    assert capsys.readouterr().err == f"restored: {A} to 700 W, {B} to 700 W\n"


def test_what_could_not_be_restored_is_told_before_a_signal_ends_the_run(node, monkeypatch, capsys):
    """Whether the signal comes before restoring or during it."""
    plain = node.nvml.nvmlDeviceSetPowerManagementLimit

    def disturbed(handle, limit_mw):
        if (handle, limit_mw) == (A, 700_000):
            os.kill(os.getpid(), signal.SIGTERM)
        plain(handle, limit_mw)

    with pytest.raises(Interrupted), interrupts.raise_interrupts(), applied_cap(node.plan()):
        node.change(deaf=[A])
        monkeypatch.setattr(
            node.nvml, "nvmlDeviceSetPowerManagementLimit", disturbed, raising=False
        )
    says = (
        f"wattmark: {A}: a power limit of 700 W was asked for, and the board has 400 W; not "
        "restored to 700 W; try: "
    )
    assert says in capsys.readouterr().err
    node.change(deaf=[])
    monkeypatch.setattr(node.nvml, "nvmlDeviceSetPowerManagementLimit", plain)
    wait_for(lambda: not find_watchdogs(node))
    CliRunner().invoke(main, ["restore"])

    with pytest.raises(Interrupted), interrupts.raise_interrupts(), applied_cap(node.plan()):
        node.change(deaf=[A])
        os.kill(os.getpid(), signal.SIGTERM)
    assert says in capsys.readouterr().err


def test_a_run_that_failed_and_could_not_be_put_back_says_both(node):
    with (
        pytest.raises(RestoreError, match=f"it broke; {A}: .* not restored to 700 W"),
        applied_cap(node.plan()),
    ):
        node.change(deaf=[A])
        raise ValueError("it broke")


def test_a_signal_while_something_that_fails_is_waited_for_is_not_lost():
    with pytest.raises(Interrupted), interrupts.raise_interrupts(), interrupts.defer_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        raise ValueError("it broke")


def test_a_signal_while_the_cap_is_held_restores_and_says_so(node, capsys):
    with pytest.raises(Interrupted), interrupts.raise_interrupts(), applied_cap(node.plan()):
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("the signal was not heard")
    assert capsys.readouterr().err == f"restored: {A} to 700 W, {B} to 700 W\n"
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_simulated_boards_that_nobody_else_sees_cannot_be_held(node):
    plan = replace(node.plan(), meter="simulated:h200")
    with pytest.raises(MeterError, match="in a process of their own only"):
        applied_cap(plan).__enter__()


def test_an_interrupt_before_anything_is_set_reports_no_restored_limits(node, monkeypatch, capsys):
    def interrupt(self, path):
        raise Interrupted("SIGTERM", signal.SIGTERM)

    monkeypatch.setattr(Journal, "write", interrupt)
    with pytest.raises(Interrupted), applied_cap(node.plan()):
        pytest.fail("the cap was applied")
    assert capsys.readouterr().err == "" and node.limits == AS_FOUND


def test_a_run_that_ends_without_an_interrupt_prints_nothing_of_its_limits(node, capsys):
    with applied_cap(node.plan()):
        assert node.limits == SET
    assert capsys.readouterr().err == "" and node.limits == AS_FOUND
