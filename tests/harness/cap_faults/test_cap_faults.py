"""Faults of a node, and what its users do, that could keep limits from being restored: names and
signals of processes, blocked output, full disks and process tables, and journals that are lost."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.harness.cap_node import AS_FOUND, SET, A, B, Node, cut_power, find_watchdogs, has_ended
from support.kills import DEADLINE_S, wait_for

from harness.cli import main
from harness.doctor import examine
from harness.errors import MeterError
from harness.power.caps import watchdog as cap_watchdog
from harness.power.caps.apply import applied_cap
from harness.power.caps.journal import (
    BlockedError,
    SavedLimit,
    lock_directory,
    new_journal,
    state_directory,
)
from harness.power.caps.restore import RestoreError
from harness.power.caps.watchdog import WatchdogError

REPOSITORY = Path(__file__).parents[3]
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root to become another user")
HOLD_LOCK = """
import fcntl, os, sys, time
descriptor = os.open(sys.argv[1], os.O_RDONLY)
with open("/proc/self/comm", "wb") as name:
    name.write(b"\\xff\\xfe")
os.setgid(65534)
os.setuid(65534)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(600)
"""


@pytest.fixture
def node(tmp_path, monkeypatch) -> Iterator[Node]:
    with Node(tmp_path, monkeypatch) as new_node:
        yield new_node


def start_watchdog(node: Node, stderr: int) -> "subprocess.Popen[str]":
    """Start the watchdog of a journal that names board A, which has 400 W instead of 700 W."""
    node.state.mkdir(0o755)
    node.change(limits={A: 400_000, B: 700_000})
    new_journal("nvidia", "a-run", (SavedLimit(A, 700_000, None),)).write(node.journal)
    watchdog = subprocess.Popen(
        [sys.executable, "-m", "harness.power.caps.watchdog", str(node.journal)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
    assert watchdog.stdout.readline() == "ready\n"
    return watchdog


@needs_root
def test_a_lock_holder_whose_name_is_no_utf_8_does_not_keep_limits_from_being_restored(node):
    cut_power(node)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(node.state / "caps.lock")],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "locked\n"
        result = CliRunner().invoke(main, ["restore"])
    finally:
        holder.kill()
        holder.communicate()
    assert (result.exit_code, node.limits) == (0, AS_FOUND), result.output


def test_no_signal_of_a_job_ends_or_stops_the_watchdog(node):
    """`sbatch --signal=USR1` and `scancel --signal` send any signal to all processes of a job."""
    with node.hold_cap_elsewhere() as (owner, watchdog):
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            os.kill(watchdog, number)
        owner.kill()
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_watchdog_whose_output_is_blocked_tries_again(node):
    """As behind `| less`, and on a terminal that Ctrl-S has stopped."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    watchdog = start_watchdog(node, stderr=writer)
    try:
        node.change(root=False)
        watchdog.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            watchdog.wait(1.5)
        node.change(root=True)
        assert watchdog.wait(DEADLINE_S) == 0
    finally:
        watchdog.kill()
        watchdog.wait()
        os.close(reader)
        os.close(writer)
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_watchdog_that_cannot_read_its_journal_restores_what_it_remembers(node):
    watchdog = start_watchdog(node, stderr=subprocess.PIPE)
    node.journal.write_text("{")
    watchdog.stdin.close()
    assert watchdog.wait(DEADLINE_S) == 0
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_watchdog_restores_although_an_upgrade_removes_its_package(node, monkeypatch):
    copy = node.root / "package"
    for name in ("harness", "rules"):
        shutil.copytree(REPOSITORY / name, copy / name)
    monkeypatch.setenv("PYTHONPATH", f"{copy}:{os.environ['PYTHONPATH']}")
    with node.hold_cap_elsewhere() as (owner, watchdog):
        shutil.rmtree(copy)
        owner.kill()
        wait_for(lambda: has_ended(watchdog), within_s=60)
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_journal_that_cannot_be_removed_is_named_with_the_reason(node, monkeypatch):
    """As on a file system that became read-only during the run."""
    unlink = Path.unlink

    def unlink_on_read_only(path: Path, missing_ok: bool = False) -> None:
        if path == node.journal:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        unlink(path, missing_ok)

    message = rf"{node.journal}: the journal cannot be removed \(Read-only file system\)"
    with (
        monkeypatch.context() as patch,
        pytest.raises(RestoreError, match=message),
        applied_cap(node.plan()),
    ):
        patch.setattr(Path, "unlink", unlink_on_read_only)
    assert node.limits == AS_FOUND
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, node.journal.exists()) == (0, False), result.output


def test_a_watchdog_that_cannot_be_started_on_a_full_process_table_is_reported(node, monkeypatch):
    def fail(*arguments: object, **options: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    with monkeypatch.context() as patch:
        patch.setattr(cap_watchdog.subprocess, "Popen", fail)
        with pytest.raises(WatchdogError, match=r"temporarily unavailable.*so no limit was set"):
            applied_cap(node.plan()).__enter__()
    with (
        monkeypatch.context() as patch,
        pytest.raises(WatchdogError, match=r"the run was ended: its watchdog died, and"),
        applied_cap(node.plan()) as guard,
    ):
        (watchdog,) = find_watchdogs(node)
        os.kill(watchdog, signal.SIGKILL)
        wait_for(lambda: has_ended(watchdog))
        patch.setattr(cap_watchdog.subprocess, "Popen", fail)
        guard()
    assert node.limits == AS_FOUND and not node.journal.exists()


@needs_root
def test_a_directory_behind_a_link_of_another_user_is_refused(tmp_path):
    """A user can make it in /tmp after the path was resolved, and change it during the run."""
    shared, target = tmp_path / "shared", tmp_path / "target"
    shared.mkdir()
    shared.chmod(0o1777)
    target.mkdir(0o755)
    link = shared / "state"
    link.symlink_to(target)
    os.lchown(link, NOBODY, NOBODY)
    with (
        pytest.raises(MeterError, match=rf"{link}: belongs to the user nobody"),
        lock_directory(link),
    ):
        pytest.fail("the lock is taken")
    assert not list(target.iterdir())


def test_boards_whose_journal_is_lost_are_refused_and_every_start_names_them(node, monkeypatch):
    """A state directory in the temporary directory of a job is removed with the job."""
    cut_power(node)
    node.journal.unlink()
    # Earlier versions registered boards without a copy of the journal.
    for board in (A, B):
        (node.boards_directory / f"{board}.json").unlink()
    link = node.boards_directory / A
    message = rf"{link}: .*{node.journal}.*is not there"
    for plan in (node.plan(300, found_mw=SET), node.plan(400, found_mw={})):
        with pytest.raises(BlockedError, match=message):
            applied_cap(plan).__enter__()
    (first, _) = [check for check in examine("nvidia") if check.name == "limits set"]
    assert first.ok is False and str(link) in first.advice
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 1 and str(link) in result.output
    node.change(limits=AS_FOUND)
    for board in (A, B):
        (node.boards_directory / board).unlink()
    with applied_cap(node.plan()):
        assert node.limits == SET
    assert node.limits == AS_FOUND


def test_a_state_directory_whose_path_cannot_be_resolved_is_named(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("WATTMARK_STATE", "state")
    with pytest.raises(MeterError, match=r"^state: .* cannot be resolved"):
        state_directory("nvidia")
