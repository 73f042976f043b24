"""What counts as a finished run of a sweep, what is run again, and what is left as it lies."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial, reduce
from operator import getitem
from pathlib import Path

import pytest
from support.sweep_runs import (
    RUN_REQUEST,
    FakeRuns,
    invoke,
    join_output,
    save_sweep,
    write_bundle,
)

from harness.run import command
from harness.run import run_directory as rundir
from harness.run.session import RunFailed
from harness.sweep import finished as sweep_finished
from harness.sweep import plan as sweep_plan
from harness.sweep import run as sweep
from harness.sweep.plan import Entry, Sweep
from rules.bundle_format import write as bundle
from rules.contract import RequestSet


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRuns]:
    fake = FakeRuns()
    monkeypatch.setattr(command, "run", fake)
    yield fake


@pytest.fixture(scope="module")
def finished_sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sweep, Path]:
    """A sweep of two runs, and the directory that has both."""
    out = tmp_path_factory.mktemp("finished")
    made, _ = save_sweep(out, 700.0, repeats=2)
    for entry in made.entries:
        write_bundle(made.make_run_request(entry), out)
    return made, out


@pytest.fixture
def judge_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle can pass the check and yet be none of this sweep's."""
    monkeypatch.setattr(
        sweep_finished, "judge", lambda path, signed: type("Verdict", (), {"findings": ()})
    )


def altered(path: Path) -> None:
    (path / "samples.csv.gz").write_bytes(b"")


def emptied(path: Path) -> None:
    for one in path.iterdir():
        one.unlink()


def unreadable(path: Path) -> None:
    (path / "result.json").write_text("{")


def odd_label(path: Path) -> None:
    result = json.loads((path / "result.json").read_text())
    result["sweep"]["place"] = [1]
    (path / "result.json").write_text(json.dumps(result))


@pytest.mark.parametrize("spoil", [altered, emptied, unreadable, odd_label, shutil.rmtree])
def test_bundle_is_verified_and_not_trusted_by_its_name(
    tmp_path: Path, runs: FakeRuns, spoil: Callable[[Path], None]
) -> None:
    made, path = save_sweep(tmp_path, 700.0, repeats=2)
    assert sweep.carry_out(made, path)
    spoil(tmp_path / "run-001-1")
    done = invoke("--resume", path)
    assert done.exit_code == 0 and "1 of 2 runs finished so far" in join_output(done)
    assert runs.places == [1, 2, 1]


def reseal(path: Path, file: str, change: Callable[[dict], None]) -> None:
    """Alter one JSON file of a bundle and make its manifest anew, so that it is whole again."""
    content = json.loads((path / file).read_text())
    change(content)
    (path / file).write_text(json.dumps(content))
    bundle.seal(path)


def change(*keys: str, **values: object) -> Callable[[dict], None]:
    """A function that alters the object under these keys of a document."""

    def alter(document: dict) -> None:
        reduce(getitem, keys, document).update(values)

    return alter


settings, code = partial(change, "settings"), partial(change, "implementation")
requests = asdict(RequestSet(16, 8, concurrency=4))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (change(source_sha256="1" * 64), "source_sha256 is 1111"),
        (change("sweep", repeat=3), "sweep is"),
        (change("sweep", seed=2), "sweep is"),
        (code(sha256="2" * 64), "implementation's sha256 is 2222"),
        (code(variant="baseline"), "variant is baseline"),
        (code(name="a.b:c"), "implementation is a.b:c"),
        (change(size="smoke"), "size is smoke"),
        (change(workload="vitl16-train"), "workload is vitl16-train"),
        (settings(accelerators=1), "accelerators is 1, but the plan has 2"),
        (change("sampling", meter="amd"), "meter is amd"),
        (change("power", sm_clock_mhz=990), "sm_clock_mhz is 990, but the plan has None"),
        (change("power", cap_w=699.0), "cap_w is 699.0, but the plan has 700.0"),
        (settings(seed=3), "seed is 3, but the plan has 2"),
        (settings(batch_size=64), "batch_size is 64, but the plan has 1024"),
        (settings(epoch_target_s=40.0), "epoch_target_s is 40.0, but the plan has 30.5"),
        (settings(options={"a": "b"}), "options is {'a': 'b'}, but the plan has {}"),
        (settings(corpus_sha256="4" * 64), "corpus_sha256 is 4444"),
        (settings(requests=requests), "prompt_tokens is 16, but the plan has None"),
        (change(site="another"), "system's site is another"),
        (change(meters=[{"id": "pdu"}]), "system's meters is [{'id': 'pdu'}]"),
        (change("nodes", 0, rated_w=9000), "system's rating of node0 is {'rated_w': 9000}, but"),
        (change("nodes", 0, "accelerators", 0, name="NVIDIA H100"), "board is NVIDIA H100,"),
        (settings(weights="sha256:" + "5" * 64), "weights is sha256:5555"),
        (code(precision="tf32"), "implementation's precision is tf32, but that of run-001-1 is"),
        (code(parameters=1), "implementation's parameters is 1, but that of run-001-1 is"),
        (code(input_shape=[2]), "implementation's input_shape is [2], but that of run-001-1 is"),
    ],
)
def test_bundle_of_another_run_than_planned_does_not_count(
    tmp_path: Path,
    finished_sweep: tuple[Sweep, Path],
    change: Callable[[dict], None],
    says: str,
    judge_nothing: None,
    capsys: pytest.CaptureFixture,
) -> None:
    made, finished = finished_sweep
    out = shutil.copytree(finished, tmp_path / "out")
    file = (
        "system.json"
        if says.startswith(("system", "board"))
        else "environment.json"
        if says.startswith("source")
        else "result.json"
    )
    reseal(out / "run-002-2", file, change)
    assert set(sweep_finished.find_finished_results(made, out, made.entries)) == {1}
    told = " ".join(capsys.readouterr().out.split())
    assert f"its {says}" in told and "does not count as run 2" in told


@pytest.mark.parametrize("sm_clock_mhz", [None, 1770])
def test_bundle_at_the_cap_and_the_clock_of_the_plan_counts(
    tmp_path: Path, sm_clock_mhz: int | None, judge_nothing: None
) -> None:
    """Any cap does where the plan has the cap as found."""
    request = replace(RUN_REQUEST, sm_clock_mhz=sm_clock_mhz)
    made, _ = save_sweep(tmp_path, None, run_request=request)
    bundle = write_bundle(made.make_run_request(made.entries[0]), tmp_path)
    reseal(bundle, "result.json", change("power", sm_clock_mhz=sm_clock_mhz, cap_w=650.0))
    assert set(sweep_finished.find_finished_results(made, tmp_path, made.entries)) == {1}


def test_bundle_at_another_cap_or_of_another_sweep_does_not_count(
    tmp_path: Path, runs: FakeRuns
) -> None:
    made, path = save_sweep(tmp_path, 500.0)
    run_request = made.make_run_request(made.entries[0])
    write_bundle(replace(run_request, cap_w=700.0), tmp_path, "run-at-700")
    write_bundle(
        replace(run_request, sweep={**run_request.sweep, "id": "another"}),
        tmp_path,
        "run-of-another",
    )
    done = invoke("--resume", path)
    assert "run-at-700: its cap_w is 700.0, but the plan has 500.0" in join_output(
        done
    ) and "of-another" not in join_output(done)
    assert runs.places == [1]


def test_what_lies_there_and_is_not_needed_is_named_and_left(
    tmp_path: Path, runs: FakeRuns
) -> None:
    made, path = save_sweep(tmp_path, 700.0, repeats=3)
    runs.failures = {3: RunFailed("the workers ended")}
    assert not sweep.carry_out(made, path)
    altered(tmp_path / "run-001-1")
    again = unfinished(made, tmp_path, made.entries[1], ".again.running")
    without = tmp_path / ".without.running"
    without.mkdir()
    (without / "plan.json").touch()
    held = tmp_path / ".held.running"
    held.mkdir()
    another = replace(made.entries[1], place=7)
    others = unfinished(made, tmp_path, another, ".others.running")
    unfinished(replace(made, id="another"), tmp_path, made.entries[1], ".sweep-2.running")
    unfinished(made, tmp_path, made.entries[2], ".needed.running")
    with rundir.hold_directory(held):
        done = invoke("--resume", path)
    assert done.exit_code == 1
    named = [
        line.partition(": ")[2]
        for line in done.output.splitlines()
        if line.startswith("this sweep does not need")
    ]
    assert named == [
        f"{tmp_path / 'run-001-1'} (run 1 was repeated)",
        f"{again} (run 2 was repeated)",
        f"{without} (an unfinished run whose plan cannot be read)",
    ]
    assert all(one.is_dir() for one in (tmp_path / "run-001-1", again, without, held, others))


def test_code_that_changed_since_the_plan_is_not_mixed_in(
    tmp_path: Path, runs: FakeRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = save_sweep(tmp_path, 700.0)
    monkeypatch.setattr(sweep_plan, "hash_source", lambda: "3" * 64)
    done = invoke("--resume", path)
    assert (
        done.exit_code == 2
        and "the code has changed since the sweep was planned" in join_output(done)
        and not runs.run_requests
    )


def unfinished(made: Sweep, tmp_path: Path, entry: Entry, name: str = ".a-run.running") -> Path:
    """The directory of a run that did not come to its end."""
    directory = tmp_path / name
    directory.mkdir()
    run_request = replace(made.make_run_request(entry), simulate="h200", smoke=True, cap_w=None)
    command.plan_run(run_request, tmp_path).save(directory)
    return directory


def test_unfinished_run_is_run_again_in_its_directory(
    tmp_path: Path, runs: FakeRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The latest attempt, but no other run, and none of another sweep with this place."""
    made, path = save_sweep(tmp_path, 700.0, repeats=2)
    unfinished(made, tmp_path, made.entries[1])
    left = unfinished(made, tmp_path, made.entries[1], ".b-run.running")
    unfinished(replace(made, id="another"), tmp_path, made.entries[1], ".c-run.running")
    unfinished(made, tmp_path, replace(made.entries[1], place=7), ".d-run.running")
    again = []

    def resume(directory: Path, is_verbose: bool) -> bool:
        again.append(directory)
        write_bundle(made.make_run_request(made.entries[1]), tmp_path, attempt=2)
        return True

    monkeypatch.setattr(command, "resume", resume)
    assert sweep.carry_out(made, path)
    assert again == [left] and runs.places == [1]


def test_unfinished_run_that_cannot_be_run_again_is_started_anew(
    tmp_path: Path, runs: FakeRuns
) -> None:
    made, path = save_sweep(tmp_path, 700.0)
    unfinished(made, tmp_path, made.entries[0])  # without a state
    done = invoke("--resume", path)
    assert (
        done.exit_code == 0
        and "the state of the run cannot be read" in join_output(done)
        and "run 1 starts again from its beginning" in join_output(done)
    )
    assert runs.places == [1]
