"""Sweeps over power caps: what counts as a finished run, what one failure does, and what is shown
at the end."""

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from support.bundles import CAP_MW
from support.sweep_runs import Runs, bundles, invoke, planned, said, write_bundle

from harness.interrupts import Interrupted
from harness.power.cap_journal import BlockedError
from harness.power.cap_restore import RestoreError
from harness.power.source import MeterError, NotAllowedError
from harness.run import command
from harness.run import run_directory as rundir
from harness.run.plan import PlanError, RunRequest
from harness.run.session import RunFailed
from harness.sweep import finished as sweep_finished
from harness.sweep import plan as sweep_plan
from harness.sweep import run as sweep
from harness.sweep.plan import Entry, Sweep
from rules.bundle_format import write as bundle
from rules.contract import RequestSet


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    fake = Runs()
    monkeypatch.setattr(command, "run", fake)
    yield fake


def test_runs_are_made_in_the_order_of_the_plan_and_say_so(
    tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, 300.0, 500.0, 700.0)
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
        }
        for place in (1, 2, 3)
    ]
    assert path.read_bytes() == before
    told = " ".join(capsys.readouterr().out.split())
    assert (
        f"run 1 of 3: {made.entries[0]}; 0 done, 0 failed run 2 of 3: {made.entries[1]}; 1 "
        "done, 0 failed, about" in told
    )
    assert "2 GPUs: most efficient at 300 W" in told and "against the default cap of 700 W" in told


def test_one_run_that_fails_does_not_end_the_sweep(
    tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, 300.0, 500.0, 700.0, repeats=2)
    failures = (
        RunFailed("the [workers] ended"),
        MeterError("no cap"),
        PlanError("x"),
        OSError("the disk is full"),
    )
    runs.ends = dict(zip((1, 3, 4, 6), failures, strict=True))
    assert not sweep.carry_out(made, path)
    assert runs.places == [1, 2, 3, 4, 5, 6] and len(bundles(tmp_path)) == 2
    told = " ".join(capsys.readouterr().out.split())
    assert "run 1 failed: the [workers] ended" in told
    assert f"failed: {tmp_path}: the disk is full" in told and "2 done, 3 failed" in told


def test_run_whose_bundle_does_not_pass_is_a_failed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, path = planned(tmp_path, 700.0)

    def run(run_request: RunRequest, out: Path) -> bool:
        write_bundle(run_request, out, workload="no-such")
        return False

    monkeypatch.setattr(command, "run", run)
    assert not sweep.carry_out(made, path)


@pytest.mark.parametrize(
    "refused", [NotAllowedError("root only"), BlockedError("another run lives")]
)
def test_sweep_stops_where_no_run_can_start(
    tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture, refused: MeterError
) -> None:
    made, path = planned(tmp_path, 300.0, 500.0, 700.0)
    runs.ends = {2: refused}
    with pytest.raises(type(refused)):
        sweep.carry_out(made, path)
    assert runs.places == [1, 2]
    told = capsys.readouterr()
    assert f"the sweep is not finished; go on with: bench-submit sweep --resume {path}" in " ".join(
        told.err.split()
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
    tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, 300.0, 700.0)
    runs.then = {1: MeterError("the meter is gone"), 2: OSError(28, "No space left on device")}
    assert sweep.carry_out(made, path)
    told = " ".join(capsys.readouterr().out.split())
    assert runs.places == [1, 2] and "run 1 is finished, but: the meter is gone" in told
    assert f"run 2 is finished, but: {tmp_path}: [Errno 28] No space left on device" in told


def test_sweep_stops_where_a_cap_was_not_put_back(tmp_path: Path, runs: Runs) -> None:
    _, path = planned(tmp_path, 300.0, 500.0, 700.0)
    runs.then = {2: RestoreError("still at 300 W")}
    done = invoke("--resume", path)
    assert done.exit_code == 1 and runs.places == [1, 2] and len(bundles(tmp_path)) == 2
    assert "run 2 is finished, but: still at 300 W" in said(done) and "failed: still" not in said(
        done
    )
    assert "do so with: bench-submit restore, then go on with: bench-submit sweep --resume" in said(
        done
    )
    assert "run-002-2" in said(done) and "not run" in said(done)
    runs.then = {}
    assert invoke("--resume", path).exit_code == 0 and runs.places == [1, 2, 3]


def test_sweep_that_was_interrupted_goes_on_where_it_was(tmp_path: Path, runs: Runs) -> None:
    made, path = planned(tmp_path, 300.0, 500.0, 700.0)
    runs.ends = {2: Interrupted("SIGTERM", 15)}
    with pytest.raises(Interrupted):
        sweep.carry_out(made, path)
    kept, runs.ends = bundles(tmp_path), {}
    done = invoke("--resume", path)
    assert done.exit_code == 0 and "1 of 3 runs finished so far" in said(done)
    assert runs.places == [1, 2, 2, 3]
    assert kept.items() < bundles(tmp_path).items() and len(bundles(tmp_path)) == 3


def test_interrupted_sweep_exits_as_the_signal_has_it(tmp_path: Path, runs: Runs) -> None:
    _, path = planned(tmp_path, 700.0)
    runs.ends = {1: Interrupted("SIGTERM", 15)}
    done = invoke("--resume", path)
    assert done.exit_code == 128 + 15 and f"bench-submit sweep --resume {path}" in done.output


def test_failed_run_is_made_again(tmp_path: Path, runs: Runs) -> None:
    made, path = planned(tmp_path, 300.0, 700.0)
    runs.ends = {1: RunFailed("once")}
    assert not sweep.carry_out(made, path)
    runs.ends = {}
    assert invoke("--resume", path).exit_code == 0
    assert runs.places == [1, 2, 1]


# What counts as finished


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
    tmp_path: Path, runs: Runs, spoil: Callable[[Path], None]
) -> None:
    made, path = planned(tmp_path, 700.0, repeats=2)
    assert sweep.carry_out(made, path)
    spoil(tmp_path / "run-001-1")
    done = invoke("--resume", path)
    assert done.exit_code == 0 and "1 of 2 runs finished so far" in said(done)
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
            "its accelerators is 1, planned was 2",
        ),
        ("result.json", lambda r: r["sampling"].update(meter="amd"), "its meter is amd"),
        ("result.json", lambda r: r["settings"].update(seed=2), "its seed is 2, planned was 1"),
        (
            "result.json",
            lambda r: r["settings"].update(batch_size=64),
            "its batch_size is 64, planned was 1024",
        ),
        (
            "result.json",
            lambda r: r["settings"].update(epoch_target_s=40.0),
            "its epoch_target_s is 40.0, planned was 30.5",
        ),
        (
            "result.json",
            lambda r: r["settings"].update(options={"a": "b"}),
            "its options is {'a': 'b'}, planned was {}",
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
    runs: Runs,
    file: str,
    change: Callable[[dict], None],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, path = planned(tmp_path, 700.0)
    assert sweep.carry_out(made, path)
    reseal(tmp_path / "run-001-1", file, change)
    # a bundle can pass the check and yet be none of this sweep's
    monkeypatch.setattr(
        sweep_finished, "judge", lambda path, signed: type("Verdict", (), {"findings": ()})
    )
    done = invoke("--resume", path)
    assert says in said(done) and "does not count as run 1" in said(done)
    assert runs.places == [1, 1]


def test_bundle_at_another_cap_or_of_another_sweep_does_not_count(
    tmp_path: Path, runs: Runs
) -> None:
    made, path = planned(tmp_path, 500.0)
    run_request = made.run_request_of(made.entries[0])
    write_bundle(replace(run_request, cap_w=700.0), tmp_path, "run-at-700")
    write_bundle(
        replace(run_request, sweep={**run_request.sweep, "id": "another"}),
        tmp_path,
        "run-of-another",
    )
    done = invoke("--resume", path)
    assert "run-at-700: its cap_w is 700.0, planned was 500.0" in said(
        done
    ) and "of-another" not in said(done)
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
            "its implementation's precision is tf32, that of run-001-1 is",
        ),
    ],
)
def test_bundle_that_differs_from_the_others_does_not_count(
    tmp_path: Path,
    runs: Runs,
    change: Callable[[dict], None],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, path = planned(tmp_path, 700.0, repeats=3)
    assert sweep.carry_out(made, path)
    reseal(tmp_path / "run-002-2", "result.json", change)
    monkeypatch.setattr(
        sweep_finished, "judge", lambda path, signed: type("Verdict", (), {"findings": ()})
    )
    done = invoke("--resume", path)
    assert done.exit_code == 0 and says in said(done) and "does not count as run 2" in said(done)
    assert runs.places == [1, 2, 3, 2]


def test_what_lies_there_and_is_not_needed_is_named_and_left(tmp_path: Path, runs: Runs) -> None:
    made, path = planned(tmp_path, 700.0, repeats=2)
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
    with rundir.held(held):
        done = invoke("--resume", path)
    assert done.exit_code == 0
    named = [
        line.partition(": ")[2]
        for line in done.output.splitlines()
        if line.startswith("not needed by this sweep")
    ]
    assert named == [
        f"{tmp_path / 'run-001-1'} (run 1 was made again)",
        f"{again} (run 2 was made again)",
        f"{without} (an unfinished run without a plan that can be read)",
    ]
    assert all(one.is_dir() for one in (tmp_path / "run-001-1", again, without, held, others))


def test_code_that_changed_since_the_plan_is_not_mixed_in(
    tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = planned(tmp_path, 700.0)
    monkeypatch.setattr(sweep_plan, "source_hash", lambda: "3" * 64)
    done = invoke("--resume", path)
    assert (
        done.exit_code == 2
        and "the code that runs has changed since" in said(done)
        and not runs.run_requests
    )


def unfinished(made: Sweep, tmp_path: Path, entry: Entry, name: str = ".a-run.running") -> Path:
    """The directory of a run that did not come to its end."""
    directory = tmp_path / name
    directory.mkdir()
    run_request = replace(made.run_request_of(entry), simulate="h200", smoke=True, cap_w=None)
    command.plan_for(run_request).save(directory)
    return directory


def test_unfinished_run_is_run_again_in_its_directory(
    tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, path = planned(tmp_path, 700.0, repeats=2)
    left = unfinished(made, tmp_path, made.entries[1])
    again = []

    def resume(directory: Path) -> bool:
        again.append(directory)
        write_bundle(made.run_request_of(made.entries[1]), tmp_path, attempt=2)
        return True

    monkeypatch.setattr(command, "resume", resume)
    assert sweep.carry_out(made, path)
    assert again == [left] and runs.places == [1]


def test_unfinished_run_that_cannot_be_run_again_is_started_anew(
    tmp_path: Path, runs: Runs
) -> None:
    made, path = planned(tmp_path, 700.0)
    unfinished(made, tmp_path, made.entries[0])  # without a state
    done = invoke("--resume", path)
    assert (
        done.exit_code == 0
        and "no state of a run there" in said(done)
        and "run 1 is started anew" in said(done)
    )
    assert runs.places == [1]


def test_two_processes_do_not_work_on_one_sweep(tmp_path: Path, runs: Runs) -> None:
    _, path = planned(tmp_path, 700.0)
    with sweep._held(path):
        done = invoke("--resume", path)
    assert (
        done.exit_code == 2
        and "another process is working on this sweep" in said(done)
        and not runs.run_requests
    )


# What is shown at the end


def test_cap_that_was_not_enforced_is_in_parentheses_and_no_peak(
    tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, 300.0, 500.0, 700.0, repeats=2)
    assert sweep.carry_out(made, path)
    capsys.readouterr()
    outcomes = sweep.finished(made, tmp_path, made.entries)
    for entry in made.entries:
        if entry.cap_w == 300 and entry.repeat == 1:
            outcomes[entry.place]["observed"][0]["cap_enforced"] = False
    sweep.sweep_table.show(made, outcomes, frozenset())
    told = capsys.readouterr().out
    lines = [line.split() for line in told.splitlines()]
    of_runs = lines[
        : next(i for i, line in enumerate(lines) if line[:2] in (["2", "GPUs:"], ["over", "the"]))
    ]
    assert [line[:3] for line in of_runs if line[:1] == ["2"]] == [
        ["2", cap, repeat]
        for cap, repeat in (
            ("(300)", "1"),
            ("300", "2"),
            ("500", "1"),
            ("500", "2"),
            ("700", "1"),
            ("700", "2"),
        )
    ]
    assert "most efficient at 500 W" in told and ["(300)", "2"] in [line[:2] for line in lines]
    default = next(line for line in lines if line[:2] == ["700", "2"])
    assert default[3:] == ["0.0", "0.0", "0.0"]
    assert lines[-1] == ["(cap):", "not", "enforced"] and ["2", "(300)", "2"] in [
        line[:3] for line in lines
    ]


def test_repeats_have_a_mean_and_a_spread(
    tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, None, repeats=3)
    assert sweep.carry_out(made, path)
    outcomes = sweep.finished(made, tmp_path, made.entries)
    for place, outcome in outcomes.items():
        for name, mean in (
            ("items_per_s", 1000),
            ("mean_power_w_per_accelerator", 600),
            ("joules_per_item", 2),
        ):
            outcome["headline"][name]["mean"] = mean * (1 + (place - 2) / 10)
    capsys.readouterr()
    sweep.sweep_table.show(made, outcomes, frozenset())
    *_, title, head, row = capsys.readouterr().out.splitlines()
    assert title == "over the repeats, mean and standard deviation:"
    assert head.split() == [
        "GPUs",
        "cap,",
        "W",
        "runs",
        "images/s",
        "sd",
        "W",
        "per",
        "GPU",
        "sd",
        "J/image",
        "sd",
    ]
    assert row.split() == ["2", "700", "3", "1000", "100", "600", "60", "2", "0.2"]
    outcomes[1]["headline"]["joules_per_item"] = None
    sweep.sweep_table.show(made, outcomes, frozenset())
    assert capsys.readouterr().out.splitlines()[-1].split() == [
        "2",
        "700",
        "3",
        "1000",
        "100",
        "600",
        "60",
    ]
    del outcomes[1], outcomes[2]
    sweep.sweep_table.show(made, outcomes, frozenset())
    assert "over the repeats" not in capsys.readouterr().out


def test_cap_that_changes_nothing_is_in_parentheses_and_no_peak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, 680.0, 700.0)
    monkeypatch.setattr(
        command, "run", lambda run_request, out: write_bundle(run_request, out, power_at_mw=CAP_MW)
    )
    assert sweep.carry_out(made, path)
    told = capsys.readouterr().out
    assert ["2", "(680)", "1"] in [line.split()[:3] for line in told.splitlines()]
    assert "no efficiency peak: no other cap than 700 W is known to have held" in told


def test_sweep_without_the_default_cap_says_that_nothing_is_compared_with_it(
    tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, 300.0, 500.0)
    assert sweep.carry_out(made, path)
    told = " ".join(capsys.readouterr().out.split())
    assert "the edge of the sweep" in told and "no run at the default cap of 700 W" in told


def test_run_without_figures_does_not_keep_the_tables_from_being_shown(
    tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, 700.0)
    assert sweep.carry_out(made, path)
    outcomes = sweep.finished(made, tmp_path, made.entries)
    outcomes[1]["headline"]["joules_per_item"] = None
    capsys.readouterr()
    sweep.sweep_table.show(made, outcomes, frozenset())
    told = " ".join(capsys.readouterr().out.split())
    assert "run-001-1" in told and "no cap or no energy" in told


def test_several_gpus_are_compared_with_one_at_the_same_cap(
    tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, 500.0, 700.0)
    assert sweep.carry_out(made, path)
    of_two = sweep.finished(made, tmp_path, made.entries)
    entries, outcomes = list(made.entries), dict(of_two)
    for (
        entry
    ) in made.entries:  # on one: 0.6 of the throughput, half as much energy again for an item
        if entry.cap_w == 700:
            one = copy.deepcopy(of_two[entry.place])
            one["headline"]["items_per_s"]["mean"] *= 0.6
            one["headline"]["joules_per_item"]["mean"] *= 1.5
            entries.append(replace(entry, place=entry.place + 2, gpus=1))
            outcomes[entry.place + 2] = one
    capsys.readouterr()
    sweep.sweep_table.show(replace(made, entries=tuple(entries)), outcomes, frozenset())
    *_, title, head, row = capsys.readouterr().out.splitlines()
    assert title == "several GPUs against one at the same cap:"
    assert head.split("  ") == [
        "cap, W",
        "GPUs",
        "speed-up",
        "efficiency, %",
        "energy per item, ratio",
    ]
    assert row.split() == ["700", "2", "1.67", "83.3", "0.667"]
    disobeyed = frozenset({outcomes[entries[-1].place]["run_id"]})
    sweep.sweep_table.show(replace(made, entries=tuple(entries)), outcomes, disobeyed)
    *_, row, legend = capsys.readouterr().out.splitlines()
    assert row.split()[0] == "(700)" and legend == "(cap): not enforced"
    sweep.sweep_table.show(made, of_two, frozenset())
    assert "speed-up" not in capsys.readouterr().out


def test_length_of_a_sweep_is_told_as_a_guess() -> None:
    assert [sweep.minutes(s) for s in (1, 44, 100, 7199, 7260)] == [
        "about 10 s",
        "about 40 s",
        "about 2 min",
        "about 2 h 0 min",
        "about 2 h 1 min",
    ]
