"""What counts as a finished run of a sweep, what is run again, and what is left as it lies."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from support.sweep_runs import FakeRuns, invoke, join_output, save_sweep, write_bundle

from harness.run import command
from harness.run import run_directory as rundir
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


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        (
            "environment.json",
            lambda e: e.update(source_sha256="1" * 64),
            "its source_sha256 is 1111",
        ),
        ("result.json", lambda r: r["sweep"].update(repeat=2), "its sweep is"),
        ("result.json", lambda r: r["sweep"].update(seed=2), "its sweep is"),
        (
            "result.json",
            lambda r: r["implementation"].update(sha256="2" * 64),
            "its implementation's sha256 is 2222",
        ),
        (
            "result.json",
            lambda r: r["implementation"].update(variant="baseline"),
            "its variant is baseline",
        ),
        (
            "result.json",
            lambda r: r["implementation"].update(name="a.b:c"),
            "its implementation is a.b:c",
        ),
        ("result.json", lambda r: r.update(size="smoke"), "its size is smoke"),
        (
            "result.json",
            lambda r: r.update(workload="vitl16-train"),
            "its workload is vitl16-train",
        ),
        (
            "result.json",
            lambda r: r["settings"].update(accelerators=1),
            "its accelerators is 1, but the plan has 2",
        ),
        ("result.json", lambda r: r["sampling"].update(meter="amd"), "its meter is amd"),
        (
            "result.json",
            lambda r: r["settings"].update(seed=2),
            "its seed is 2, but the plan has 1",
        ),
        (
            "result.json",
            lambda r: r["settings"].update(batch_size=64),
            "its batch_size is 64, but the plan has 1024",
        ),
        (
            "result.json",
            lambda r: r["settings"].update(epoch_target_s=40.0),
            "its epoch_target_s is 40.0, but the plan has 30.5",
        ),
        (
            "result.json",
            lambda r: r["settings"].update(options={"a": "b"}),
            "its options is {'a': 'b'}, but the plan has {}",
        ),
        (
            "result.json",
            lambda r: r["settings"].update(corpus_sha256="4" * 64),
            "its corpus_sha256 is 4444",
        ),
        (
            "result.json",
            lambda r: r["settings"].update(requests=asdict(RequestSet(16, 8, concurrency=4))),
            "its requests is {'prompt_tokens': 16, 'output_tokens': 8, 'concurrency': 4,",
        ),
        ("system.json", lambda s: s.update(site="another"), "its system's site is another"),
        (
            "system.json",
            lambda s: s["nodes"][0]["accelerators"][0].update(name="NVIDIA H100"),
            "its board is NVIDIA H100,",
        ),
    ],
)
def test_bundle_of_another_run_than_planned_does_not_count(
    tmp_path: Path,
    runs: FakeRuns,
    file: str,
    change: Callable[[dict], None],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, path = save_sweep(tmp_path, 700.0)
    assert sweep.carry_out(made, path)
    reseal(tmp_path / "run-001-1", file, change)
    # a bundle can pass the check and yet be none of this sweep's
    monkeypatch.setattr(
        sweep_finished, "judge", lambda path, signed: type("Verdict", (), {"findings": ()})
    )
    done = invoke("--resume", path)
    assert says in join_output(done) and "does not count as run 1" in join_output(done)
    assert runs.places == [1, 1]


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


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda r: r["settings"].update(weights="sha256:" + "5" * 64),
            "its weights is sha256:5555",
        ),
        (
            lambda r: r["implementation"].update(precision="tf32"),
            "its implementation's precision is tf32, but that of run-001-1 is",
        ),
    ],
)
def test_bundle_that_differs_from_the_others_does_not_count(
    tmp_path: Path,
    runs: FakeRuns,
    change: Callable[[dict], None],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, path = save_sweep(tmp_path, 700.0, repeats=3)
    assert sweep.carry_out(made, path)
    reseal(tmp_path / "run-002-2", "result.json", change)
    monkeypatch.setattr(
        sweep_finished, "judge", lambda path, signed: type("Verdict", (), {"findings": ()})
    )
    done = invoke("--resume", path)
    assert (
        done.exit_code == 0
        and says in join_output(done)
        and "does not count as run 2" in join_output(done)
    )
    assert runs.places == [1, 2, 3, 2]


def test_what_lies_there_and_is_not_needed_is_named_and_left(
    tmp_path: Path, runs: FakeRuns
) -> None:
    made, path = save_sweep(tmp_path, 700.0, repeats=2)
    assert sweep.carry_out(made, path)
    altered(tmp_path / "run-001-1")
    again = unfinished(made, tmp_path, made.entries[1], ".again.running")
    without = tmp_path / ".without.running"
    without.mkdir()
    (without / "plan.json").touch()
    held = tmp_path / ".held.running"
    held.mkdir()
    another = replace(made.entries[1], place=7)
    others = unfinished(made, tmp_path, another, ".others.running")
    with rundir.hold_directory(held):
        done = invoke("--resume", path)
    assert done.exit_code == 0
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
    made, path = save_sweep(tmp_path, 700.0, repeats=2)
    left = unfinished(made, tmp_path, made.entries[1])
    again = []

    def resume(directory: Path) -> bool:
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
