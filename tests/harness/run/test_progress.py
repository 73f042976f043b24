"""What the terminal and the log say while a run prepares its first epoch."""

import io
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from harness.run import batch_size, progress
from harness.run.progress import View

COMPILING = "compiling the model, which may take minutes, and warming up"


class Clock:
    """A clock that sleep alone moves."""

    now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", Clock())


def make_view(tmp_path: Path, terminal: bool) -> tuple[View, io.StringIO]:
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=100)
    return View(console, tmp_path / "log"), output


def test_a_job_says_every_minute_what_it_does_and_for_how_long(tmp_path: Path) -> None:
    view, output = make_view(tmp_path, terminal=False)
    with view:
        view.end_phase("resident", compiles=True)
        for _ in range(170):
            view.wait(1.0)
        view.begin_epochs(11, "image")
        for _ in range(170):
            view.wait(1.0)
    assert output.getvalue().splitlines() == [
        f"{COMPILING}, for {seconds} s now" for seconds in (60, 120)
    ]


def test_a_terminal_shows_the_activity_with_its_time(tmp_path: Path) -> None:
    view, output = make_view(tmp_path, terminal=True)
    with view:
        view.end_phase("resident", compiles=True)
        view.wait(170.0)
        view.print_line("a line")
    assert COMPILING in output.getvalue() and "0:00:0" in output.getvalue()
    assert "s now" not in output.getvalue() and "a line" in output.getvalue()


@pytest.mark.parametrize(
    ("phase", "compiles", "activity"),
    [
        ("bare", False, "starting the workers and building the model"),
        ("build", True, "measuring idle power with the model"),
        ("resident", False, "warming up"),
        ("resident", True, COMPILING),
        ("warm-up", True, "calibrating the length of an epoch"),
    ],
)
def test_the_log_has_every_activity(
    tmp_path: Path, phase: str, compiles: bool, activity: str
) -> None:
    view, _ = make_view(tmp_path, terminal=False)
    with view:
        view.end_phase(phase, compiles)
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert line.partition(" ")[2] == activity


def test_phases_that_end_together_with_another_say_nothing(tmp_path: Path) -> None:
    view, _ = make_view(tmp_path, terminal=False)
    with view:
        view.end_phase("start-up", compiles=False)
        view.end_phase("calibration", compiles=False)
    assert not (tmp_path / "log").read_text()


def test_a_phase_that_a_slow_rank_ends_late_hides_no_epochs(tmp_path: Path) -> None:
    view, output = make_view(tmp_path, terminal=True)
    with view:
        view.begin_epochs(11, "image")
        view.end_phase("warm-up", compiles=True)
        view.show_epoch_end(7000.0, "690")
        assert "calibrating" not in output.getvalue()
        view.end_phase("bare", compiles=True)  # the next attempt
    assert "starting the workers" in output.getvalue()


def test_a_batch_trial_says_every_minute_what_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Workers:
        """Workers that end after 170 s."""

        waits = 0

        def wait(self, seconds: float) -> int | None:
            progress.time.sleep(seconds)  # the clock of the fixture
            self.waits += 1
            return None if self.waits < 170 else 1

    monkeypatch.setattr(batch_size, "make_workers", lambda *arguments: nullcontext(Workers()))
    plan: Any = SimpleNamespace(
        configuration=SimpleNamespace(batch_size=64),
        processes=1,
        ranks=[0],
        save=lambda directory: None,
    )
    view, output = make_view(tmp_path, terminal=False)
    with view:
        trial = batch_size._try_batch(plan, tmp_path, view, lambda: None)
        view.wait(120.0)
    assert trial.outcome == "failed"
    activity = "batch 64: building, compiling and warming up"
    assert output.getvalue().splitlines() == [f"{activity}, for {s} s now" for s in (60, 120)]
    assert activity in (tmp_path / "log").read_text()


def test_a_terminal_breaks_lines_between_words_and_keeps_paths_whole(tmp_path: Path) -> None:
    path = f"/{'directory/' * 12}20260101T000000Z-a-run"
    text = f"warning: the state directory {path} may not last; give a directory of this node"
    view, output = make_view(tmp_path, terminal=True)
    with view:
        view.print_line(text)
    lines = output.getvalue().splitlines()
    assert [word for line in lines for word in line.split()] == text.split()
    assert len(lines) == 3 and all(len(line) <= 100 for line in lines if path not in line)
    assert text in (tmp_path / "log").read_text()
    view, output = make_view(tmp_path, terminal=False)
    with view:
        view.print_line(text)
    assert output.getvalue() == f"{text}\n"
