"""Sweeps over power caps: the order of their runs, and what a failure or an interruption does."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sweep_runs import (
    FakeRuns,
    invoke,
    join_output,
    read_manifests,
    save_sweep,
    write_bundle,
)

from harness.errors import MeterError, NotAllowedError, PlanError
from harness.interrupts import Interrupted
from harness.power.caps.journal import BlockedError
from harness.power.caps.restore import RestoreError
from harness.run import command
from harness.run.plan import RunRequest
from harness.run.progress import format_minutes
from harness.run.session import RunFailed
from harness.sweep import run as sweep


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRuns]:
    fake = FakeRuns()
    monkeypatch.setattr(command, "run", fake)
    yield fake


def test_runs_are_made_in_the_order_of_the_plan_and_say_so(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 300.0, 500.0, 700.0)
    before = path.read_bytes()
    assert sweep.carry_out(made, path)
    assert [w.cap_w for w in runs.run_requests] == [e.cap_w for e in made.entries]
    assert [w.sweep for w in runs.run_requests] == [
        {
            "id": made.id,
            "place": place,
            "of": 3,
            "repeat": 1,
            "order": "random within each repeat",
            "seed": 1,
            "axes": ["cap"],
        }
        for place in (1, 2, 3)
    ]
    assert path.read_bytes() == before
    told = " ".join(capsys.readouterr().out.split())
    assert (
        f"run 1 of 3: {made.describe(made.entries[0])}; 0 done, 0 failed "
        f"run 2 of 3: {made.describe(made.entries[1])}; 1 done, 0 failed, about" in told
    )
    assert "2 GPUs: most efficient at 300 W" in told and "against the default cap of 700 W" in told


def test_one_run_that_fails_does_not_end_the_sweep(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 300.0, 500.0, 700.0, repeats=2)
    failures = (
        RunFailed("the [workers] ended"),
        MeterError("no cap"),
        PlanError("x"),
        OSError("the disk is full"),
    )
    runs.failures = dict(zip((1, 3, 4, 6), failures, strict=True))
    assert not sweep.carry_out(made, path)
    assert runs.places == [1, 2, 3, 4, 5, 6] and len(read_manifests(tmp_path)) == 2
    told = " ".join(capsys.readouterr().out.split())
    assert "run 1 failed: the [workers] ended" in told
    assert f"failed: {tmp_path}: the disk is full" in told and "2 done, 3 failed" in told


def test_run_whose_bundle_does_not_pass_is_a_failed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, path = save_sweep(tmp_path, 700.0)

    def run(run_request: RunRequest, out: Path) -> bool:
        write_bundle(run_request, out, workload="no-such")
        return False

    monkeypatch.setattr(command, "run", run)
    assert not sweep.carry_out(made, path)


@pytest.mark.parametrize(
    "refused", [NotAllowedError("root only"), BlockedError("another run lives")]
)
def test_sweep_stops_where_no_run_can_start(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture, refused: MeterError
) -> None:
    made, path = save_sweep(tmp_path, 300.0, 500.0, 700.0)
    runs.failures = {2: refused}
    with pytest.raises(type(refused)):
        sweep.carry_out(made, path)
    assert runs.places == [1, 2]
    told = capsys.readouterr()
    assert (
        f"the sweep is not finished; resume it with: bench-submit sweep --resume {path}"
        in " ".join(told.err.split())
    )
    rows = {
        line.split()[1]: line.split()[3:]
        for line in told.out.splitlines()
        if line.startswith("   2 ")
    }
    caps_w = [f"{e.cap_w:g}" for e in made.entries]
    assert rows[caps_w[0]][-1] == "run-001-1" and rows[caps_w[1]] == rows[caps_w[2]] == [
        "not",
        "run",
    ]
    assert "failed: " not in told.out


def test_run_whose_bundle_stands_is_finished_whatever_came_after(
    tmp_path: Path, runs: FakeRuns, capsys: pytest.CaptureFixture
) -> None:
    made, path = save_sweep(tmp_path, 300.0, 700.0)
    runs.late_failures = {
        1: MeterError("the meter is gone"),
        2: OSError(28, "No space left on device"),
    }
    assert sweep.carry_out(made, path)
    told = " ".join(capsys.readouterr().out.split())
    assert runs.places == [1, 2] and "run 1 is finished, but: the meter is gone" in told
    assert f"run 2 is finished, but: {tmp_path}: [Errno 28] No space left on device" in told


def test_sweep_stops_where_a_cap_was_not_put_back(tmp_path: Path, runs: FakeRuns) -> None:
    _, path = save_sweep(tmp_path, 300.0, 500.0, 700.0)
    runs.late_failures = {2: RestoreError("still at 300 W")}
    done = invoke("--resume", path)
    assert done.exit_code == 1 and runs.places == [1, 2] and len(read_manifests(tmp_path)) == 2
    assert "run 2 is finished, but: still at 300 W" in join_output(
        done
    ) and "failed: still" not in join_output(done)
    assert (
        "restore them with: bench-submit restore, then resume it with: bench-submit sweep --resume"
        in join_output(done)
    )
    assert "run-002-2" in join_output(done) and "not run" in join_output(done)
    runs.late_failures = {}
    assert invoke("--resume", path).exit_code == 0 and runs.places == [1, 2, 3]


def test_sweep_that_was_interrupted_goes_on_where_it_was(tmp_path: Path, runs: FakeRuns) -> None:
    made, path = save_sweep(tmp_path, 300.0, 500.0, 700.0)
    runs.failures = {2: Interrupted("SIGTERM", 15)}
    with pytest.raises(Interrupted):
        sweep.carry_out(made, path)
    kept, runs.failures = read_manifests(tmp_path), {}
    done = invoke("--resume", path)
    assert done.exit_code == 0 and "1 of 3 runs finished so far" in join_output(done)
    assert runs.places == [1, 2, 2, 3]
    assert kept.items() < read_manifests(tmp_path).items() and len(read_manifests(tmp_path)) == 3


def test_interrupted_sweep_exits_as_the_signal_has_it(tmp_path: Path, runs: FakeRuns) -> None:
    _, path = save_sweep(tmp_path, 700.0)
    runs.failures = {1: Interrupted("SIGTERM", 15)}
    done = invoke("--resume", path)
    assert done.exit_code == 128 + 15 and f"bench-submit sweep --resume {path}" in done.output


def test_failed_run_is_made_again(tmp_path: Path, runs: FakeRuns) -> None:
    made, path = save_sweep(tmp_path, 300.0, 700.0)
    runs.failures = {1: RunFailed("once")}
    assert not sweep.carry_out(made, path)
    runs.failures = {}
    assert invoke("--resume", path).exit_code == 0
    assert runs.places == [1, 2, 1]


def test_two_processes_do_not_work_on_one_sweep(tmp_path: Path, runs: FakeRuns) -> None:
    _, path = save_sweep(tmp_path, 700.0)
    with sweep._lock(path):
        done = invoke("--resume", path)
    assert (
        done.exit_code == 3
        and "another process is working on this sweep" in join_output(done)
        and not runs.run_requests
    )


def test_length_of_a_sweep_is_told_as_a_guess() -> None:
    assert [format_minutes(s) for s in (1, 44, 100, 7199, 7260)] == [
        "about 10 s",
        "about 40 s",
        "about 2 min",
        "about 2 h 0 min",
        "about 2 h 1 min",
    ]
