"""Caps on nodes that several users, runs and containers share: nobody else keeps a cap from being
restored, and no run takes the cap of another run for the one that it found."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.harness.cap_node import AS_FOUND, SET, A, B, Node, cut_power, has_ended
from support.kills import wait_for

from harness.cli import main
from harness.doctor import examine
from harness.errors import MeterError, NotAllowedError
from harness.power.caps import apply as cap_apply
from harness.power.caps.apply import applied_cap
from harness.power.caps.journal import BlockedError, Journal
from harness.processes import list_descendants

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root to become another user")
HOLD_LOCK = """
import fcntl, os, sys, time
path, opened_by = sys.argv[1:]
if opened_by == "root":
    descriptor = os.open(path, os.O_RDONLY)
os.setgid(65534)
os.setuid(65534)
if opened_by == "nobody":
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        sys.exit("permission denied")
print("waiting", flush=True)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(600)
"""


@pytest.fixture
def node(monkeypatch) -> Iterator[Node]:
    """A node in a directory that other users can reach, as they can reach /var/lib."""
    directory = Path(tempfile.mkdtemp(prefix="wattmark-"))
    directory.chmod(0o755)
    with Node(directory, monkeypatch) as new_node:
        yield new_node
    shutil.rmtree(directory)


@contextmanager
def start_lock_holder(lock: Path, opened_by: str) -> "Iterator[subprocess.Popen[str]]":
    """Start a process of the user `nobody` that waits for the lock and then keeps it. `opened_by`
    is the user that opens the lock file: `nobody`, or `root` for a descriptor that was passed on.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(lock), opened_by],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def kill_at_once(*pids: int) -> None:
    """Kill processes as the end of a Slurm step does: none of them runs when the others end."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)
    for pid in pids:
        wait_for(lambda pid=pid: has_ended(pid))


@contextmanager
def as_nobody() -> Iterator[None]:
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@needs_root
def test_another_user_cannot_take_the_lock_of_a_run(node):
    """With the lock, a watchdog could be kept from restoring."""
    with node.hold_cap_elsewhere() as (owner, watchdog):
        with start_lock_holder(node.state / "caps.lock", "nobody") as foreigner:
            assert foreigner.stdout.readline() == ""
            assert foreigner.stderr.read() == "permission denied\n"
        owner.kill()
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND


def test_the_lock_is_its_owners_alone_from_its_creation_whatever_the_umask(node, monkeypatch):
    modes = []
    plain = fcntl.flock

    def flock(descriptor, operation):
        modes.append(os.fstat(descriptor).st_mode & 0o777)
        plain(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    before = os.umask(0)
    try:
        with applied_cap(node.plan()):
            pass
    finally:
        os.umask(before)
    assert set(modes) == {0o600}


def test_a_lock_of_an_earlier_version_loses_the_rights_of_others(node):
    node.state.mkdir(0o755)
    (node.state / "caps.lock").touch(0o644)
    with applied_cap(node.plan()):
        assert (node.state / "caps.lock").stat().st_mode & 0o777 == 0o600


@needs_root
def test_the_watchdog_restores_although_another_user_holds_the_lock(node):
    with (
        node.hold_cap_elsewhere() as (owner, watchdog),
        start_lock_holder(node.state / "caps.lock", "root") as foreigner,
    ):
        assert foreigner.stdout.readline() == "waiting\n"
        os.kill(watchdog, signal.SIGSTOP)
        owner.kill()
        assert foreigner.stdout.readline() == "locked\n"
        os.kill(watchdog, signal.SIGCONT)
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND and not node.journal.exists()


@needs_root
def test_restore_restores_although_another_user_holds_the_lock_and_a_run_names_the_holder(node):
    cut_power(node)
    with start_lock_holder(node.state / "caps.lock", "root") as foreigner:
        assert [foreigner.stdout.readline() for _ in range(2)] == ["waiting\n", "locked\n"]
        with pytest.raises(BlockedError, match="is gone; restore them with: bench-submit restore"):
            applied_cap(node.plan(400, found_mw={})).__enter__()
        result = CliRunner().invoke(main, ["restore"])
        assert result.exit_code == 0, result.output
        assert result.output.splitlines() == [f"{A}: restored to 700 W", f"{B}: restored to 700 W"]
        with pytest.raises(
            BlockedError,
            match=rf"caps\.lock: process {foreigner.pid} of the user nobody holds this lock; end",
        ):
            applied_cap(node.plan()).__enter__()
    assert node.limits == AS_FOUND


@needs_root
def test_a_directory_that_another_user_made_is_refused_and_no_link_in_it_is_followed(node):
    victim = node.root / "victim"
    victim.write_text("untouched")
    node.state.mkdir(0o755)
    for name in ("caps.writing", ".caps.json.writing", "caps.lock"):
        (node.state / name).symlink_to(victim)
    os.chown(node.state, NOBODY, NOBODY)
    with pytest.raises(
        MeterError, match=rf"{node.state}: belongs to the user nobody.* WATTMARK_STATE"
    ):
        applied_cap(node.plan()).__enter__()
    assert victim.read_text() == "untouched" and node.limits == AS_FOUND


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
def test_a_directory_that_others_may_write_is_refused(node, mode):
    node.state.mkdir()
    node.state.chmod(mode)
    with pytest.raises(MeterError, match=rf"{node.state}: other users may write.*chmod go-w"):
        applied_cap(node.plan()).__enter__()
    assert not list(node.state.iterdir()) and node.limits == AS_FOUND


@needs_root
def test_a_directory_below_one_that_another_user_can_move_is_refused(node, monkeypatch):
    parent = node.root / "parent"
    parent.mkdir()
    os.chown(parent, NOBODY, NOBODY)
    monkeypatch.setenv("WATTMARK_STATE", str(parent / "state"))
    with pytest.raises(MeterError, match=rf"{parent}: belongs to the user nobody"):
        applied_cap(node.plan()).__enter__()
    assert not list(parent.iterdir())


@pytest.mark.parametrize("name", [".caps.json.writing", "caps.lock"])
def test_a_link_in_the_state_directory_is_not_followed(node, name):
    """The link of a draft is replaced. The link of a lock is refused."""
    victim = node.root / "victim"
    victim.write_text("untouched")
    victim.chmod(0o644)
    node.state.mkdir(0o755)
    (node.state / name).symlink_to(victim)
    is_lock = name == "caps.lock"
    refused = pytest.raises(MeterError, match=rf"{node.state / name}: cannot be written")
    with refused if is_lock else nullcontext(), applied_cap(node.plan()):
        assert node.limits == SET
    assert victim.read_text() == "untouched" and victim.stat().st_mode & 0o777 == 0o644
    assert node.limits == AS_FOUND


def test_of_two_runs_that_start_at_once_only_one_registers_a_board(node, monkeypatch):
    """The later one had found no journal before the earlier one wrote its own."""
    with node.hold_cap_elsewhere() as (owner, watchdog):
        monkeypatch.setenv("WATTMARK_STATE", str(node.root / "other-state"))
        monkeypatch.setattr(cap_apply, "refuse_foreign_limits", lambda meter, uuids: None)
        with pytest.raises(BlockedError, match=f"process {owner.pid}.* is running"):
            applied_cap(node.plan(300, found_mw=SET)).__enter__()
        assert node.limits == SET
        owner.kill()
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND


def test_two_runs_with_other_state_directories_do_not_set_the_same_boards(node, monkeypatch):
    """The second run would find 400 W and restore that after the first run has restored 700 W."""
    with node.hold_cap_elsewhere() as (owner, watchdog):
        monkeypatch.setenv("WATTMARK_STATE", str(node.root / "other-state"))
        for plan in (node.plan(300, found_mw=SET), node.plan(400, found_mw={})):
            with pytest.raises(
                BlockedError, match=rf"{node.journal}: .*process {owner.pid}.* is running"
            ):
                applied_cap(plan).__enter__()
        assert node.limits == SET
        owner.kill()
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND


def test_a_journal_in_another_state_directory_is_found(node, monkeypatch):
    pid = cut_power(node)
    monkeypatch.setenv("WATTMARK_STATE", str(node.root / "other-state"))
    with pytest.raises(BlockedError, match=rf"{node.journal}: .*process {pid}.* is gone"):
        applied_cap(node.plan(300, found_mw=SET)).__enter__()
    assert any(str(pid) in check.result for check in examine("nvidia") if check.ok is False)
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, node.limits) == (0, AS_FOUND), result.output
    assert not node.journal.exists()
    with applied_cap(node.plan()):
        assert node.limits == SET
    assert node.limits == AS_FOUND


def test_only_the_owner_may_write_or_lock_the_registered_boards(node):
    with applied_cap(node.plan()):
        entries = [node.boards_directory, *node.boards_directory.iterdir()]
        modes = {entry.name: entry.lstat().st_mode & 0o777 for entry in entries}
        links = {A: 0o777, B: 0o777, f"{A}.json": 0o644, f"{B}.json": 0o644}
        assert modes == {node.boards_directory.name: 0o755, "caps.lock": 0o600, **links}
    assert [entry.name for entry in node.boards_directory.iterdir()] == ["caps.lock"]


def test_harness_and_watchdog_that_are_killed_at_once_leave_a_journal_that_every_start_names(node):
    """As at the end of a Slurm step, and as in a power cut."""
    with node.hold_cap_elsewhere() as (owner, _):
        kill_at_once(*list_descendants([owner.pid]))
        pid = owner.pid
    assert node.limits == SET
    for plan in (node.plan(300, found_mw=SET), node.plan(400, found_mw={})):
        with pytest.raises(BlockedError, match=f"process {pid}.* is gone; restore them with"):
            applied_cap(plan).__enter__()
    (check,) = [check for check in examine("nvidia") if check.name == "limits set"]
    assert check.ok is False and check.advice == "that run is gone: bench-submit restore"
    assert CliRunner().invoke(main, ["restore"]).exit_code == 0
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_process_group_that_is_killed_at_once_leaves_the_watchdog(node):
    with node.hold_cap_elsewhere() as (owner, watchdog):
        os.killpg(owner.pid, signal.SIGKILL)
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_journal_of_the_boot_before_is_restored(node):
    """A power cut resets the limits of the boards. What was found can be another limit."""
    cut_power(node)
    replace(Journal.read(node.journal), boot_id="an-earlier-boot").write(node.journal)
    node.change(limits={A: 600_000, B: 700_000})
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, node.limits) == (0, AS_FOUND), result.output


@needs_root
def test_another_user_of_the_node_is_told_who_sets_limits_and_whether_that_run_is_alive(node):
    with node.hold_cap_elsewhere() as (owner, watchdog):
        with as_nobody():
            (check,) = [check for check in examine("nvidia") if check.name == "limits set"]
            assert f"process {owner.pid}" in check.result
            assert check.advice == "that run is running"
            with pytest.raises(BlockedError, match=f"process {owner.pid}.* is running"):
                applied_cap(node.plan(400, found_mw={})).__enter__()
            with pytest.raises(NotAllowedError, match="setting a cap takes root"):
                applied_cap(node.plan(300, found_mw=SET)).__enter__()
            result = CliRunner().invoke(main, ["restore"])
            assert result.exit_code == 1 and "setting a cap takes root" in result.output
        kill_at_once(owner.pid, watchdog)
    with as_nobody():
        (check,) = [check for check in examine("nvidia") if check.name == "limits set"]
        assert check.advice == "that run is gone: bench-submit restore"
    assert CliRunner().invoke(main, ["restore"]).exit_code == 0
    assert node.limits == AS_FOUND
