"""Sweeps over power caps: the plan, what counts as a finished run, what one failure does, and the script for Slurm."""

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result
from conftest import fresh_evidence
from good import CAP_MW, UUIDS, rederive

from harness import bundle, caps, command, sweep, sweep_plan
from harness.cli import main
from harness.meters import MeterError, NotAllowedError
from harness.plan import PlanError, Wish
from harness.rundir import Interrupted
from harness.session import RunFailed
from harness.sweep_plan import Entry, Sweep, parse_caps, parse_gpus, plan_of, shuffled
from harness.system import source_hash
from rules.sweeps import Point

WISH = Wish("resnet50-train", gpus=2)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["sweep", *map(str, arguments)])


def said(result: Result) -> str:
    return " ".join(result.output.split())


def write_bundle(wish: Wish, out: Path, name: str | None = None, power_at_mw: int | None = None, **changes: object) -> Path:
    """A good bundle of two accelerators at the cap of a wish, as a run of the sweep would leave it, or with the power that it
    would have at another cap.
    """
    evidence = fresh_evidence()
    result, samples = evidence.result, evidence.samples
    cap_mw = CAP_MW if wish.cap_w is None else round(1e3 * wish.cap_w)
    for column in ("power_mw", "power_avg_mw", "energy_mj"):
        samples[column] = (samples[column] * (power_at_mw or cap_mw) / CAP_MW).round()
    samples["cap_mw"] = float(cap_mw)
    for readback in result["readbacks"]:
        readback.update(requested_mw=cap_mw, enforced_mw=cap_mw)
    result["power"]["cap_w"] = cap_mw / 1e3
    if cap_mw != CAP_MW:
        result["power"].update(mode="set", found_mw=dict.fromkeys(UUIDS, CAP_MW))
    rederive(evidence)
    place = wish.sweep["place"] if wish.sweep else 0
    result.update(run_id=name or f"run-{place:03d}-{len(list(out.iterdir()))}", sweep=wish.sweep, **changes)
    evidence.environment["source_sha256"] = source_hash()
    bundle.write(evidence, out / result["run_id"])
    return out / result["run_id"]


class Runs:
    """Stands in for `command.run`: leaves a bundle, or ends as `ends` says for a place."""

    def __init__(self) -> None:
        self.ends: dict[int, BaseException] = {}
        self.wishes: list[Wish] = []

    def __call__(self, wish: Wish, out: Path) -> bool:
        self.wishes.append(wish)
        if wish.sweep["place"] in self.ends:
            raise self.ends[wish.sweep["place"]]
        write_bundle(wish, out)
        return True

    @property
    def places(self) -> list[int]:
        return [wish.sweep["place"] for wish in self.wishes]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    fake = Runs()
    monkeypatch.setattr(command, "run", fake)
    yield fake


def planned(tmp_path: Path, *caps_w: float | None, repeats: int = 1) -> tuple[Sweep, Path]:
    """A sweep of two accelerators, and its plan file in `tmp_path`."""
    made = plan_of(WISH, shuffled(caps_w, (2,), repeats, seed=1))
    return made, made.save(tmp_path)


def bundles(root: Path) -> dict[str, bytes]:
    """The manifest of each bundle, by the bundle's name."""
    return {p.parent.name: p.read_bytes() for p in root.glob("*/MANIFEST.json")}


# What is asked for


@pytest.mark.parametrize(
    ("text", "caps_w"),
    [
        ("200:700:100", (200, 300, 400, 500, 600, 700)),
        ("200:750:100", (200, 300, 400, 500, 600, 700)),
        ("300:300:50", (300,)),
        ("400,200", (400, 200)),
        ("200:201:0.5", (200, 200.5, 201)),
        ("as-found", (None,)),
    ],
)
def test_caps_are_a_range_with_both_ends_or_a_list(text: str, caps_w: tuple[float | None, ...]) -> None:
    assert parse_caps(text) == caps_w


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "give watts as 200:700:100"),
        ("many", "give watts as"),
        ("200:700", "give watts as"),
        ("nan", "give watts as"),
        ("nan:1:1", "give watts as"),
        ("1:1e999:1e-999", "give watts as"),
        ("200:700:0", "B is not below A and STEP is above zero"),
        ("200:700:-100", "B is not below A and STEP is above zero"),
        ("700:200:100", "B is not below A and STEP is above zero"),
        ("1:101:1", "more than 100 caps"),
        ("0,200", "no accelerator has a cap of 0 W"),
        ("-1", "no accelerator has a cap of -1 W"),
        ("inf", "give watts as"),
        ("1e9", "no accelerator has a cap of 1E\\+9 W"),
        ("200,as-found", "give watts as"),
        ("200,300,200.0", "named twice; --repeat N"),
    ],
)
def test_caps_that_make_no_sense_are_refused(text: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        parse_caps(text)


@pytest.mark.parametrize("text", ["", "0", "1,1", "1,", "-1", "two", "1.5", "٣", "9" * 5000])
def test_numbers_of_accelerators_that_make_no_sense_are_refused(text: str) -> None:
    assert parse_gpus("1,2,4") == (1, 2, 4)
    with pytest.raises(PlanError, match="give numbers of accelerators, each once"):
        parse_gpus(text)


def test_every_repeat_has_every_run_once_in_an_order_of_its_own() -> None:
    caps_w, gpus = (200.0, 300.0, 400.0, 500.0, 600.0, 700.0), (1, 2)
    entries = shuffled(caps_w, gpus, 3, seed=7)
    assert [e.place for e in entries] == list(range(1, 37))
    orders = [[(e.gpus, e.cap_w) for e in entries if e.repeat == repeat] for repeat in (1, 2, 3)]
    assert all(sorted(order) == sorted((g, c) for g in gpus for c in caps_w) for order in orders)
    assert [e.repeat for e in entries] == sorted(e.repeat for e in entries)
    assert all(one != other for one, other in pairwise([*orders, orders[0]]))
    assert shuffled(caps_w, gpus, 3, seed=7) == entries != shuffled(caps_w, gpus, 3, seed=8)


def test_order_does_not_line_up_with_the_cap() -> None:
    caps_w = tuple(range(200, 800, 100))
    firsts = {shuffled(caps_w, (1,), 1, seed)[0].cap_w for seed in range(100)}
    assert firsts == set(caps_w)


# The plan


def test_plan_comes_back_from_its_file_with_its_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wish = replace(WISH, system=Path("my system.toml"), options=("a=b",), seed=3, epoch_s=2.5)
    made = plan_of(wish, shuffled((200.0, 300.0), (1, 2), 2, seed=3))
    path = made.save(tmp_path / "out")
    assert path.name == f"{made.id}.sweep.json"
    assert Sweep.load(path) == made
    assert Sweep.load(path).wish.system == tmp_path / "my system.toml"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"format": "wattmark-sweep/2"}', "its format is not wattmark-sweep/1"),
        ('{"format": "wattmark-sweep/1", "wish": {}}', "cannot be read"),
        ('{"format": "wattmark-sweep/1", "wish": 1}', "cannot be read"),
    ],
)
def test_plan_that_is_damaged_is_told(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "x.sweep.json"
    path.write_text(text)
    done = invoke("--resume", path)
    assert done.exit_code == 2 and says in said(done) and "x.sweep.json" in said(done)


def test_dry_run_shows_the_plan_and_leaves_nothing(tmp_path: Path) -> None:
    done = invoke("resnet50-train", "--simulate", "h200", "--caps", "300,700", "--gpus", "1,2", "--repeat", 2,
                  "--dry-run", "-o", tmp_path / "out")  # fmt: skip
    assert done.exit_code == 0
    for line in (
        "8 runs, random within each repeat (seed 1)",
        "300 W, 2 GPUs, repeat 2",
        "of its 11 epochs of 1.5 s the first is discarded",
        "expected time: about 4 min, assuming 10 s a run to build",
        "changed meanwhile: the power cap of SIM-H200-0, SIM-H200-1, set for each run and put back to what was found",
        "nothing speaks against it",
    ):
        assert line in said(done)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("board", "caps_w"), [("h200", 6), ("mi300x", 7)])
def test_default_caps_are_those_of_the_protocol_that_the_board_allows(tmp_path: Path, board: str, caps_w: int) -> None:
    done = invoke("resnet50-train", "--simulate", board, "--dry-run", "-o", tmp_path)
    assert f"{caps_w} runs" in said(done) and "200 W, 1 GPU" in said(done)
    assert ("750 W, 1 GPU" in said(done)) == (board == "mi300x")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--caps", "100,300,800"], "100, 800 W cannot be set on SIM-H200-0, which allows 200 to 700 W"),
        (["--caps", "200:700"], "give watts as 200:700:100"),
        (["--gpus", "1,9"], "the meter sees 8 accelerator"),
        (["--gpus", "0"], "--gpus 0: give numbers of accelerators"),
        (["--batch", "auto"], "the runs of a sweep need one batch; find it with bench-submit run"),
        (["--nodes", "2"], "a sweep over several nodes is a batch script; add --slurm"),
        (["--variant", "fast"], "has no variant 'fast'"),
        (["--implementation", "no.such:build"], "there is no module no.such"),
        (["--resume", "x.sweep.json"], "--resume takes the plan of the sweep as it is; leave out workload, --simulate, --out"),
    ],
)
def test_sweep_that_cannot_be_is_refused_before_anything_runs(
    tmp_path: Path, runs: Runs, arguments: list[str], says: str
) -> None:
    done = invoke("resnet50-train", "--simulate", "h200", "-o", tmp_path / "out", *arguments)
    assert done.exit_code == 2
    assert says in said(done)
    assert not list(tmp_path.iterdir()) and not runs.wishes


def test_sweep_without_a_workload_or_a_plan_is_refused(tmp_path: Path) -> None:
    assert "name a workload" in said(invoke()) and "there is no such file" in said(invoke("--resume", tmp_path / "none"))


def test_without_the_right_to_set_caps_nothing_runs(tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caps, "refusal", lambda meter: "setting a cap takes root")
    asked = ["resnet50-train", "--simulate", "h200", "-o", tmp_path / "out"]
    done = invoke(*asked, "--caps", "300,700")
    assert done.exit_code == 2 and "setting a cap takes root; --caps as-found needs no such right" in said(done)
    assert not list(tmp_path.iterdir()) and not runs.wishes
    shown = invoke(*asked, "--caps", "300,700", "--dry-run")
    assert shown.exit_code == 0 and "setting a cap takes root" in said(shown)
    for needs_none in ("700", "as-found"):
        assert "nothing speaks against it" in said(invoke(*asked, "--caps", needs_none, "--dry-run"))


# Carrying it out


def test_runs_are_made_in_the_order_of_the_plan_and_say_so(tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture) -> None:
    made, path = planned(tmp_path, 300.0, 500.0, 700.0)
    before = path.read_bytes()
    assert sweep.carry_out(made, path)
    assert [w.cap_w for w in runs.wishes] == [e.cap_w for e in made.entries]
    assert [w.sweep for w in runs.wishes] == [
        {"id": made.id, "place": place, "of": 3, "repeat": 1, "order": "random within each repeat", "seed": 1}
        for place in (1, 2, 3)
    ]
    assert path.read_bytes() == before
    told = " ".join(capsys.readouterr().out.split())
    assert f"run 1 of 3: {made.entries[0]}; 0 done, 0 failed run 2 of 3: {made.entries[1]}; 1 done, 0 failed, about" in told
    assert "2 GPUs: efficiency peak" in told and "against the default cap of 700 W" in told


def test_one_run_that_fails_does_not_end_the_sweep(tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture) -> None:
    made, path = planned(tmp_path, 300.0, 500.0, 700.0, repeats=2)
    failures = (RunFailed("the [workers] ended"), MeterError("no cap"), PlanError("x"), OSError("the disk is full"))
    runs.ends = dict(zip((1, 3, 4, 6), failures, strict=True))
    assert not sweep.carry_out(made, path)
    assert runs.places == [1, 2, 3, 4, 5, 6] and len(bundles(tmp_path)) == 2
    told = " ".join(capsys.readouterr().out.split())
    assert "run 1 failed: the [workers] ended" in told and "failed: the disk is full" in told and "2 done, 3 failed" in told


def test_run_whose_bundle_does_not_pass_is_a_failed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, path = planned(tmp_path, 700.0)

    def run(wish: Wish, out: Path) -> bool:
        write_bundle(wish, out, workload="no-such")
        return False

    monkeypatch.setattr(command, "run", run)
    assert not sweep.carry_out(made, path)


def test_sweep_stops_where_no_cap_may_be_set(tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture) -> None:
    made, path = planned(tmp_path, 300.0, 500.0, 700.0)
    runs.ends = {2: NotAllowedError("root only")}
    with pytest.raises(NotAllowedError):
        sweep.carry_out(made, path)
    assert runs.places == [1, 2]
    assert f"go on with: bench-submit sweep --resume {path}" in " ".join(capsys.readouterr().err.split())


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
def test_bundle_is_verified_and_not_trusted_by_its_name(tmp_path: Path, runs: Runs, spoil: Callable[[Path], None]) -> None:
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
        ("environment.json", lambda e: e.update(source_sha256="1" * 64), "its source_sha256 is 1111"),
        ("result.json", lambda r: r["sweep"].update(repeat=2), "its sweep is"),
        ("result.json", lambda r: r["sweep"].update(seed=2), "its sweep is"),
        ("result.json", lambda r: r["implementation"].update(sha256="2" * 64), "its implementation's sha256 is 2222"),
        ("result.json", lambda r: r["implementation"].update(variant="baseline"), "its variant is baseline"),
    ],
)
def test_bundle_of_another_run_than_planned_does_not_count(
    tmp_path: Path, runs: Runs, file: str, change: Callable[[dict], None], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, path = planned(tmp_path, 700.0)
    assert sweep.carry_out(made, path)
    reseal(tmp_path / "run-001-1", file, change)
    # a bundle can pass the check and yet be none of this sweep's
    monkeypatch.setattr(sweep, "judge", lambda path, signed: type("Verdict", (), {"findings": ()}))
    done = invoke("--resume", path)
    assert says in said(done) and "does not count as run 1" in said(done)
    assert runs.places == [1, 1]


def test_bundle_at_another_cap_or_of_another_sweep_does_not_count(tmp_path: Path, runs: Runs) -> None:
    made, path = planned(tmp_path, 500.0)
    wish = made.wish_of(made.entries[0])
    write_bundle(replace(wish, cap_w=700.0), tmp_path, "run-at-700")
    write_bundle(replace(wish, sweep={**wish.sweep, "id": "another"}), tmp_path, "run-of-another")
    done = invoke("--resume", path)
    assert "run-at-700: its cap_w is 700.0, planned was 500.0" in said(done) and "of-another" not in said(done)
    assert runs.places == [1]


def test_code_that_changed_since_the_plan_is_not_mixed_in(tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    _, path = planned(tmp_path, 700.0)
    monkeypatch.setattr(sweep_plan, "source_hash", lambda: "3" * 64)
    done = invoke("--resume", path)
    assert done.exit_code == 2 and "the code that runs has changed since" in said(done) and not runs.wishes


def unfinished(made: Sweep, tmp_path: Path, entry: Entry) -> Path:
    """The directory of a run that did not come to its end."""
    directory = tmp_path / ".a-run.running"
    directory.mkdir()
    wish = replace(made.wish_of(entry), simulate="h200", smoke=True, cap_w=None)
    command.plan_for(wish).save(directory)
    return directory


def test_unfinished_run_is_run_again_in_its_directory(tmp_path: Path, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    made, path = planned(tmp_path, 700.0, repeats=2)
    left = unfinished(made, tmp_path, made.entries[1])
    again = []

    def resume(directory: Path) -> bool:
        again.append(directory)
        write_bundle(made.wish_of(made.entries[1]), tmp_path, attempt=2)
        return True

    monkeypatch.setattr(command, "resume", resume)
    assert sweep.carry_out(made, path)
    assert again == [left] and runs.places == [1]


def test_unfinished_run_that_cannot_be_run_again_is_started_anew(tmp_path: Path, runs: Runs) -> None:
    made, path = planned(tmp_path, 700.0)
    unfinished(made, tmp_path, made.entries[0])  # without a state
    done = invoke("--resume", path)
    assert done.exit_code == 0 and "no state of a run there" in said(done) and "run 1 is started anew" in said(done)
    assert runs.places == [1]


def test_two_processes_do_not_work_on_one_sweep(tmp_path: Path, runs: Runs) -> None:
    _, path = planned(tmp_path, 700.0)
    with sweep._held(path):
        done = invoke("--resume", path)
    assert done.exit_code == 2 and "another process is working on this sweep" in said(done) and not runs.wishes


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
    assert [line[:3] for line in lines if line[:1] == ["2"] and not line[1].startswith("GPUs")] == [
        ["2", cap, repeat] for cap, repeat in
        (("(300)", "1"), ("300", "2"), ("500", "1"), ("500", "2"), ("700", "1"), ("700", "2"))
    ]  # fmt: skip
    assert "images/J at 500 W" in told and ["(300)", "2"] in [line[:2] for line in lines]
    default = next(line for line in lines if line[:2] == ["700", "2"])
    assert default[3:] == ["0.0", "0.0", "0.0"]


def test_cap_that_changes_nothing_is_in_parentheses_and_no_peak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, 680.0, 700.0)
    monkeypatch.setattr(command, "run", lambda wish, out: write_bundle(wish, out, power_at_mw=CAP_MW))
    assert sweep.carry_out(made, path)
    told = capsys.readouterr().out
    assert ["2", "(680)", "1"] in [line.split()[:3] for line in told.splitlines()]
    assert "images/J at 700 W" in told


def test_sweep_without_the_default_cap_says_that_nothing_is_compared_with_it(
    tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture
) -> None:
    made, path = planned(tmp_path, 300.0, 500.0)
    assert sweep.carry_out(made, path)
    told = " ".join(capsys.readouterr().out.split())
    assert "efficiency peak" in told and "no run at the default cap of 700 W" in told


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
    assert "run-001-1" in told and "no throughput or no energy" in told


def test_length_of_a_sweep_is_told_as_a_guess() -> None:
    assert [sweep.minutes(s) for s in (1, 44, 100, 7199, 7260)] == [
        "about 10 s", "about 40 s", "about 2 min", "about 2 h 0 min", "about 2 h 1 min",
    ]  # fmt: skip


def test_sweep_has_few_options_beside_those_of_run() -> None:
    of_run = {o for p in main.commands["run"].params for o in p.opts}
    assert sorted({o for p in main.commands["sweep"].params for o in p.opts} - of_run) == [
        "--caps", "--dry-run", "--repeat", "--slurm",
    ]  # fmt: skip


# The script for Slurm


def script(tmp_path: Path, *arguments: object) -> Path:
    done = invoke("resnet50-train", "--slurm", *arguments)
    assert done.exit_code == 0, done.output
    path = tmp_path / "sweep.sbatch"
    path.write_text(done.output)
    return path


def commands_on_path(tmp_path: Path, **bodies: str) -> dict[str, str]:
    """An environment in which these commands are shell scripts."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, body in bodies.items():
        (folder / name.replace("_", "-")).write_text(f"#!/bin/bash\n{body}\n")
        (folder / name.replace("_", "-")).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(tmp_path / "calls")}


CALLED = r"""printf '%s\0' "$(basename "$0")" "$@" >>"$CALLS"; printf '\n' >>"$CALLS" """
# starts one process on each node, as srun with --ntasks-per-node=1 does, and drops its own options
SRUN = """while [[ $1 == -* ]]; do shift; done
for ((n = 0; n < SLURM_JOB_NUM_NODES; n++)); do SLURM_NODEID=$n "$@" || exit; done"""


def calls(tmp_path: Path) -> list[list[str]]:
    return [line.split("\0")[:-1] for line in (tmp_path / "calls").read_text().splitlines()]


@pytest.mark.parametrize("arguments", [[], ["--nodes", 3, "--gpus", "1,4"], ["--caps", "as-found", "--repeat", 5]])
def test_script_is_one_that_bash_can_read(tmp_path: Path, arguments: list[object]) -> None:
    path = script(tmp_path, *arguments)
    subprocess.run(["bash", "-n", path], check=True)
    assert "{{" not in path.read_text() and "{%" not in path.read_text()


@pytest.mark.parametrize("nodes", [1, 2])
def test_shellcheck_finds_nothing_in_the_script(tmp_path: Path, nodes: int) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("no shellcheck on the path")
    done = subprocess.run(["shellcheck", script(tmp_path, "--nodes", nodes)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


AWKWARD = ["--option", "note=it's $(touch pwned); `touch pwned`", "--out", "my results"]


@pytest.mark.parametrize("nodes", [1, 2])
def test_tasks_of_the_array_make_each_run_of_the_plan_once(tmp_path: Path, nodes: int) -> None:
    asked = ["--caps", "200:400:100", "--gpus", "1,2", "--repeat", 2, "--nodes", nodes, "--batch", 64, *AWKWARD]
    path = script(tmp_path, *asked)
    hosts = "".join(f"echo node-{letter}; " for letter in "abc"[:nodes])
    environment = commands_on_path(tmp_path, bench_submit=CALLED, srun=SRUN, scontrol=hosts)
    assert "#SBATCH --array=0-11\n" in path.read_text() and "#SBATCH --gpus-per-node=2\n" in path.read_text()
    for task in range(12):
        slurm_says = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_JOB_NODELIST": "node-[a-b]", "SLURM_JOB_NUM_NODES": str(nodes)}
        subprocess.run(["bash", path], env={**environment, **slurm_says}, check=True, cwd=tmp_path)
    meeting = [[], *([["--nodes", "2", "--head", "node-a:29400", "--node", str(node)] for node in (0, 1)])]
    expected = [
        ["bench-submit", "run", "resnet50-train", "--batch", "64", *AWKWARD,
         "--gpus", str(e.gpus), "--cap", f"{e.cap_w:g}", *meeting[node if nodes > 1 else 0]]
        for e in shuffled((200.0, 300.0, 400.0), (1, 2), 2, seed=1)
        for node in range(1, nodes + 1)
    ]  # fmt: skip
    assert calls(tmp_path) == expected
    assert not list(tmp_path.rglob("pwned"))


def test_script_run_by_hand_submits_a_job_with_a_comment_for_each_run(tmp_path: Path) -> None:
    path = script(tmp_path, "--caps", "200,300", "--repeat", 2)
    environment = commands_on_path(tmp_path, sbatch=CALLED)
    subprocess.run(["bash", path], env=environment, check=True)
    entries = shuffled((200.0, 300.0), (1,), 2, seed=1)
    assert calls(tmp_path) == [
        ["sbatch", f"--array={i}", f"--comment=wattmark-cap={e.cap_w:g}", str(path)] for i, e in enumerate(entries)
    ]


def test_script_of_caps_as_found_asks_for_none_to_be_set(tmp_path: Path) -> None:
    text = script(tmp_path, "--caps", "as-found").read_text()
    assert "caps=(as-found)" in text and "wattmark-cap" not in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["resnet50-train", "--slurm", "--caps", "700:200:100"], "B is not below A"),
        (["resnet51-train", "--slurm"], "there is no workload"),
        (["llama3-8b-serve", "--slurm", "--nodes", "2"], "is one server, on one node"),
        (["resnet50-train", "--slurm", "--batch", "auto"], "the runs of a sweep need one batch"),
    ],
)
def test_script_that_could_not_run_is_refused(arguments: list[str], says: str) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2 and says in said(done)


def test_every_option_of_the_runs_is_handed_to_them(tmp_path: Path) -> None:
    """What `sweep` shares with `run` ends up in the script, and it is an option of `run` with that meaning."""
    asked = ["--variant", "baseline", "--smoke", "--simulate", "h200", "--epoch-seconds", "2.5", "--seed", "4",
             "--system", "s.toml", "--implementation", "a.b:c", "--option", "x=1", "--option", "y=2", "--corpus", "c",
             "--weights", "w", "-o", "there"]  # fmt: skip
    text = script(tmp_path, *asked).read_text()
    (line,) = [one for one in text.splitlines() if one.startswith("run=(")]
    handed = shlex.split(line.removeprefix("run=(bench-submit run").removesuffix(")"))[:-4]
    run = main.commands["run"]
    with run.make_context("run", handed) as context:
        params = context.params
    assert (params["variant"], params["epoch_s"], params["seed"], params["options"]) == ("baseline", 2.5, 4, ("x=1", "y=2"))
    assert params["smoke"] and params["out"] == Path("there") and params["weights"] == Path("w")


# The page of simulated sweeps


@pytest.fixture
def script_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """scripts/simulated_sweep.py with its build directory in `tmp_path`."""
    path = Path(__file__).parents[1] / "scripts/simulated_sweep.py"
    spec = importlib.util.spec_from_file_location("simulated_sweep", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where its dataclass looks for it
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "BUILD", tmp_path)
    monkeypatch.setattr(module, "SUBMISSIONS", tmp_path / "submissions")
    return module


def test_page_of_simulated_sweeps_has_differences_peaks_and_marks(script_module: ModuleType) -> None:
    points = (Point(200.0, 110.0, 1.0, False), Point(300.0, 95.0, 2.0, True), Point(400.0, 100.0, 4.0, True))
    one = script_module.Swept(
        "H100", "resnet50-train", points, {200.0: 210, 300.0: 190, 400.0: 400}, {200.0: 100, 300.0: 100, 400.0: 100}, 300
    )
    text = "\n".join(script_module.page([one, replace(one, board="MI300X", stated_peak_w=None)]))
    assert "at most 10.0 %" in text and "1 of 1 stated efficiency peaks" in text and "6 runs" in text
    assert "| resnet50-train, images | (200) | 100 | 110 | +10.0 | 210 | 1 |" in text
    assert "| resnet50-train, images | 300 | 100 | 95 | -5.0 | 190 | 0.5 |" in text
    assert "| H100 | resnet50-train | 300 | 300 |" in text and "| MI300X | resnet50-train | not stated | 300 |" in text


def test_every_published_row_of_the_five_workloads_is_in_a_simulated_sweep(script_module: ModuleType) -> None:
    swept = list(script_module.read())
    assert len(swept) == 15 and sum(len(one.published) for one in swept) == 95
    assert sum(one.stated_peak_w is not None for one in swept) == 10


def test_simulated_sweep_that_has_a_plan_goes_on_with_it(
    script_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []

    def run(command: list[object], **_: object) -> subprocess.CompletedProcess:
        called.append([str(one) for one in command[1:]])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(script_module.subprocess, "run", run)
    out = tmp_path / "submissions/demo/h200/sd2-train"
    assert script_module.sweep("h200", "sd2-train") == 0
    out.mkdir(parents=True)
    (out / "x.sweep.json").touch()
    assert script_module.sweep("h200", "sd2-train") == 0
    assert called[0][:4] == ["sweep", "sd2-train", "--simulate", "h200"] and called[0][-2:] == ["--out", str(out)]
    assert called[1] == ["sweep", "--resume", str(out / "x.sweep.json")]
