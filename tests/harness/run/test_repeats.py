"""`--until-ci`: which runs are made, when the repeats end, and what is said."""

import math
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import assume, given
from hypothesis import strategies as st
from support.harness.session_runs import change_plan, make_test_plan

from harness.cli import main
from harness.errors import PlanError
from harness.interrupts import Interrupted
from harness.run import repeats
from harness.run.outcome import Outcome
from harness.run.plan import RunRequest
from harness.run.repeats import MAX_RUNS, MIN_RUNS, find_unfinished, run_until_narrow
from harness.run.run_directory import STATE_FILE
from rules.metrics.figures import student_t95
from rules.metrics.uncertainty.repeats import count_needed_runs

REQUEST = RunRequest("resnet50-train", seed=5)


class FakeRuns:
    """Stands for runs on a machine: each seed has its J per item, an error, or a failed check."""

    def __init__(self, outcomes: Sequence[float | bool | BaseException]) -> None:
        self.outcomes = list(outcomes)
        self.finished: dict[int, float] = {}
        self.seeds: list[int] = []
        """The seeds of the runs that were started."""

    def run(self, request: RunRequest, out: Path) -> Outcome:
        self.seeds.append(request.seed)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        if isinstance(outcome, bool):
            return Outcome(outcome)
        self.finished[request.seed] = outcome
        return Outcome(True)


@pytest.fixture
def make_runs(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeRuns]:
    def make(*outcomes: float | bool | BaseException) -> FakeRuns:
        runs = FakeRuns(outcomes)
        monkeypatch.setattr(repeats.command, "plan_run", lambda request, out: None)
        monkeypatch.setattr(repeats.command, "run", runs.run)
        monkeypatch.setattr(repeats, "explain_others", lambda plan, out: ())
        monkeypatch.setattr(repeats, "find_repeats", lambda plan, out: dict(runs.finished))
        return runs

    return make


def test_runs_are_repeated_with_new_seeds_until_the_interval_is_narrow(
    make_runs: Callable[..., FakeRuns], tmp_path: Path, capsys: Any
) -> None:
    # After three runs 2.484 x 1 / 100 is too wide, after four 1.591 x 0.816 / 100 is 1.3 %.
    runs = make_runs(99.0, 100.0, 101.0, 100.0)
    assert run_until_narrow(REQUEST, tmp_path, 1.4)
    assert runs.seeds == [5, 6, 7, 8]
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(
        "100 J per item \u00b1 1.3 % over 4 runs on the same accelerators (95 %)"
    )


def test_two_equal_runs_are_not_enough(make_runs: Callable[..., FakeRuns], tmp_path: Path) -> None:
    runs = make_runs(*[100.0] * MIN_RUNS)
    assert run_until_narrow(REQUEST, tmp_path, 0.5)
    assert len(runs.seeds) == MIN_RUNS


def test_same_command_continues_after_an_interruption(
    make_runs: Callable[..., FakeRuns], tmp_path: Path
) -> None:
    runs = make_runs(100.0, Interrupted("SIGINT", 2), 100.1, 99.9)
    with pytest.raises(Interrupted):
        run_until_narrow(REQUEST, tmp_path, 0.5)
    assert run_until_narrow(REQUEST, tmp_path, 0.5)
    assert runs.seeds == [5, 6, 6, 7]
    # A further call finds all runs and makes none.
    assert run_until_narrow(REQUEST, tmp_path, 0.5)
    assert runs.seeds == [5, 6, 6, 7]


def test_interrupted_run_with_the_next_seed_is_resumed(tmp_path: Path) -> None:
    plan = make_test_plan()
    for name, change in (("other", {"batch_size": 8}), ("unstarted", {}), ("same", {})):
        directory = tmp_path / f".{name}.running"
        directory.mkdir()
        change_plan(plan, **change).save(directory)
        if name != "unstarted":
            (directory / STATE_FILE).touch()
    assert find_unfinished(plan, tmp_path, plan.configuration.seed) == tmp_path / ".same.running"
    assert find_unfinished(plan, tmp_path, plan.configuration.seed + 1) is None


def test_spread_that_no_number_of_runs_overcomes_ends_the_repeats(
    make_runs: Callable[..., FakeRuns], tmp_path: Path, capsys: Any
) -> None:
    runs = make_runs(90.0, 100.0, 110.0, 95.0)
    assert not run_until_narrow(REQUEST, tmp_path, 0.5)
    assert runs.seeds == [5, 6, 7]
    needed = count_needed_runs(10, 0.5)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"the interval cannot be within 0.5 % after {MAX_RUNS} runs")
    assert f"the standard deviation over runs is 10 %, which needs about {needed} runs" in last


def test_repeats_end_at_the_most_runs(
    make_runs: Callable[..., FakeRuns], tmp_path: Path, capsys: Any
) -> None:
    runs = make_runs(*[99.0, 101.0] * MAX_RUNS)
    assert not run_until_narrow(REQUEST, tmp_path, 0.4)
    assert len(runs.seeds) == MAX_RUNS
    assert f"is not within 0.4 % after {MAX_RUNS} runs" in capsys.readouterr().out


@pytest.mark.parametrize("outcome", [False, True], ids=["fails the check", "is no repeat"])
def test_run_that_does_not_count_ends_the_repeats(
    make_runs: Callable[..., FakeRuns], tmp_path: Path, capsys: Any, outcome: bool
) -> None:
    runs = make_runs(100.0, outcome, 100.0)
    assert not run_until_narrow(REQUEST, tmp_path, 0.5)
    assert runs.seeds == [5, 6]
    last = capsys.readouterr().out.splitlines()[-1]
    assert ("does not pass the check" in last) == (not outcome)
    assert ("is no repeat of the others" in last) == outcome


@pytest.mark.parametrize("request_fields", [{"nodes": 2}, {"batch": "auto"}])
def test_request_that_cannot_be_repeated_is_refused(
    request_fields: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(PlanError, match="--until-ci"):
        run_until_narrow(RunRequest("resnet50-train", **request_fields), tmp_path, 0.5)


@pytest.mark.parametrize("text", ["0%", "-1%", "nan", "100", "half"])
def test_percentage_must_be_one(text: str) -> None:
    done = CliRunner().invoke(main, ["run", "resnet50-train", "--until-ci", text])
    assert done.exit_code == 2
    assert f"{text}: give a percentage above 0 and below 100, such as 0.5%" in done.output


@given(st.floats(0.01, 10), st.floats(0.05, 5))
def test_needed_runs_are_the_fewest(sd: float, target: float) -> None:
    assume(sd < 20 * target)
    fewest = next(n for n in count(2) if student_t95(n - 1) * sd <= target * math.sqrt(n))
    assert count_needed_runs(sd, target) == fewest
