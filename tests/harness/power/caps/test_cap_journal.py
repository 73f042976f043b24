"""The journal of power limits, the lock beside it, and the boards that it registers."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.harness.cap_node import AS_FOUND, SET, A, B, Node, cut_power, find_watchdogs, has_ended
from support.harness.session_runs import change_plan
from support.kills import DEADLINE_S, wait_for

from harness.cli import main
from harness.errors import MeterError
from harness.power.caps import journal as cap_journal
from harness.power.caps import lock as cap_lock
from harness.power.caps.apply import applied_cap
from harness.power.caps.journal import (
    JOURNAL_FILE,
    BlockedError,
    Journal,
    SavedLimit,
    is_locked,
    lock_directory,
    new_journal,
    refuse_any_limits,
)
from harness.power.caps.limits import is_same_limit, set_cap
from harness.power.caps.lock import LockHolder
from harness.power.caps.registry import refuse_foreign_limits, remove_journal
from harness.power.source import CapControl, Readback
from harness.run import preflight


@pytest.fixture
def node(tmp_path, monkeypatch) -> Iterator[Node]:
    with Node(tmp_path, monkeypatch) as new_node:
        yield new_node


def test_what_a_power_cut_leaves_is_refused_until_it_is_restored(node):
    pid = cut_power(node)
    with pytest.raises(
        MeterError,
        match=rf"{node.journal}: .*process {pid}.* restore them with: bench-submit restore",
    ):
        applied_cap(node.plan(found_mw=SET)).__enter__()
    with pytest.raises(MeterError, match=f"process {pid}"):
        applied_cap(
            node.plan(400, found_mw={})
        ).__enter__()  # as found, but what is found is another run's
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 0
    assert result.output.splitlines() == [f"{A}: restored to 700 W", f"{B}: restored to 700 W"]
    assert node.limits == AS_FOUND and not node.journal.exists()
    second_result = CliRunner().invoke(main, ["restore"])
    assert (
        second_result.exit_code == 0
        and second_result.output == f"nothing to restore: there is no journal in {node.state}\n"
    )


def test_a_run_as_found_on_other_boards_is_not_refused(node):
    cut_power(node)
    plan = node.plan(400, found_mw={})
    journal = Journal.read(node.journal)
    other_limits = tuple(
        replace(limit, uuid=limit.uuid.replace("0000", "1111")) for limit in journal.accelerators
    )
    replace(journal, accelerators=other_limits).write(node.journal)
    with applied_cap(plan):
        pass


def test_what_a_dead_run_has_set_is_never_taken_for_what_is_found(node, monkeypatch):
    """Its watchdog is waited for; where it does not come, the run is refused before it is
    planned."""
    monkeypatch.setattr(preflight, "GRACE_S", DEADLINE_S)
    with node.hold_cap_elsewhere() as (owner, watchdog):
        os.kill(watchdog, signal.SIGSTOP)
        owner.kill()
        owner.wait()
        later = threading.Timer(0.5, os.kill, (watchdog, signal.SIGCONT))
        later.start()
        assert preflight.inspect_machine("nvidia", 2, 400).found_mw == AS_FOUND
        later.join()

    cut_power(node)
    monkeypatch.setattr(preflight, "GRACE_S", 0.2)
    for cap_w in (400, None):
        with pytest.raises(
            MeterError,
            match="has set power limits or clocks and is gone; restore them with: bench-submit",
        ):
            preflight.inspect_machine("nvidia", 2, cap_w)


def test_the_lock_of_a_run_that_ends_is_waited_for(node):
    """As a watchdog has it for a moment after it has removed the journal."""
    program = (
        "import time; from pathlib import Path; from harness.power.caps.journal import "
        f"lock_directory\nwith lock_directory(Path({str(node.state)!r})):"
    )
    program += " print('locked', flush=True); time.sleep(0.5)"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "locked\n"
        with applied_cap(node.plan()):
            assert node.limits == SET


def test_while_the_owner_lives_neither_a_run_nor_restore_comes_near(node):
    with node.hold_cap_elsewhere() as (owner, watchdog):
        with pytest.raises(
            MeterError, match=f"process {owner.pid}.* is running and holds the power limits"
        ):
            applied_cap(node.plan(found_mw=SET)).__enter__()
        with pytest.raises(
            MeterError, match=f"process {owner.pid}.* is running and holds the power limits"
        ):
            applied_cap(node.plan(400, found_mw={})).__enter__()
        result = CliRunner().invoke(main, ["restore"])
        assert result.exit_code == 1 and f"process {owner.pid}" in result.output
        assert node.limits == SET
        owner.kill()
        wait_for(lambda: has_ended(watchdog))


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": "wattmark-caps/1"', '{"accelerators": [{"uuid": "x"}]}', "\0" * 64],
)
def test_a_damaged_journal_is_named_and_never_a_traceback(node, text):
    node.state.mkdir(0o755)
    node.journal.write_text(text)
    for plan in (node.plan(), node.plan(700, found_mw={})):
        with pytest.raises(
            MeterError, match=rf"{node.journal}: .* cannot be read .*remove the file"
        ):
            applied_cap(plan).__enter__()
    result = CliRunner().invoke(main, ["restore"])
    assert (
        result.exit_code == 1
        and str(node.journal) in result.output
        and "Traceback" not in result.output
    )
    assert node.limits == AS_FOUND


def record_disk(monkeypatch, path: Path) -> list[tuple[str, bool]]:
    """What is forced to disk from now on: its name, and whether the journal is there then."""
    forced = []
    plain = os.fsync

    def fsync(descriptor: int) -> None:
        forced.append((Path(f"/proc/self/fd/{descriptor}").readlink().name, path.exists()))
        plain(descriptor)

    monkeypatch.setattr(cap_journal.os, "fsync", fsync)
    return forced


JOURNAL = new_journal(
    "nvidia", "a-run", (SavedLimit(A, 700_000, None), SavedLimit(B, 600_000, None))
)


def test_a_journal_is_on_disk_before_it_has_its_name_and_its_name_before_a_limit_moves(
    tmp_path, monkeypatch
):
    path = tmp_path / JOURNAL_FILE
    forced = record_disk(monkeypatch, path)
    JOURNAL.write(path)
    assert forced == [(".caps.json.writing", False), (tmp_path.name, True)]
    assert Journal.read(path) == JOURNAL
    forced.clear()
    remove_journal(JOURNAL, path)
    assert forced == [(tmp_path.name, False)] and Journal.read(path) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(format="wattmark-caps/2"), "format wattmark-caps/2, expected"),
        (lambda d: d["accelerators"][1].update(found_mw="600000"), "found_mw is"),
        (lambda d: d["accelerators"][1].update(found_mw=6e5), "found_mw is"),
    ],
)
def test_a_journal_of_another_format_is_not_taken_for_this_one(tmp_path, change, says):
    path = tmp_path / JOURNAL_FILE
    JOURNAL.write(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(BlockedError, match=says):
        Journal.read(path)


def test_a_journal_without_a_limit_is_one_of_a_power_state(tmp_path):
    path = tmp_path / JOURNAL_FILE
    journal = replace(JOURNAL, accelerators=(SavedLimit(A, None, "high"),))
    journal.write(path)
    assert Journal.read(path) == journal


def test_one_board_in_common_is_enough_to_refuse_a_run(node):
    node.state.mkdir(0o755)
    JOURNAL.write(node.journal)
    for uuids in ([A], [B], [A, "GPU-other"]):
        with pytest.raises(BlockedError, match="a-run"):
            refuse_foreign_limits("nvidia", uuids)
    with pytest.raises(BlockedError, match="a-run"):
        refuse_any_limits("nvidia", 0)
    refuse_foreign_limits("nvidia", ["GPU-other"])


def test_who_looks_at_the_lock_is_not_taken_for_who_holds_it(tmp_path):
    """As `doctor` does, while another `doctor` or a run looks too."""
    with lock_directory(tmp_path):
        assert is_locked(tmp_path)
    with (tmp_path / "caps.lock").open() as other_lock:
        fcntl.flock(other_lock, fcntl.LOCK_SH)
        assert is_locked(tmp_path) is False
        with pytest.raises(BlockedError, match="another bench-submit"):
            lock_directory(tmp_path, timeout_s=0).__enter__()


def test_a_journal_is_of_the_same_run_whatever_is_left_to_restore():
    assert JOURNAL.is_same_run(replace(JOURNAL, accelerators=JOURNAL.accelerators[:1]))
    for change in ({"run_id": "b-run"}, {"pid": 1}, {"host": "elsewhere"}, {"started_at": "then"}):
        assert not JOURNAL.is_same_run(replace(JOURNAL, **change))


@pytest.mark.parametrize(
    ("first_mw", "second_mw", "is_same"),
    [
        (700_000, 700_001, True),
        (700_001, 700_000, True),
        (700_000, 700_002, False),
        (None, None, True),
        (None, 700_000, False),
        (700_000, None, False),
        (0, None, False),
    ],
)
def test_limits_are_the_same_within_a_milliwatt(first_mw, second_mw, is_same):
    assert is_same_limit(first_mw, second_mw) == is_same


def test_everybody_may_read_who_sets_limits_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        with lock_directory(tmp_path / "state"):
            JOURNAL.write(tmp_path / "state" / JOURNAL_FILE)
    finally:
        os.umask(before)
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "state" / JOURNAL_FILE).stat().st_mode & 0o777 == 0o644


def test_a_journal_without_a_directory_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "none" / JOURNAL_FILE
    with pytest.raises(MeterError, match=f"{path}: the journal cannot be written"):
        JOURNAL.write(path)
    assert Journal.read(path) is None


class LateControl(CapControl):
    """A board whose readback shows a new limit at the third look only."""

    def __init__(self) -> None:
        self.looks, self.limit_mw = 0, 700_000

    def readback(self, uuid, own_pids):
        self.looks += 1
        return Readback(enforced_mw=self.limit_mw if self.looks >= 3 else 700_000)

    def set_cap(self, uuid, cap_mw):
        self.limit_mw = cap_mw


def test_a_limit_that_shows_late_is_waited_for():
    control = LateControl()
    set_cap(control, A, 400_000, lambda readback: readback.enforced_mw)
    assert control.looks == 3
    with pytest.raises(MeterError, match="the meter cannot set a power state"):
        control.set_state(A, "P0")


def test_a_state_directory_is_made_with_its_parents_and_may_be_read_by_all(tmp_path):
    state = tmp_path / "var" / "lib" / "wattmark"
    with lock_directory(state):
        assert state.stat().st_mode & 0o777 == 0o755


def test_a_state_directory_that_was_made_under_any_umask_is_accepted_later(tmp_path):
    """Also its parents, which other users must not be able to write."""
    state = tmp_path / "var" / "lib" / "wattmark"
    before = os.umask(0)
    try:
        for _ in range(2):
            with lock_directory(state):
                assert is_locked(state)
    finally:
        os.umask(before)


def test_a_board_that_cannot_be_registered_is_named_and_nothing_is_set(node):
    place = node.boards_directory / A
    node.boards_directory.mkdir(0o755)
    place.mkdir()
    with pytest.raises(MeterError, match=rf"{place}: .* cannot be registered .*nothing is set"):
        applied_cap(node.plan()).__enter__()
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_a_registration_that_cannot_be_removed_does_not_keep_the_journal(node, monkeypatch):
    plain = Path.unlink

    def unlink(path, missing_ok=False):
        if path.parent == node.boards_directory:
            raise OSError(30, "Read-only file system", str(path))
        plain(path, missing_ok)

    with applied_cap(node.plan()):
        monkeypatch.setattr(Path, "unlink", unlink)
    assert node.limits == AS_FOUND and not node.journal.exists()


def test_runs_on_other_boards_of_a_node_do_not_wait_for_each_other(node, monkeypatch):
    """With state directories of their own, which is how two jobs share a node."""
    plan = node.plan()
    first, second = plan.devices
    first_plan = change_plan(plan, devices=(first,), found_mw={A: 700_000})
    second_plan = change_plan(plan, devices=(second,), found_mw={B: 700_000}, cap_w=300)
    with applied_cap(first_plan):
        monkeypatch.setenv("WATTMARK_STATE", str(node.root / "other-state"))
        with applied_cap(second_plan):
            assert node.limits == {A: 400_000, B: 300_000}
        # The 400 W of the first board are not found: the first run has set them.
        with pytest.raises(BlockedError, match="is running"):
            applied_cap(node.plan(400, found_mw={B: 700_000})).__enter__()
    assert node.limits == AS_FOUND


def test_a_state_directory_behind_a_link_is_named_without_the_link(node, monkeypatch):
    """The link could lead elsewhere after the directory was checked."""
    node.state.mkdir(0o755)
    (node.root / "link").symlink_to(node.state)
    monkeypatch.setenv("WATTMARK_STATE", str(node.root / "link"))
    with applied_cap(node.plan()):
        assert len(find_watchdogs(node)) == 1


def test_a_lock_whose_holder_cannot_be_seen_is_respected(tmp_path, monkeypatch):
    """The holder is in another PID namespace, as a run on the host is for a container."""
    with lock_directory(tmp_path):
        holder = LockHolder(os.getpid(), os.getuid())
        assert cap_lock.find_holders(tmp_path / cap_lock.LOCK_FILE) == (holder,)
        monkeypatch.setattr(cap_lock, "find_holders", lambda path: ())
        assert is_locked(tmp_path)
        with pytest.raises(BlockedError, match="another bench-submit"):
            lock_directory(tmp_path, timeout_s=0, is_restoring=True).__enter__()


def test_locks_of_root_and_of_the_own_user_are_not_foreign(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert [LockHolder(1, uid).is_foreign for uid in (0, 1000, 1001)] == [False, False, True]
