"""The watchdog of a run that sets caps: it restores the former limits when the run is killed."""

import os
import signal
import subprocess
import sys
import syslog
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.harness.cap_node import AS_FOUND, SET, A, B, Node, find_watchdogs, has_ended
from support.kills import DEADLINE_S, wait_for

from harness import interrupts
from harness.errors import MeterError
from harness.power.caps import watchdog as cap_watchdog
from harness.power.caps.apply import applied_cap
from harness.power.caps.journal import GRACE_S, Journal, SavedLimit, lock_directory, new_journal
from harness.power.caps.restore import open_all_boards
from harness.power.caps.watchdog import WatchdogError
from harness.simulation import server


@pytest.fixture
def node(tmp_path, monkeypatch) -> Iterator[Node]:
    with Node(tmp_path, monkeypatch) as new_node:
        yield new_node


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_the_watchdog_restores_when_the_owner_dies(node, number):
    with node.hold_cap_elsewhere() as (owner, watchdog):
        assert node.limits == SET
        os.kill(owner.pid, number)
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_the_watchdog_is_in_a_session_of_its_own_and_outlives_what_ends_the_owners(node):
    with node.hold_cap_elsewhere() as (owner, watchdog):
        for number in interrupts.SIGNALS:
            os.kill(watchdog, number)
        os.killpg(owner.pid, signal.SIGKILL)
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_watchdog_that_died_is_replaced_at_the_next_look(node):
    with applied_cap(node.plan()) as guard:
        (first,) = find_watchdogs(node)
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: has_ended(first))
        guard()
        (second,) = find_watchdogs(node)
        guard()
        assert find_watchdogs(node) == [second] != [first]
    assert node.limits == AS_FOUND and not find_watchdogs(node)


def test_a_watchdog_that_cannot_be_replaced_ends_the_run(node, monkeypatch):
    with (
        monkeypatch.context() as patch,
        pytest.raises(WatchdogError) as error,
        applied_cap(node.plan()) as guard,
    ):
        (first,) = find_watchdogs(node)
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: has_ended(first))
        patch.setattr(cap_watchdog.sys, "executable", "/bin/false")
        guard()
    assert str(error.value).startswith(
        "the run was ended: its watchdog died, and"
    ) and "so no limit was set" not in str(error.value)
    assert node.limits == AS_FOUND


def test_without_a_watchdog_nothing_is_set(node, monkeypatch):
    with (
        monkeypatch.context() as patch,
        pytest.raises(MeterError, match=r"the watchdog .* did not start .*so no limit was set"),
    ):
        patch.setattr(cap_watchdog.sys, "executable", "/bin/false")
        with applied_cap(node.plan()):
            pytest.fail("held without a watchdog")
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_watchdog_leaves_the_journal_of_a_later_run_alone(node):
    with node.hold_cap_elsewhere() as (owner, watchdog):
        later = replace(Journal.read(node.journal), run_id="a-later-one")
        for path in (node.journal, *node.boards_directory.glob("*.json")):
            later.write(path)
        owner.kill()
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == SET and Journal.read(node.journal) == later


def test_the_watchdog_waits_for_whoever_restores_at_the_same_time(node):
    """For longer than a run would wait for the lock."""
    with node.hold_cap_elsewhere() as (owner, watchdog):
        os.kill(watchdog, signal.SIGSTOP)
        owner.kill()
        owner.wait()
        with lock_directory(node.state):
            os.kill(watchdog, signal.SIGCONT)
            time.sleep(GRACE_S + 1)
            assert node.limits == SET
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_board_that_another_run_has_registered_since_is_left_alone(node):
    """`restore` restored board A, and another run registered it. Board B is still to restore."""
    with node.hold_cap_elsewhere() as (owner, watchdog):
        link = node.boards_directory / A
        link.unlink()
        link.symlink_to(node.root / "elsewhere" / "caps.json")
        owner.kill()
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == {A: 400_000, B: 700_000} and not node.journal.exists()
    assert sorted(path.name for path in node.boards_directory.glob("GPU*")) == [A, f"{A}.json"]


def test_a_lost_journal_does_not_end_the_attempts_where_the_first_one_fails(node, monkeypatch):
    """The meter is busy at first, and the boards are not registered, as simulated ones are not."""
    node.change(limits={A: 400_000, B: 700_000})
    journal = new_journal("nvidia", "a-run", (SavedLimit(A, 700_000, None),))
    is_busy = iter([True, False])

    def open_boards(meter: str) -> object:
        if next(is_busy):
            raise MeterError("busy")
        return open_all_boards(meter)

    monkeypatch.setattr(cap_watchdog, "open_all_boards", open_boards)
    monkeypatch.setattr(cap_watchdog, "PAUSES_S", (1.2,))
    slept_s: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: 9 + sum(slept_s), sleep=slept_s.append)
    monkeypatch.setattr(cap_watchdog, "time", clock)
    cap_watchdog._restore_what_remains(node.journal, journal)
    assert node.limits == AS_FOUND and not node.journal.exists()
    assert sum(slept_s) == pytest.approx(1.2)


def test_the_watchdog_writes_what_it_did_into_the_system_log(node, monkeypatch):
    written = []
    monkeypatch.setattr(syslog, "syslog", lambda level, line: written.append(line))
    node.state.mkdir(0o755)
    node.change(limits={A: 400_000, B: 700_000})
    journal = new_journal("nvidia", "a-run", (SavedLimit(A, 700_000, None),))
    cap_watchdog._restore_what_remains(node.journal, journal)
    assert node.limits == AS_FOUND and written == [f"wattmark: {A}: restored to 700 W"]


def start_watchdog(path: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "harness.power.caps.watchdog", str(path)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, text=True, **pipes)


def test_the_watchdog_refuses_boards_that_its_meter_does_not_show(node):
    """So that no limit is set that it could not restore."""
    node.state.mkdir(0o755)
    limits = (SavedLimit(A, 700_000, None), SavedLimit("GPU-other", 700_000, None))
    new_journal("nvidia", "a-run", limits).write(node.journal)
    out, error = start_watchdog(node.journal).communicate(timeout=DEADLINE_S)
    assert (out, error) == ("", "wattmark: the meter nvidia does not show GPU-other\n")


def test_the_watchdog_leaves_no_directory_behind_where_all_is_restored(node):
    node.state.mkdir(0o755)
    new_journal("nvidia", "a-run", (SavedLimit(A, 700_000, None),)).write(node.journal)
    watchdog = start_watchdog(node.journal)
    assert watchdog.stdout.readline() == "ready\n"
    node.journal.unlink()
    node.state.rmdir()
    _, error = watchdog.communicate(cap_watchdog.RESTORED, timeout=DEADLINE_S)
    assert (watchdog.returncode, error) == (0, "") and not node.state.exists()


def test_files_of_the_working_directory_do_not_shadow_modules_of_the_watchdog(node, monkeypatch):
    place = node.root / "elsewhere"
    place.mkdir()
    (place / "harness.py").write_text("raise SystemExit('the wrong module')\n")
    (place / "fcntl.py").write_text("raise SystemExit('the wrong module')\n")
    monkeypatch.chdir(place)
    with applied_cap(node.plan()):
        assert node.limits == SET
    assert node.limits == AS_FOUND


def test_the_watchdog_reports_what_it_restores_on_stderr(node):
    """Its standard output is a pipe to the harness, which may be gone."""
    node.state.mkdir(0o755)
    node.change(limits={A: 400_000, B: 700_000})
    new_journal("nvidia", "a-run", (SavedLimit(A, 700_000, None),)).write(node.journal)
    watchdog = start_watchdog(node.journal)
    assert watchdog.stdout.readline() == "ready\n"
    output, error = watchdog.communicate(timeout=DEADLINE_S)
    assert output == "" and node.limits == AS_FOUND
    assert error.startswith(f"wattmark: {A}") and "700 W" in error


def test_the_watchdog_of_simulated_boards_ends_with_their_simulator(tmp_path, monkeypatch):
    socket, path = tmp_path / "socket", tmp_path / "caps.json"
    simulator = server.start("h200", str(socket))
    monkeypatch.setenv(server.VARIABLE, str(socket))
    new_journal("simulated:h200", "a-run", (SavedLimit("SIM-H200-0", 700_000, None),)).write(path)
    watchdog = start_watchdog(path)
    assert watchdog.stdout.readline() == "ready\n"
    simulator.kill()
    simulator.wait()
    _, error = watchdog.communicate(timeout=DEADLINE_S)
    assert watchdog.returncode == 0 and not path.exists()
    assert error == f"wattmark: {path}: the simulator has ended, so no limit is left to restore\n"


@pytest.fixture
def refused_watchdog(node) -> "Iterator[subprocess.Popen[str]]":
    """A watchdog whose first attempt to restore 700 W on board A was refused."""
    node.state.mkdir(0o755)
    node.change(limits={A: 400_000, B: 700_000}, root=False)
    new_journal("nvidia", "a-run", (SavedLimit(A, 700_000, None),)).write(node.journal)
    watchdog = start_watchdog(node.journal)
    assert watchdog.stdout.readline() == "ready\n"
    watchdog.stdin.close()
    line = watchdog.stderr.readline()
    assert line.startswith(f"wattmark: {A}: ") and "not restored to 700 W" in line
    yield watchdog
    watchdog.kill()
    watchdog.wait()


def test_the_watchdog_tries_again_when_a_board_refuses_and_says_how_long(node, refused_watchdog):
    line = refused_watchdog.stderr.readline()
    assert "the run a-run tries to restore these limits again, for up to 68 min" in line
    node.change(root=True)
    assert refused_watchdog.wait(DEADLINE_S) == 0
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_watchdog_that_tries_again_lets_restore_have_the_lock(node, refused_watchdog):
    time.sleep(1.5)
    with lock_directory(node.state):
        node.change(root=True)
        time.sleep(2.5)
        assert node.limits == {A: 400_000, B: 700_000}
    assert refused_watchdog.wait(DEADLINE_S) == 0
    assert node.limits == AS_FOUND


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_watchdog_ends_between_two_attempts_without_its_journal(
    node, refused_watchdog, is_replaced
):
    with lock_directory(node.state):  # an attempt writes the journal again
        node.journal.unlink()
        if is_replaced:
            node.change(root=True)
            new_journal("nvidia", "b-run", (SavedLimit(A, 600_000, None),)).write(node.journal)
    assert refused_watchdog.wait(DEADLINE_S) == 0
    assert node.limits == {A: 400_000, B: 700_000}


def test_a_long_pause_ends_when_the_journal_is_of_another_run(node):
    """A watchdog of a restored run does not stay for half an hour."""
    node.state.mkdir(0o755)
    journal = new_journal("nvidia", "a-run", (SavedLimit(A, 700_000, None),))
    replace(journal, run_id="b-run").write(node.journal)
    began_s = time.monotonic()
    assert not cap_watchdog._waits_with_work(node.journal, journal, pause_s=300)
    assert time.monotonic() - began_s < 60


def test_the_pauses_between_attempts_grow_and_end():
    pauses_s = cap_watchdog.PAUSES_S
    assert list(pauses_s) == sorted(pauses_s) and pauses_s[0] <= 1
    assert 3600 <= sum(pauses_s) <= 7200
