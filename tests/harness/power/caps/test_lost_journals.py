"""Journals that are lost, damaged or altered while their run lives, and file systems that cannot be
written any more: the watchdog restores from memory, `bench-submit restore` from the copies."""

import errno
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.harness.cap_node import AS_FOUND, SET, A, B, Node, cut_power, find_watchdogs, has_ended
from support.harness.journal_faults import (
    ALTERATIONS,
    DAMAGES,
    LOSSES,
    remove,
    replace_directory_with_file,
    truncate,
)
from support.harness.session_runs import change_plan
from support.kills import wait_for

from harness.cli import main
from harness.doctor import examine
from harness.power.caps import journal as cap_journal
from harness.power.caps import watchdog as cap_watchdog
from harness.power.caps.apply import applied_cap
from harness.power.caps.journal import BlockedError, Journal, SavedLimit

FAULTS = pytest.mark.parametrize(
    "disturb", (*LOSSES, *DAMAGES, *ALTERATIONS), ids=lambda disturb: disturb.__name__
)


@pytest.fixture
def node(tmp_path, monkeypatch) -> Iterator[Node]:
    with Node(tmp_path, monkeypatch) as new_node:
        yield new_node


def list_registered(node: Node) -> list[str]:
    return sorted(path.name for path in node.boards_directory.glob("GPU*"))


@FAULTS
@pytest.mark.parametrize("is_replaced", [False, True], ids=["first watchdog", "a later one"])
def test_the_watchdog_restores_what_it_remembers_whatever_became_of_the_journal(
    node, disturb, is_replaced
):
    with node.hold_cap_elsewhere() as (owner, watchdog):
        if is_replaced:
            # A later watchdog gets the journal from the harness too.
            journal = Journal.read(node.journal)
            os.kill(watchdog, signal.SIGKILL)
            wait_for(lambda: has_ended(watchdog))
            disturb(node.journal)
            later = cap_watchdog.Watchdog(node.journal, journal)
            later.end(is_restored=False)
            owner.kill()
        else:
            disturb(node.journal)
            owner.kill()
        wait_for(lambda: node.limits == AS_FOUND and not list_registered(node))
        if disturb is not replace_directory_with_file:  # whose journal it tries to remove
            wait_for(lambda: not find_watchdogs(node))
    assert node.limits == AS_FOUND and not list_registered(node)


@FAULTS
def test_restore_uses_the_copy_on_the_host_where_the_journal_is_lost_damaged_or_altered(
    node, disturb
):
    cut_power(node)
    disturb(node.journal)
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, node.limits) == (0, AS_FOUND), result.output
    assert result.output.count("restored to 700 W") == 2
    assert ("cannot be read" in result.output) == (disturb in DAMAGES)
    assert ("differs from its copy on this host" in result.output) == (disturb in ALTERATIONS)
    assert ("so the copy counted" in result.output) == (disturb not in LOSSES)
    assert not list_registered(node) and not os.path.lexists(node.journal)
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 0 and "nothing to restore" in result.output
    if disturb is replace_directory_with_file:
        node.state.unlink()
    with applied_cap(node.plan()):
        assert node.limits == SET
    assert node.limits == AS_FOUND


def test_a_registered_board_has_a_copy_at_every_moment(node, monkeypatch):
    """A kill at any of these moments must leave a copy of a journal that is damaged later."""
    without_copy, removed = [], []
    unlink = Path.unlink

    def unlink_and_look(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        removed.append(path.name)
        names = list_registered(node)
        links = [name for name in names if not name.endswith(".json")]
        without_copy.extend(name for name in links if f"{name}.json" not in names)

    with applied_cap(node.plan()):
        monkeypatch.setattr(Path, "unlink", unlink_and_look)
    assert {A, B, f"{A}.json", f"{B}.json"} <= {*removed} and not without_copy


def test_no_run_starts_beside_a_damaged_journal_and_restore_is_named(node):
    cut_power(node)
    truncate(node.journal)
    for plan in (node.plan(300, found_mw=SET), node.plan(400, found_mw={})):
        with pytest.raises(BlockedError, match=r"cannot be read .*try: bench-submit restore"):
            applied_cap(plan).__enter__()
    (check,) = [check for check in examine("nvidia") if check.name == "limits set"]
    assert check.ok is False and "bench-submit restore" in check.advice


def test_a_damaged_journal_without_a_copy_is_refused_with_what_to_do(node):
    cut_power(node)
    shutil.rmtree(node.boards_directory)
    truncate(node.journal)
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, node.limits) == (1, SET)
    assert f"{node.journal}: " in result.output and "this host has no copy" in result.output
    assert "set them by hand" in result.output and node.journal.exists()


@pytest.mark.parametrize("disturb", [truncate, remove])
def test_a_board_whose_own_copy_is_damaged_is_restored_from_those_of_the_others(node, disturb):
    cut_power(node)
    disturb(node.journal)
    (node.boards_directory / f"{A}.json").write_text("{")
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, node.limits) == (0, AS_FOUND), result.output
    assert not list_registered(node)


def test_a_board_that_no_copy_names_stays_registered(node):
    """Its limit is unknown, so the registration is all that keeps runs from taking it as found."""
    cut_power(node)
    copy = node.boards_directory / f"{A}.json"
    journal = Journal.read(copy)
    replace(journal, accelerators=journal.accelerators[:1]).write(copy)
    (node.boards_directory / f"{B}.json").write_text("{")
    truncate(node.journal)
    result = CliRunner().invoke(main, ["restore"])
    assert node.limits == {A: 700_000, B: 400_000} and list_registered(node) == [B, f"{B}.json"]
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 1 and str(node.boards_directory / B) in result.output
    assert "set them by hand" in result.output


def test_the_journal_of_a_later_run_in_the_place_of_a_lost_one_is_restored_too(node):
    plans = [
        change_plan(
            node.plan(found_mw={device.uuid: 700_000}), devices=(device,), run_id=device.uuid
        )
        for device in node.plan().devices
    ]
    cut_power(node, plans[0])
    node.journal.unlink()
    cut_power(node, plans[1])
    assert node.limits == SET and Journal.read(node.journal).accelerators[0].uuid == B
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, node.limits) == (0, AS_FOUND), result.output
    assert not list_registered(node) and not node.journal.exists()


def test_a_run_that_lives_is_named_beside_its_damaged_journal(node):
    with node.hold_cap_elsewhere() as (owner, watchdog):
        truncate(node.journal)
        result = CliRunner().invoke(main, ["restore"])
        assert result.exit_code == 1 and "wait for its end" in result.output, result.output
        assert "by hand" not in result.output and node.limits == SET
        owner.kill()
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND


def test_board_that_was_restored_is_no_longer_registered_and_not_restored_again(node):
    cut_power(node)
    node.change(deaf=[B])
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 1 and node.limits == {A: 700_000, B: 400_000}, result.output
    assert sorted(p.name for p in node.boards_directory.glob("GPU*")) == [B, f"{B}.json"]
    # The journal cannot name board A again, even if it is altered.
    node.change(deaf=[], limits={A: 500_000, B: 400_000})
    link = node.boards_directory / A
    link.symlink_to(node.root / "elsewhere" / "caps.json")
    journal = Journal.read(node.journal)
    limits = (SavedLimit(A, 700_000, None), *journal.accelerators)
    replace(journal, accelerators=limits).write(node.journal)
    link_target = link.readlink()
    CliRunner().invoke(main, ["restore"])
    assert node.limits == {A: 500_000, B: 700_000} and link.readlink() == link_target


def test_restore_does_not_touch_the_boards_of_a_run_that_lives_and_lost_its_journal(node):
    with node.hold_cap_elsewhere() as (owner, watchdog):
        shutil.rmtree(node.state)
        result = CliRunner().invoke(main, ["restore"])
        assert result.exit_code == 1 and "is running" in result.output, result.output
        assert node.limits == SET
        owner.kill()
        wait_for(lambda: has_ended(watchdog))
    assert node.limits == AS_FOUND


def test_a_file_system_that_became_read_only_keeps_no_limit(node, monkeypatch):
    cut_power(node)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(node.journal))

    monkeypatch.setattr(cap_journal, "hold_lock", refuse)
    monkeypatch.setattr(cap_journal, "write_durable", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    result = CliRunner().invoke(main, ["restore"])
    assert node.limits == AS_FOUND
    assert "the journal cannot be removed (Read-only file system)" in result.output
    monkeypatch.undo()
