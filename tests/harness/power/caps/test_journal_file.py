"""What a file in the place of the journal of power limits may be: anything else is named with its
reason."""

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from harness.power.caps.journal import JOURNAL_FILE, BlockedError, Journal, SavedLimit, new_journal
from harness.power.caps.lock import is_held

JOURNAL = asdict(new_journal("nvidia", "a-run", (SavedLimit("GPU-a", 700_000, None),)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / JOURNAL_FILE


@pytest.fixture
def alarm() -> Iterator[None]:
    """Nobody writes to the FIFOs of these tests: whoever waits for that fails after 5 s."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("reading a FIFO has blocked"))
    signal.alarm(5)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def assert_refused(path: Path, reason: str) -> None:
    with pytest.raises(BlockedError, match=rf"{re.escape(str(path))}: .*{reason}.*remove the file"):
        Journal.read(path)


@pytest.mark.usefixtures("alarm")
def test_fifo_is_refused_without_waiting(path):
    os.mkfifo(path)
    assert_refused(path, "a FIFO and no regular file")


@pytest.mark.usefixtures("alarm")
def test_fifo_in_the_place_of_the_lock_is_held_by_nobody(tmp_path):
    os.mkfifo(tmp_path / "caps.lock")
    assert not is_held(tmp_path / "caps.lock")


def test_link_is_refused(path, tmp_path):
    (tmp_path / "elsewhere").write_text(json.dumps(JOURNAL))
    path.symlink_to("elsewhere")
    assert_refused(path, "a symbolic link and no regular file")


@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_deeply_nested_json_is_refused(path, bracket):
    path.write_text(bracket * 100_000)
    assert_refused(path, "recursion")


@pytest.mark.parametrize(
    ("field", "value"), [("pid", "1"), ("meter", []), ("host", None), ("run_id", {}), ("pid", True)]
)
def test_field_of_another_type_is_refused(path, field, value):
    path.write_text(json.dumps(JOURNAL | {field: value}))
    assert_refused(path, field)


@pytest.mark.parametrize(
    ("field", "value"), [("uuid", 1), ("found_mw", 7.5), ("found_state", 0), ("locked_mhz", "1200")]
)
def test_field_of_an_accelerator_of_another_type_is_refused(path, field, value):
    accelerator = JOURNAL["accelerators"][0] | {field: value}
    path.write_text(json.dumps(JOURNAL | {"accelerators": [accelerator]}))
    assert_refused(path, field)


def test_journal_larger_than_that_of_any_node_is_refused(path):
    path.write_text(json.dumps(JOURNAL | {"run_id": "x" * 2**20}))
    assert_refused(path, "Unterminated string")


def test_the_journal_itself_is_read(path):
    path.write_text(json.dumps(JOURNAL))
    assert asdict(Journal.read(path)) == JOURNAL


def test_a_journal_of_a_version_without_locked_clocks_is_read(path):
    accelerators = [{"uuid": "GPU-a", "found_mw": 700_000, "found_state": None}]
    path.write_text(json.dumps(JOURNAL | {"accelerators": accelerators}))
    assert Journal.read(path).accelerators == (SavedLimit("GPU-a", 700_000, None),)
