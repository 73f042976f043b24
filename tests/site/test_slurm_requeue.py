"""Control runs, reproductions and studies in a job that a real Slurm requeues. Runs and sweeps are
in tests/site/test_slurm_sweep.py."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
from conftest import PRINCIPAL, Submissions
from support.kills import wait_for
from support.slurm.cluster import JOB_TIMEOUT_S, KILL_WAIT_S, NODES, Slurm
from support.slurm.fixtures import slurm as slurm
from support.slurm.jobs import (
    DEFAULT_CAPS_MW,
    find_harness,
    list_unfinished,
    read_output,
    read_results,
)

from checker.engine import judge
from checker.find import find_places
from rules.finding import Severity

pytestmark = pytest.mark.xdist_group("slurm")
PAGE = Path(__file__).parents[2] / "docs" / "image-inference.md"
SIMULATED = ("--simulate", "h200", "--epoch-seconds", "0.4", "--cap", "400")


def write_job(folder: Path, *command: object) -> Path:
    path = folder / "job.sbatch"
    words = " ".join(map(str, ("bench-submit", *command, "--out", folder / "out")))
    path.write_text(f"#!/bin/bash\nsrun --cpu-bind=none {words}\n")
    return path


def make_original(slurm: Slurm, submissions: Submissions) -> Path:
    """Make and sign a run outside of Slurm, and return its bundle."""
    out = submissions.root / PRINCIPAL.split("@")[0] / "h200"
    slurm.run("bench-submit", "run", "resnet50-train", *SIMULATED, "--out", out)
    (bundle,) = find_places(out).bundles
    key = ("--key", submissions.key, "--principal", PRINCIPAL)
    slurm.run("bench-submit", "sign", bundle, *key)
    return bundle


@pytest.mark.parametrize("name", ["burn", "reproduce"])
def test_requeued_run_leaves_one_bundle(
    slurm: Slurm, submissions: Submissions, tmp_path: Path, name: str
) -> None:
    options = SIMULATED if name == "burn" else (make_original(slurm, submissions),)
    job = slurm.submit(write_job(tmp_path, name, *options))
    wait_for(lambda: "epoch  2" in read_output(tmp_path), JOB_TIMEOUT_S)
    # Neither harness nor Slurm has time to end the run.
    os.kill(find_harness(tmp_path), signal.SIGKILL)
    assert slurm.wait_for_state(job)["JobState"] == "FAILED"
    wait_for(lambda: all(slurm.read_caps_mw(n) == DEFAULT_CAPS_MW for n in NODES), KILL_WAIT_S)
    # What the killed attempt leaves is no bundle.
    assert len(list_unfinished(tmp_path)) == 1
    places = find_places(tmp_path / "out")
    assert places.bundles == [] and list_errors(tmp_path) == []
    slurm.requeue(job)
    assert slurm.wait_for_state(job)["JobState"] == "COMPLETED", read_output(tmp_path)
    # A finished job that is queued again finds its bundle.
    slurm.requeue(job)
    assert slurm.wait_for_state(job)["JobState"] == "COMPLETED", read_output(tmp_path)
    (result,) = read_results(tmp_path)
    assert (result["attempt"], result["slurm_job"]["restarts"]) == (2, 1)
    assert "has this run already" in read_output(tmp_path)
    assert list_unfinished(tmp_path) == [] and list_errors(tmp_path) == []
    assert all(slurm.read_caps_mw(node) == DEFAULT_CAPS_MW for node in NODES)


def list_errors(folder: Path) -> list[str]:
    """The errors of all bundles in `folder`/out."""
    bundles = find_places(folder / "out").bundles
    findings = [f for bundle in bundles for f in judge(bundle, signed=False).findings]
    return [str(finding) for finding in findings if finding.severity == Severity.ERROR]


def read_studies(folder: Path) -> list[dict]:
    """study.json of every bundle in `folder`/out, by name."""
    paths = sorted((folder / "out").glob("*/study.json"))
    return [json.loads(path.read_text()) for path in paths]


def test_requeued_study_continues(slurm: Slurm, tmp_path: Path) -> None:
    """The job script of docs/image-inference.md."""
    (text,) = re.findall(r"```sh\n(#!/bin/bash\n.*?)```", PAGE.read_text(), re.DOTALL)
    models = ",".join(f"{name}@224" for name in ("resnet18", "resnet34", "resnet50"))
    for old, new in (
        ("submissions/CENTER/SYSTEM", f"{tmp_path}/out"),
        ("--gpus-per-node=4", "--gpus-per-node=1"),
        ("--models all --gpus 4", f"--models {models} --simulate h200 --cap 400"),
        ("--system system.toml", "--long-seconds 0.5"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    script = tmp_path / "study.sbatch"
    script.write_text(text)
    job = slurm.submit(script, "--time=10")
    wait_for(lambda: "1 of 3 " in read_output(tmp_path), JOB_TIMEOUT_S)
    # The study writes the bundle of what it has measured.
    slurm.requeue(job)
    wait_for(lambda: "2 of 3 " in read_output(tmp_path), JOB_TIMEOUT_S)
    # A killed study leaves its directory.
    os.kill(find_harness(tmp_path), signal.SIGKILL)
    assert slurm.wait_for_state(job)["JobState"] == "FAILED"
    assert len(list_unfinished(tmp_path)) == 1
    slurm.requeue(job)
    assert slurm.wait_for_state(job)["JobState"] == "COMPLETED", read_output(tmp_path)
    slurm.requeue(job)
    assert slurm.wait_for_state(job)["JobState"] == "COMPLETED", read_output(tmp_path)
    assert "has this study already" in read_output(tmp_path)
    interrupted, study = read_studies(tmp_path)
    assert {work["status"] for work in study["work"]} == {"measured"} and len(study["work"]) == 3
    assert [s["slurm_job"]["restarts"] for s in study["sessions"]] == [0, 1, 2]
    assert study["sessions"][0] == interrupted["sessions"][0]
    assert list_unfinished(tmp_path) == [] and list_errors(tmp_path) == []
    assert all(slurm.read_caps_mw(node) == DEFAULT_CAPS_MW for node in NODES)
