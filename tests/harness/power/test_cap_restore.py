"""Which settings of a board are restored."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from support.cap_node import A

from harness.power import cap_restore
from harness.power.cap_journal import JOURNAL_FILE, SavedLimit, sync_directory

OPEN_FILES = Path("/proc/self/fd")


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
