from harness import doctor
from harness.power.cap_journal import JOURNAL_FILE, SavedLimit, lock_directory, new_journal
from harness.power.source import STATE_VARIABLE


def limits_set():
    return [check for check in doctor.examine() if check.what == "limits set"]


def test_limits_that_a_run_left_behind_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    assert limits_set() == []
    new_journal("nvidia", "a-run", (SavedLimit("GPU-1", 700_000, None),)).write(
        tmp_path / JOURNAL_FILE
    )
    (left,) = limits_set()
    assert (
        left.ok is False
        and "a-run" in left.found
        and "GPU-1" in left.found
        and "bench-submit restore" in left.advice
    )
    with lock_directory(tmp_path):
        (held,) = limits_set()
    assert held.advice == "that run is running"


def test_journal_that_cannot_be_read_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    (tmp_path / JOURNAL_FILE).write_text("{")
    (left,) = limits_set()
    assert left.ok is False and str(tmp_path / JOURNAL_FILE) in left.advice
