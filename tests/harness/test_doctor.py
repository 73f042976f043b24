from harness import doctor
from harness.power.caps.journal import JOURNAL_FILE, SavedLimit, lock_directory, new_journal
from harness.power.source import STATE_VARIABLE


def describe_limits():
    return [check for check in doctor.examine() if check.name == "limits set"]


def test_limits_that_a_run_left_behind_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    assert describe_limits() == []
    new_journal("nvidia", "a-run", (SavedLimit("GPU-1", 700_000, None),)).write(
        tmp_path / JOURNAL_FILE
    )
    (warning,) = describe_limits()
    assert (
        warning.ok is False
        and "a-run" in warning.result
        and "GPU-1" in warning.result
        and "bench-submit restore" in warning.advice
    )
    with lock_directory(tmp_path):
        (warning_while_held,) = describe_limits()
    assert warning_while_held.advice == "that run is running"


def test_journal_that_cannot_be_read_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    (tmp_path / JOURNAL_FILE).write_text("{")
    (warning,) = describe_limits()
    assert warning.ok is False and str(tmp_path / JOURNAL_FILE) in warning.advice
