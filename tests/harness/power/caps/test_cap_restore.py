"""What `bench-submit restore` restores, and which settings of a board."""

import json
import os
import platform
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from support.harness.cap_node import AS_FOUND, A, B, Node, cut_power, find_watchdogs, has_ended
from support.kills import wait_for

from harness.cli import main
from harness.errors import MeterError
from harness.power.caps import restore as cap_restore
from harness.power.caps.apply import applied_cap
from harness.power.caps.journal import JOURNAL_FILE, Journal, SavedLimit, new_journal
from rules.bundle_format.seal import sync_directory

OPEN_FILES = Path("/proc/self/fd")


@pytest.fixture
def node(tmp_path, monkeypatch) -> Iterator[Node]:
    with Node(tmp_path, monkeypatch) as new_node:
        yield new_node


def test_where_no_journal_is_there_is_nothing_to_restore(tmp_path):
    assert cap_restore.restore(tmp_path / JOURNAL_FILE) == []


@pytest.mark.parametrize(("current", "is_set"), [("auto", False), ("high", True)])
def test_a_board_in_its_former_state_is_not_set_again(monkeypatch, current, is_set):
    """Setting takes a right that a user without root does not have."""
    states = [current]
    source = SimpleNamespace(
        read=lambda uuid: SimpleNamespace(power_state=states[-1]),
        set_state=lambda uuid, state: states.append(state),
    )
    monkeypatch.setattr(cap_restore, "cap_control", lambda source: source)
    cap_restore._restore_board(source, SavedLimit(A, None, "auto"))
    assert states == ([current, "auto"] if is_set else [current])


def test_a_directory_that_is_synced_is_closed(tmp_path):
    before = len(list(OPEN_FILES.iterdir()))
    sync_directory(tmp_path)
    assert len(list(OPEN_FILES.iterdir())) == before


def test_restoring_sees_boards_that_the_environment_hides(node, monkeypatch):
    cut_power(node)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", A)
    assert CliRunner().invoke(main, ["restore"]).exit_code == 0
    assert node.limits == AS_FOUND


def test_one_board_that_cannot_be_restored_does_not_keep_the_others_from_it(node):
    with (
        pytest.raises(
            MeterError, match=f"{A}: .* not restored to 700 W; try: bench-submit restore"
        ),
        applied_cap(node.plan()),
    ):
        node.change(deaf=[A])
    assert node.limits == {A: 400_000, B: 700_000}
    (watchdog,) = find_watchdogs(node)  # which would try again, as `restore` does below
    os.kill(watchdog, signal.SIGKILL)
    wait_for(lambda: has_ended(watchdog))
    assert [limit.uuid for limit in Journal.read(node.journal).accelerators] == [A]
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 1 and "the board has 400 W; not restored to 700 W" in result.output
    node.change(deaf=[])
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, result.output) == (0, f"{A}: restored to 700 W\n")
    assert node.limits == AS_FOUND and not node.journal.exists()


@pytest.mark.parametrize("boot_id", [None, "another-boot"])
@pytest.mark.parametrize("uuid", ["GPU-elsewhere", "PCI-0000:e5:00.0"])
def test_a_journal_of_another_host_is_left_to_that_host(node, boot_id, uuid):
    """The address PCI-… is that of a board on both hosts."""
    node.change(uuids=[A, B, "PCI-0000:e5:00.0"])
    node.state.mkdir(0o755)
    limits = (SavedLimit(uuid, 700_000, None),)
    journal = new_journal("nvidia", "a-run", limits)
    replace(journal, host="elsewhere", boot_id=boot_id).write(node.journal)
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 1 and "on elsewhere; restore them there" in result.output
    assert node.limits == AS_FOUND and node.journal.exists()


@pytest.mark.parametrize("uuid", [A, "PCI-0000:e5:00.0"])
def test_a_journal_with_another_host_name_is_restored_on_the_host_of_its_boards(node, uuid):
    """A container has a host name of its own. After a reboot only the names of boards identify the
    host."""
    node.change(uuids=[A, B, uuid], limits={**AS_FOUND, uuid: 400_000})
    node.nvml.uuids = (A, B, uuid)
    node.state.mkdir(0o755)
    journal = replace(
        new_journal("nvidia", "a-run", (SavedLimit(uuid, 700_000, None),)), host="container"
    )
    if uuid == A:
        journal = replace(journal, boot_id="the-boot-before")
    journal.write(node.journal)
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, node.limits[uuid]) == (0, 700_000), result.output


def test_a_journal_of_an_earlier_version_is_read_and_restored(node):
    """It has no boot id and no copies."""
    cut_power(node)
    for copy in node.boards_directory.glob("*.json"):
        copy.unlink()
    document = json.loads(node.journal.read_text())
    del document["boot_id"]
    node.journal.write_text(json.dumps(document))
    assert Journal.read(node.journal).boot_id is None
    assert CliRunner().invoke(main, ["restore"]).exit_code == 0
    assert node.limits == AS_FOUND


def test_a_board_that_is_gone_does_not_keep_the_others_from_being_restored(node):
    cut_power(node)
    node.change(uuids=[B])
    node.nvml.uuids = (B,)
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 1 and node.limits[B] == 700_000, result.output
    line = result.output.splitlines()[0]
    assert line.startswith(f"{A}: ") and line.endswith("; not restored to 700 W")
    assert Journal.read(node.journal).accelerators == (SavedLimit(A, 700_000, None),)


def test_a_driver_that_fails_on_one_board_does_not_keep_the_others_from_being_restored(
    node, monkeypatch
):
    cut_power(node)
    plain = node.nvml.nvmlDeviceSetPowerManagementLimit

    def broken(handle, limit_mw):
        if handle == A:
            raise OSError(5, "Input/output error")
        plain(handle, limit_mw)

    monkeypatch.setattr(node.nvml, "nvmlDeviceSetPowerManagementLimit", broken, raising=False)
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 1 and "Input/output error" in result.output
    assert node.limits == {A: 400_000, B: 700_000}


def test_a_board_that_has_its_limit_again_is_not_set_once_more(node, monkeypatch):
    """So a user who may not set limits can clear the journal of a run whose limits are back."""
    cut_power(node)
    node.change(limits={A: 700_000, B: 400_000})
    plain, handles = node.nvml.nvmlDeviceSetPowerManagementLimit, []

    def note(handle, limit_mw):
        handles.append(handle)
        plain(handle, limit_mw)

    monkeypatch.setattr(node.nvml, "nvmlDeviceSetPowerManagementLimit", note, raising=False)
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, handles) == (0, [B]) and node.limits == AS_FOUND


def test_a_journal_that_cannot_be_shortened_keeps_all_boards(node, monkeypatch):
    cut_power(node)
    journal = Journal.read(node.journal)
    node.change(deaf=[A])

    def refuse(self, path):
        raise MeterError("no space")

    monkeypatch.setattr(Journal, "write", refuse)
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 1 and f"{B}: restored to 700 W" in result.output
    assert Journal.read(node.journal) == journal


def test_a_journal_that_cannot_be_restored_does_not_keep_another_from_it(node, monkeypatch):
    """The other one is in another state directory."""
    cut_power(node)
    other_state = node.root / "a-state-directory"
    other_state.mkdir(0o755)
    (other_state / JOURNAL_FILE).write_text("damaged")
    monkeypatch.setenv("WATTMARK_STATE", str(other_state))
    result = CliRunner().invoke(main, ["restore"])
    assert (result.exit_code, node.limits) == (1, AS_FOUND), result.output
    assert "Error: " in result.output and "cannot be read" in result.output
    assert f"{A}: restored to 700 W" in result.output and not node.journal.exists()


@pytest.mark.parametrize(
    ("host", "reason"), [("elsewhere", "restore them there"), (platform.node(), "no driver here")]
)
def test_without_a_meter_a_journal_of_another_host_is_named_as_such(
    node, monkeypatch, host, reason
):
    """As on a login node that shares the state directory with the compute nodes."""

    def refuse(meter):
        raise MeterError("no driver here")

    node.state.mkdir(0o755)
    journal = new_journal("nvidia", "a-run", (SavedLimit(A, 700_000, None),))
    replace(journal, host=host, boot_id="another-boot").write(node.journal)
    monkeypatch.setattr(cap_restore, "open_source", refuse)
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 1 and reason in result.output and node.journal.exists()
