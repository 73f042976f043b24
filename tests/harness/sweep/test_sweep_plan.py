"""The plan of a sweep: what may be asked for, what is refused, and what its file holds."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.sweep_runs import (
    RUN_REQUEST,
    FakeRuns,
    invoke,
    join_output,
    make_entries,
    make_test_sweep,
    save_sweep,
)

from harness.cli import main
from harness.errors import MeterError
from harness.power.caps.journal import (
    JOURNAL_FILE,
    SavedLimit,
    lock_directory,
    new_journal,
    state_directory,
)
from harness.power.sources import open_source
from harness.run import command, preflight
from harness.run.plan import RunRequest
from harness.simulation import server as simulator
from harness.sweep.plan import Sweep


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRuns]:
    fake = FakeRuns()
    monkeypatch.setattr(command, "run", fake)
    yield fake


def test_plan_comes_back_from_its_file_with_its_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my system.toml").write_text('site = "here"')
    Path("meters.toml").touch()
    run_request = replace(
        RUN_REQUEST,
        workload="llama3-8b-pretrain",
        system=Path("my system.toml"),
        meters=Path("meters.toml"),
        options=("checkpointing=block",),
        seed=3,
        epoch_s=2.5,
        export="textfile:run.prom",
    )
    made = make_test_sweep(run_request, make_entries((200.0, 300.0), (1, 2), 2, seed=3))
    path = made.save(tmp_path / "out")
    assert path.name == f"{made.id}.sweep.json"
    assert Sweep.load(path) == made
    assert Sweep.load(path).run_request.system == tmp_path / "my system.toml"
    assert Sweep.load(path).run_request.meters == tmp_path / "meters.toml"
    # A sweep may be resumed in another directory.
    assert Sweep.load(path).run_request.export == f"textfile:{tmp_path}/run.prom"


def test_plan_of_a_version_without_node_meters_is_read(tmp_path: Path) -> None:
    path = make_test_sweep(RUN_REQUEST, make_entries((200.0,), (1,), 1, seed=1)).save(tmp_path)
    document = json.loads(path.read_text())
    del document["wish"]["meters"]
    path.write_text(json.dumps(document))
    assert Sweep.load(path).run_request.meters is None
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ("[" * 100_000, "values nested too deeply"),
        ("\xff", "line 1 column 1"),
        (
            '{"format": "wattmark-sweep/2"}',
            "/format is 'wattmark-sweep/2', expected wattmark-sweep/1",
        ),
        ('{"format": "wattmark-sweep/1", "wish": {}}', "cannot be read"),
        ('{"format": "wattmark-sweep/1", "wish": 1}', "cannot be read"),
    ],
)
def test_plan_that_is_damaged_is_told(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "x.sweep.json"
    path.write_text(text)
    done = invoke("--resume", path)
    assert done.exit_code == 2 and says in join_output(done) and "x.sweep.json" in join_output(done)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("entries/0/cap_w", "400", "/entries/0/cap_w is '400'"),
        ("entries/0/cap_w", float("nan"), "NaN, which is not JSON"),
        ("entries/0/gpus", "x", "/entries/0/gpus is 'x'"),
        ("entries/0/gpus", 0, "/entries/0/gpus is 0, expected minimum 1"),
        ("entries/0/gpus", 2.0, "/entries/0/gpus is 2.0, expected type 'integer'"),
        ("entries/0/place", 2, "do not have the places 1 to 2, in this order"),
        ("entries", [], "/entries is []"),
        ("entries", None, "/entries is None"),
        ("wish/simulate", 3, "/wish/simulate is 3"),
        ("wish/seed", "x", "/wish/seed is 'x'"),
        ("wish/options", "a=b", "/wish/options is 'a=b'"),
        ("wish/gpu", 1, "expected no keys"),
        ("id", "../x", "/id is '../x'"),
    ],
)
def test_every_value_of_a_plan_is_of_its_type(
    tmp_path: Path, runs: FakeRuns, key: str, value: object, says: str
) -> None:
    _, path = save_sweep(tmp_path, 300.0, 700.0)
    stored = json.loads(path.read_text())
    *way, last = [int(part) if part.isdecimal() else part for part in key.split("/")]
    inner = stored
    for part in way:
        inner = inner[part]
    inner[last] = value
    path.write_text(json.dumps(stored))
    done = invoke("--resume", path)
    assert (
        done.exit_code == 2
        and says in join_output(done)
        and str(path) in join_output(done)
        and not runs.run_requests
    )


def test_plan_with_a_key_missing_is_told(tmp_path: Path) -> None:
    _, path = save_sweep(tmp_path, 300.0)
    stored = json.loads(path.read_text())
    del stored["wish"]["seed"]
    path.write_text(json.dumps(stored))
    assert "expected the keys ['seed'] as well" in join_output(invoke("--resume", path))


def test_file_that_changed_since_the_plan_is_not_mixed_in(tmp_path: Path, runs: FakeRuns) -> None:
    system = tmp_path / "system.toml"
    system.write_text('site = "here"')
    _, path = save_sweep(tmp_path / "out", 700.0, run_request=replace(RUN_REQUEST, system=system))
    system.write_text('site = "there"')
    done = invoke("--resume", path)
    assert (
        done.exit_code == 2
        and f"{system}: has changed since the sweep was planned" in join_output(done)
        and not runs.run_requests
    )
    system.write_text('site = "here"')
    assert invoke("--resume", path).exit_code == 0 and runs.places == [1]
    system.unlink()
    gone = invoke("--resume", path)
    assert gone.exit_code == 2 and f"--system {system}: the path does not exist" in join_output(
        gone
    )


def test_boards_at_different_caps_are_swept_but_not_as_found(
    tmp_path: Path, runs: FakeRuns
) -> None:
    asked = ["resnet50-train", "--simulate", "h200", "--gpus", 2, "--dry-run", "-o", tmp_path]
    with simulator.run_simulator("h200"), closing(open_source("simulated:h200")) as meter:
        meter.set_cap(meter.devices()[0].uuid, 400_000)
        assert invoke(*asked).exit_code == 0
        assert invoke(*asked, "--caps", "300,700").exit_code == 0
        done = invoke(*asked, "--caps", "as-found")
    assert done.exit_code == 2 and "different power caps" in join_output(done)


def test_dry_run_shows_the_plan_and_leaves_nothing(tmp_path: Path) -> None:
    done = invoke(
        "resnet50-train",
        "--simulate",
        "h200",
        "--caps",
        "300,700",
        "--gpus",
        "1,2",
        "--repeat",
        2,
        "--dry-run",
        "-o",
        tmp_path / "out",
    )
    assert done.exit_code == 0
    for line in (
        "8 runs, random within each repeat (seed 1)",
        "300 W, 2 GPUs, repeat 2",
        "of its 11 epochs of 1.5 s the first is discarded",
        "expected time: about 4 min, assuming 10 s per run to build",
        "changes during the sweep: the power cap of SIM-H200-0, SIM-H200-1, set before each run "
        "and restored after it",
        "the sweep can start",
    ):
        assert line in join_output(done)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--caps", "100,300,800"],
            "100, 800 W cannot be set on SIM-H200-0, which allows 200 to 700 W",
        ),
        (["--caps", "200:700"], "give caps in W as 200:700:100"),
        (["--gpus", "1,9"], "the meter sees 8 accelerator"),
        (
            ["--gpus", "0"],
            "--gpus 0: found 0; give numbers of accelerators as 1,2,4 or 1:8:x2, whole numbers",
        ),
        (
            ["--batch", "auto"],
            "--batch auto: find the batch size with bench-submit run, then give it as a number",
        ),
        (["--system", "no.toml"], "no.toml: cannot be read (No such file or directory)"),
        (["--nodes", "2"], "a sweep over several nodes is a batch script; add --slurm"),
        (["--variant", "fast"], "has no variant 'fast'"),
        (["--implementation", "no.such:build"], "there is no module no.such"),
        (
            ["--resume", "x.sweep.json"],
            "--resume takes the plan of the sweep as it is; leave out workload, --simulate, --out",
        ),
    ],
)
def test_sweep_that_cannot_be_is_refused_before_anything_runs(
    tmp_path: Path, runs: FakeRuns, arguments: list[str], says: str
) -> None:
    done = invoke("resnet50-train", "--simulate", "h200", "-o", tmp_path / "out", *arguments)
    assert done.exit_code == 2
    assert says in join_output(done)
    assert not list(tmp_path.iterdir()) and not runs.run_requests


def test_sweep_without_a_workload_or_a_plan_is_refused(tmp_path: Path) -> None:
    assert "name a workload" in join_output(invoke()) and "the file does not exist" in join_output(
        invoke("--resume", tmp_path / "none")
    )


def test_without_the_right_to_set_caps_nothing_runs(
    tmp_path: Path, runs: FakeRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "explain_refusal", lambda *_: "setting a cap takes root")
    asked = ["resnet50-train", "--simulate", "h200", "-o", tmp_path / "out"]
    done = invoke(*asked, "--caps", "300,700")
    assert (
        done.exit_code == 3
        and "setting a cap takes root; --caps as-found does not need this right"
        in join_output(done)
    )
    assert not list(tmp_path.iterdir()) and not runs.run_requests
    shown = invoke(*asked, "--caps", "300,700", "--dry-run")
    assert shown.exit_code == 3 and "setting a cap takes root" in join_output(shown)
    for needs_none in ("700", "as-found"):
        assert "the sweep can start" in join_output(
            invoke(*asked, "--caps", needs_none, "--dry-run")
        )


def test_limits_of_another_run_refuse_the_sweep_while_it_is_planned(
    tmp_path: Path, runs: FakeRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever board they are on, for only one run of a node sets limits; as found, only the
    boards of the sweep matter."""
    monkeypatch.setattr(preflight, "GRACE_S", 0.0)
    asked = ["resnet50-train", "--simulate", "h200", "-o", tmp_path / "out"]
    with simulator.run_simulator("h200"):
        directory = state_directory("simulated")
        new_journal("simulated:h200", "a-run", (SavedLimit("SIM-H200-7", 700_000, None),)).write(
            directory / JOURNAL_FILE
        )
        says = "run a-run (process"
        shown = invoke(*asked, "--caps", "700,300", "--dry-run")
        assert (
            shown.exit_code == 3
            and says in join_output(shown)
            and "the sweep can start" not in join_output(shown)
        )
        done = invoke(*asked, "--caps", "700,300")
        assert (
            done.exit_code == 3
            and "is gone; restore them with: bench-submit restore" in join_output(done)
        )
        with lock_directory(directory):
            held = invoke(*asked, "--caps", "700,300")
        assert (
            held.exit_code == 3
            and "is running and holds the power limits" in join_output(held)
            and "bench-submit restore" not in join_output(held)
        )
        assert not list(tmp_path.iterdir()) and not runs.run_requests
        assert invoke(*asked, "--caps", "as-found", "--dry-run").exit_code == 0
        assert says in join_output(invoke(*asked, "--caps", "as-found", "--gpus", 8, "--dry-run"))


def test_plan_says_where_nothing_will_be_compared_with_the_default_cap(tmp_path: Path) -> None:
    note = "the default cap, 700 W, is not among the caps, so no cap will be compared with it"
    asked = ["resnet50-train", "--simulate", "h200", "--dry-run", "-o", tmp_path, "--caps"]
    assert note in join_output(invoke(*asked, "200,300"))
    assert "not among the caps" not in join_output(invoke(*asked, "300,700")) + join_output(
        invoke(*asked, "as-found")
    )


def test_board_that_does_not_answer_is_said_to(tmp_path: Path) -> None:
    with (
        simulator.run_simulator("h200,vanish=0"),
        closing(open_source("simulated:h200,vanish=0")) as meter,
    ):
        vanished = meter.devices()[0].uuid
        work = simulator.connect("h200,vanish=0")
        work.ask("work", uuid=vanished, workload="resnet50-train")
        work.close()
        says = (
            f"{vanished}: the board gives no power limit, and no reading either ({vanished} does "
            "not answer"
        )
        assert says in join_output(
            invoke("resnet50-train", "--simulate", "h200,vanish=0", "--dry-run", "-o", tmp_path)
        )
        with pytest.raises(MeterError, match="gives no power limit"):
            command.plan_run(
                RunRequest("resnet50-train", simulate="h200,vanish=0", cap_w=300), tmp_path
            )


def test_directory_in_place_of_a_plan_is_told(tmp_path: Path) -> None:
    done = invoke("--resume", tmp_path)
    assert (
        done.exit_code == 2
        and "this is a directory; --resume takes the plan of a sweep" in join_output(done)
    )


def test_plan_of_a_sweep_in_place_of_a_run_is_told(tmp_path: Path) -> None:
    _, path = save_sweep(tmp_path, 300.0)
    done = CliRunner().invoke(main, ["run", "--resume", str(path)])
    assert (
        done.exit_code == 2
        and f"this is the plan of a sweep; resume it with: bench-submit sweep --resume {path}"
        in join_output(done)
    )


def test_sweep_has_few_options_beside_those_of_run() -> None:
    of_run = {o for p in main.commands["run"].params for o in p.opts}
    assert sorted({o for p in main.commands["sweep"].params for o in p.opts} - of_run) == [
        "--caps",
        "--precision",
        "--reference",
        "--repeat",
        "--slurm",
        "--yes",
    ]


def test_expected_time_has_the_two_idle_phases_of_each_run(tmp_path):
    options = ("--caps", "700", "--epoch-seconds", 60, "--dry-run", "-o", tmp_path / "out")
    done = invoke("resnet50-train", "--simulate", "h200", *options)
    # 11 epochs of 60 s, twice 30 s and 10 s are 730 s.
    assert "expected time: about 12 min" in " ".join(done.output.split())
