"""Sweeps over other settings than the cap, from the command line to the tables, on simulated
boards."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.kills import Sandbox, open_sandbox, wait_for
from support.sweep_runs import read_manifests

from rules.bundle_format.records import Json

SHORT = ("--simulate", "h200", "--epoch-seconds", "0.2")
pytestmark = pytest.mark.xdist_group("sweep-axes")


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with open_sandbox(tmp_path) as new_sandbox:
        yield new_sandbox


def read_results(sandbox: Sandbox) -> list[Json]:
    return [json.loads((path / "result.json").read_text()) for path in sandbox.bundles]


def test_sweep_over_batch_size_and_precision_goes_on_after_a_sigkill(sandbox: Sandbox) -> None:
    axes = ("--batch", "8:16:x2", "--precision", "tf32,bf16", "--reference", "precision=bf16")
    sandbox.start("sweep", "resnet50-train", *SHORT, *axes, "-o", str(sandbox.out))
    wait_for(lambda: "epoch  1" in sandbox.output.partition("run 2 of 4:")[2])
    assert sandbox.process is not None
    sandbox.process.kill()
    sandbox.wait_for_exit()
    (plan,) = sandbox.out.glob("*.sweep.json")
    planned, finished_bundles = plan.read_bytes(), read_manifests(sandbox.out)
    # On a busy machine, later runs have ended too when the kill comes.
    assert 1 <= len(finished_bundles) < 4
    sandbox.start("sweep", "--resume", str(plan))
    assert sandbox.wait_for_exit() == 0, sandbox.output
    assert f"{len(finished_bundles)} of 4 runs finished so far" in sandbox.output
    assert plan.read_bytes() == planned
    assert finished_bundles.items() < read_manifests(sandbox.out).items()
    results = read_results(sandbox)
    assert Counter(
        (r["settings"]["batch_size"], r["implementation"]["precision"]) for r in results
    ) == Counter((batch, precision) for batch in (8, 16) for precision in ("tf32", "bf16"))
    labels = [result["sweep"] for result in results]
    assert {tuple(label["axes"]) for label in labels} == {("batch", "precision")}
    assert all(label["reference"] == {"batch": 8, "precision": "bf16"} for label in labels)
    assert "1 GPU, against batch 8, bf16:" in sandbox.output
    assert "least energy at batch" in sandbox.output


def test_sweep_over_requests_in_flight_at_a_locked_clock(sandbox: Sandbox) -> None:
    # Many requests in flight take long enough that the client's own pauses do not count.
    axes = ("--concurrency", "16:32:x2", "--sm-clock", "1200")
    sandbox.start("sweep", "llama3-8b-serve", *SHORT, *axes, "-o", str(sandbox.out))
    assert sandbox.wait_for_exit() == 0, sandbox.output
    results = read_results(sandbox)
    assert {r["settings"]["requests"]["concurrency"] for r in results} == {16, 32}
    assert {r["power"]["sm_clock_mhz"] for r in results} == {1200}
    assert "1 GPU, against concurrency 16:" in sandbox.output
    assert sandbox.clocks_mhz == {1980}, "every lock is removed"
