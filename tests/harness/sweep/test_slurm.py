"""The batch script of a sweep, run with stand-ins for sbatch, srun and scontrol."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.sweep_runs import BOARDS, RUN_REQUEST, invoke, join_output, make_entries

from harness.cli import main
from harness.run import cluster
from harness.run.planning import make_plan
from harness.sweep.plan import make_sweep
from harness.sweep.request import read_request
from harness.sweep.slurm import ARRAY_ORDER, parse_label
from harness.system import hash_source


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


@pytest.mark.parametrize(
    "arguments", [[], ["--nodes", 3, "--gpus", "1,4"], ["--caps", "as-found", "--repeat", 5]]
)
def test_script_is_one_that_bash_can_read(tmp_path: Path, arguments: list[object]) -> None:
    path = script(tmp_path, *arguments)
    subprocess.run(["bash", "-n", path], check=True)
    assert "{{" not in path.read_text() and "{%" not in path.read_text()


@pytest.mark.parametrize("nodes", [1, 2])
def test_shellcheck_finds_nothing_in_the_script(tmp_path: Path, nodes: int) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("no shellcheck on the path")
    done = subprocess.run(
        ["shellcheck", script(tmp_path, "--nodes", nodes)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


AWKWARD = ["--option", "note=it's $(touch pwned); `touch pwned`", "--out", "my results"]


@pytest.mark.parametrize("nodes", [1, 2])
def test_tasks_of_the_array_make_each_run_of_the_plan_once(tmp_path: Path, nodes: int) -> None:
    axes = ("--caps", "200:400:100", "--gpus", "1,2", "--repeat", 2)
    path = script(tmp_path, *axes, "--nodes", nodes, "--batch", 64, *AWKWARD)
    hosts = "".join(f"echo node-{letter}; " for letter in "abc"[:nodes])
    environment = commands_on_path(tmp_path, bench_submit=CALLED, srun=SRUN, scontrol=hosts)
    assert (
        "#SBATCH --array=0-11\n" in path.read_text()
        and "#SBATCH --gpus-per-node=2\n" in path.read_text()
    )
    for task in range(12):
        slurm_says = {
            "SLURM_ARRAY_TASK_ID": str(task),
            "SLURM_JOB_NODELIST": "node-[a-b]",
            "SLURM_JOB_NUM_NODES": str(nodes),
        }
        subprocess.run(["bash", path], env={**environment, **slurm_says}, check=True, cwd=tmp_path)
    meeting = [
        [],
        *([["--nodes", "2", "--head", "node-a:29400", "--node", str(node)] for node in (0, 1)]),
    ]
    expected = [
        [
            "bench-submit",
            "run",
            "resnet50-train",
            *AWKWARD,
            "--batch",
            "64",
            "--cap",
            f"{e.cap_w:g}",
            "--gpus",
            str(e.gpus),
            "--seed",
            str(e.repeat),
            *meeting[node if nodes > 1 else 0],
        ]
        for e in make_entries((200.0, 300.0, 400.0), (1, 2), 2, seed=1)
        for node in range(1, nodes + 1)
    ]
    called = calls(tmp_path)
    labels = [parse_label(call.pop(call.index("--sweep-label") + 1)) for call in called]
    for call in called:
        call.remove("--sweep-label")
    assert called == expected
    assert not list(tmp_path.rglob("pwned"))
    assert len({label.pop("id") for label in labels}) == 1
    shared = {"of": 12, "order": ARRAY_ORDER, "seed": 1, "axes": ["cap", "gpus"]}
    assert labels == [
        # The report counts the accelerators of all nodes.
        {**shared, "place": e.place, "repeat": e.repeat, "reference": {"gpus": nodes}}
        for e in make_entries((200.0, 300.0, 400.0), (1, 2), 2, seed=1)
        for _ in range(nodes)
    ]


def test_label_of_a_run_is_that_of_a_sweep_without_a_script(tmp_path: Path) -> None:
    options = ["--variant", "baseline,tuned", "--reference", "tuned", "--repeat", 2]
    text = script(tmp_path, *options).read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("sweep=")]
    (shared,) = shlex.split(line.removeprefix("sweep="))
    label = parse_label(f'{{{shared}, "place": 3, "repeat": 2}}')
    request = read_request(RUN_REQUEST, {"variant": "baseline,tuned"}, ["tuned"], 2)
    machine_plan = make_plan(RUN_REQUEST, BOARDS, {}, hash_source())
    names = request.axis_names, request.reference
    sweep = make_sweep(RUN_REQUEST, request.shuffle(), machine_plan, *names)
    expected = sweep.make_label(sweep.entries[2])
    assert label == expected | {"id": label["id"], "order": ARRAY_ORDER}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "found line 1 column 2"),
        ("[]", "[] is not of type 'object'"),
        ("{}", "'id' is a required property"),
        ('{"id": "x", "of": 2, "order": "x", "place": 0, "repeat": 1, "seed": 1}', "0 is less"),
        ('{"id": "x", "id": "y"}', "found "),
    ],
)
def test_malformed_label_is_refused_before_the_run(tmp_path: Path, text: str, message: str) -> None:
    arguments = ["run", "resnet50-train", "--simulate", "h200", "--sweep-label", text]
    result = CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2 and message in join_output(result), result.output
    assert "leave the option as bench-submit sweep --slurm has written it" in join_output(result)
    assert not (tmp_path / "out").exists()


def test_node_that_ends_early_does_not_have_the_others_killed_at_once(tmp_path: Path) -> None:
    """A SIGKILL to harness and watchdog would leave the caps as they are."""
    text = script(tmp_path, "--nodes", 2).read_text()
    assert "--kill-on-bad-exit=0 --wait=900" in text and cluster.TIMEOUT_S < 900
    assert "The epilog of docs/caps.md then restores it" in text


def test_script_run_by_hand_submits_a_job_with_a_comment_for_each_run(tmp_path: Path) -> None:
    path = script(tmp_path, "--caps", "200,300", "--repeat", 2)
    environment = commands_on_path(tmp_path, sbatch=CALLED)
    subprocess.run(["bash", path], env=environment, check=True)
    entries = make_entries((200.0, 300.0), (1,), 2, seed=1)
    assert calls(tmp_path) == [
        ["sbatch", f"--array={i}", f"--comment=wattmark-cap={e.cap_w:g}", str(path)]
        for i, e in enumerate(entries)
    ]


def test_script_of_caps_as_found_asks_for_none_to_be_set(tmp_path: Path) -> None:
    text = script(tmp_path, "--caps", "as-found").read_text()
    assert "caps=(as-found)" in text and "wattmark-cap" not in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["resnet50-train", "--slurm", "--caps", "700:200:100"], "B must not be below A"),
        (["resnet51-train", "--slurm"], "there is no workload"),
        (
            ["llama3-8b-serve", "--slurm", "--nodes", "2"],
            "runs one server on one node; leave out --nodes",
        ),
        (["resnet50-train", "--slurm", "--dry-run"], "leave out --dry-run"),
        (["resnet50-train", "--slurm", "--system", "no.toml"], "the path does not exist"),
        (
            ["resnet50-train", "--slurm", "--caps", "250.5,300"],
            "250.5 W does not fit into the comment of a job",
        ),
        (["resnet50-train", "--slurm", "--caps", "10000"], "10000 W does not fit"),
        (["resnet50-train", "--slurm", "--export", "textfile:x"], "give such a name"),
        (
            ["resnet50-train", "--slurm", "--batch", "auto"],
            "--batch auto: find the batch size with bench-submit run",
        ),
    ],
)
def test_script_that_could_not_run_is_refused(arguments: list[str], says: str) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2 and says in join_output(done)


def test_script_with_a_system_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("cooling = 3")
    done = invoke("resnet50-train", "--slurm", "--system", tmp_path / "s.toml")
    assert done.exit_code == 2 and "cooling must be text in quotes" in join_output(done)


def test_every_option_of_the_runs_is_handed_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `sweep` shares with `run` ends up in the script, and it is an option of `run` with that
    meaning."""
    for name in ("s.toml", "c", "w"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    asked = [
        *("--variant", "baseline", "--smoke", "--simulate", "h200", "--epoch-seconds"),
        *("2.5", "--seed", "4", "--system", "s.toml", "--implementation", "a.b:c"),
        *("--option", "x=1", "--option", "y=2", "--corpus", "c", "--weights", "w"),
        *("--export", "prometheus:9400", "-o", "there"),
    ]
    text = script(tmp_path, *asked).read_text()
    (line,) = [one for one in text.splitlines() if one.startswith("run=(")]
    handed = shlex.split(line.removeprefix("run=(bench-submit run").removesuffix(")"))[:-8]
    run = main.commands["run"]
    with run.make_context("run", handed) as context:
        params = context.params
    assert (params["variant"], params["epoch_s"], params["seed"], params["options"]) == (
        "baseline",
        2.5,
        4,
        ("x=1", "y=2"),
    )
    assert params["export"] == "prometheus:9400"
    assert params["smoke"] and params["out"] == Path("there") and params["weights"] == Path("w")
