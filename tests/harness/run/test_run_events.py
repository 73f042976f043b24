"""The events of a run survive whatever ends an attempt, and the next attempt keeps them."""

from pathlib import Path

import pytest

from harness.run.run_directory import EVENTS_FILE, RunEvents, read_recorded_events
from rules.bundle_format.events import AttemptEnded, WorkersEnded


def record(directory: Path, attempt: int) -> None:
    with RunEvents(directory, "node0", attempt) as events:
        events.add(WorkersEnded, status=attempt)
        events.end_attempt("interrupted", "SIGTERM")


def test_events_of_earlier_attempts_come_first_in_the_order_of_their_numbers(
    tmp_path: Path,
) -> None:
    for attempt in (10, 2, 1):
        attempt_directory = tmp_path / f"attempt-{attempt}"
        attempt_directory.mkdir()
        record(attempt_directory, attempt)
    record(tmp_path, 11)
    recorded = read_recorded_events(tmp_path)
    assert [event.attempt for event in recorded] == [1, 1, 2, 2, 10, 10, 11, 11]
    assert [type(event) for event in recorded[:2]] == [WorkersEnded, AttemptEnded]
    last = recorded[-1]
    assert isinstance(last, AttemptEnded)
    assert (last.outcome, last.signal, last.error) == ("interrupted", "SIGTERM", None)


@pytest.mark.parametrize(
    "damaged_line", [b'{"event": "workers-', b"\0\0\0", b"[]", b'{"event": "other"}']
)
def test_a_line_that_a_power_cut_left_incomplete_is_left_out(
    tmp_path: Path, damaged_line: bytes
) -> None:
    record(tmp_path, 1)
    with (tmp_path / EVENTS_FILE).open("ab") as file:
        file.write(damaged_line)
    assert len(read_recorded_events(tmp_path)) == 2


def test_an_event_is_on_file_when_it_is_added(tmp_path: Path) -> None:
    with RunEvents(tmp_path, "node0", 1) as events:
        events.add(WorkersEnded, status=0)
        assert len(read_recorded_events(tmp_path)) == 1
