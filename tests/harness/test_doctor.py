from harness import doctor
from harness.power.cap_journal import JOURNAL_FILE, STATE_VARIABLE, Found, begun, locked


def limits_set():
    return [check for check in doctor.examine() if check.what == "limits set"]


def test_limits_that_a_run_left_behind_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    assert limits_set() == []
    begun("nvidia", "a-run", (Found("GPU-1", 700_000, None),)).write(tmp_path / JOURNAL_FILE)
    (left,) = limits_set()
    assert (
        left.ok is False
        and "a-run" in left.found
        and "GPU-1" in left.found
        and "bench-submit restore" in left.advice
    )
    with locked(tmp_path):
        (held,) = limits_set()
    assert held.advice == "that run lives"


def test_journal_that_cannot_be_read_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    (tmp_path / JOURNAL_FILE).write_text("{")
    (left,) = limits_set()
    assert left.ok is False and str(tmp_path / JOURNAL_FILE) in left.advice
