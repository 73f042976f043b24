"""Files that change while they are read, and text at the limit of its length."""

import gzip
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from rules.bundle_format import files


@pytest.mark.parametrize(
    ("grown", "refused"), [(b"", False), (b"more", False), (b"more" * 300, True)]
)
def test_file_that_grows_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grown: bytes, refused: bool
) -> None:
    """It is read to the end that it has by then, as far as a file may be large."""
    path = tmp_path / "file"
    path.write_bytes(b"content")
    original = os.fstat

    def grow_after_stat(descriptor: int) -> os.stat_result:
        status = original(descriptor)
        path.write_bytes(b"content" + grown)
        return status

    monkeypatch.setattr(files.os, "fstat", grow_after_stat)
    if refused:
        with pytest.raises(files.Refused):
            files.read_plain(path, "file", 1000)
    else:
        assert files.read_plain(path, "file", 1000) == b"content" + grown


def swap_on_open(monkeypatch: pytest.MonkeyPatch, swap: Callable[[Path], None]) -> None:
    """Let another process replace the file between the look at its kind and its opening."""
    plain = os.open

    def swap_and_open(path: Path, flags: int) -> int:
        path.unlink()
        swap(path)
        return plain(path, flags)

    monkeypatch.setattr(files.os, "open", swap_and_open)


def test_file_that_becomes_a_link_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, path = tmp_path / "secret", tmp_path / "result.json"
    target.write_text("secret")
    path.write_text("{}")
    swap_on_open(monkeypatch, lambda path: path.symlink_to(target))
    with pytest.raises(files.Refused) as refusal:
        files.read_plain(path, path.name, 100)
    (problem,) = refusal.value.problems
    assert problem.rule == "S101" and "cannot be read" in problem.violation.found


@pytest.mark.parametrize("has_writer", [False, True])
def test_file_that_becomes_a_fifo_is_refused_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_writer: bool
) -> None:
    path = tmp_path / "result.json"
    path.write_text("{}")
    plain, writers = os.open, []

    def make_fifo(path: Path) -> None:
        os.mkfifo(path)
        if has_writer:
            writers.append(plain(path, os.O_RDWR))

    swap_on_open(monkeypatch, make_fifo)
    # Nobody writes to the FIFO: whoever opens it without O_NONBLOCK waits until the alarm.
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("opening a FIFO has blocked"))
    signal.alarm(5)
    try:
        with pytest.raises(files.Refused) as refusal:
            files.read_plain(path, path.name, 100)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for writer in writers:
            os.close(writer)
    (problem,) = refusal.value.problems
    assert (problem.rule, problem.violation.found) == ("S102", "a FIFO")


def test_text_may_be_as_long_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"a line\n" * 100
    packed = gzip.compress(text, mtime=0)
    monkeypatch.setitem(files.MAX_UNPACKED_BYTES, files.LOG_FILE, len(text))
    assert files.unpack(files.LOG_FILE, packed) == text
    monkeypatch.setitem(files.MAX_UNPACKED_BYTES, files.LOG_FILE, len(text) - 1)
    with pytest.raises(files.Refused) as refusal:
        files.unpack(files.LOG_FILE, packed)
    assert refusal.value.problems[0].rule == "S103"
