"""Runs over two nodes: their one bundle, plans that differ, and a node that dies."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.harness.session_runs import TESTS, find_bundles, read_evidence, wait_until_gone
from support.kills import DEADLINE_S
from support.meters.ports import find_free_port

from rules.bundle_format.events import PhaseEnded

pytestmark = pytest.mark.xdist_group("nodes")


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


def choose_head() -> str:
    """An address of node 0. Torchrun takes the port after it too."""
    return f"127.0.0.1:{find_free_port(count=2)}"


def start_node(node: int, head: str, out: Path, *extra_options: str) -> subprocess.Popen:
    """`bench-submit run` as the node of that number of two."""
    options = [
        *("resnet50-train", "--smoke", "--simulate", "h200", "--epoch-seconds", "0.5"),
        *("--implementation", "support.implementations:build"),
    ]
    node_options = ["--nodes", "2", "--node", str(node), "--head", head, "-o", str(out)]
    command = [sys.executable, "-m", "harness.cli", "run", *options, *node_options, *extra_options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_two_nodes_make_one_bundle(tmp_path):
    head = choose_head()
    nodes = [start_node(node, head, tmp_path, "--cap", "400") for node in (1, 0)]
    outputs = [node.communicate(timeout=DEADLINE_S)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], "\n".join(outputs)
    assert "node 0 has the bundle" in outputs[0] and "pre-check: no errors" in outputs[1]
    (bundle,) = find_bundles(tmp_path)
    evidence = read_evidence(bundle)
    result = evidence.result
    resident = {
        event.node: event
        for event in evidence.events or ()
        if isinstance(event, PhaseEnded) and event.phase == "resident"
    }
    assert resident.keys() == {"node0", "node1"}
    # Both nodes have one clock here. They are idle at the same time, up to how fast they meet. That
    # takes longer on a busy machine.
    begun, ended = (
        max(event.start_ns for event in resident.values()),
        min(event.end_ns for event in resident.values()),
    )
    assert ended > begun
    assert {phase["node"] for phase in result["phases"]} == {"node0", "node1"}
    assert [(r["rank"], r["node"], r["accelerators"]) for r in result["ranks"]] == [
        (0, "node0", ["SIM-H200-0"]),
        (1, "node1", ["SIM-H200-1"]),
    ]
    assert (result["settings"]["nodes"], result["settings"]["accelerators"]) == (2, 2)
    assert [n["name"] for n in evidence.system["nodes"]] == ["node0", "node1"]
    assert set(evidence.samples["node"]) == {"node0", "node1"}
    assert result["power"]["found_mw"] == {"SIM-H200-0": 700_000, "SIM-H200-1": 700_000}
    assert {r["enforced_mw"] for r in result["readbacks"]} == {400_000}
    assert "== node1 ==" in evidence.log
    assert [(c["node"], c["when"]) for c in result["clocks"]] == [
        (n, w) for n in ("node0", "node1") for w in ("before", "after")
    ]
    assert [p.name for p in tmp_path.iterdir()] == [bundle.name]


def test_nodes_that_plan_different_runs_are_refused(tmp_path):
    head = choose_head()
    nodes = [start_node(0, head, tmp_path), start_node(1, head, tmp_path, "--seed", "2")]
    outputs = [node.communicate(timeout=DEADLINE_S)[0] for node in nodes]
    assert all(node.returncode == 2 for node in nodes)
    assert all("node 1 has seed 2, node 0 has 1" in output for output in outputs)
    assert not find_bundles(tmp_path)


def test_a_node_that_dies_ends_the_run_of_the_other(tmp_path):
    head = choose_head()
    nodes = [start_node(node, head, tmp_path, "--epoch-seconds", "3") for node in (0, 1)]
    deadline = time.monotonic() + DEADLINE_S
    while not any(p.stat().st_size > 100 for p in tmp_path.glob(".*.node1.running/batches.1.csv")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    nodes[1].kill()
    output = nodes[0].communicate(timeout=DEADLINE_S)[0]
    nodes[1].communicate()
    assert nodes[0].returncode == 1 and "before their last epoch" in output
    assert not find_bundles(tmp_path) and wait_until_gone(tmp_path)
