"""Runs on simulated accelerators that misbehave: each fault ends in the rule that is to find it, and in no other.

The whole of a run is the harness's own but for torchrun: its one worker is a thread here, which saves the seconds that a process
takes to import torch. Demo bundles are spared some rules, so each is also judged as if it had been handed in as `open`.
"""

import os
import threading
from pathlib import Path

import pytest

from checker.engine import judge
from checker.files import read_files
from checker.load import read_evidence
from harness import command, session, simulator, worker
from harness.fits import fit
from harness.plan import Wish
from harness.session import RunFailed
from harness.simulated_boards import FAULTS
from rules.records import Evidence
from rules.rule import Bundle, rules_by_id

EPOCH_S = 0.3
FAMILIES = "CEMTW"
"""Of the rules on what was measured. P103 and P112 speak of every run here, P104, P105 and P108 of one on a busy machine."""


class Thread:
    """Stands in for the workers of a run; see `harness.processes.Workers`."""

    def __init__(self, *_: object) -> None:
        self._status = 1
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> "Thread":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)

    def wait(self, timeout_s: float | None = None) -> int | None:
        self._thread.join(timeout_s)
        return None if self._thread.is_alive() else self._status

    def _work(self) -> None:
        try:
            self._status = worker.main()
        except Exception as error:
            print(error)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Makes a run on one simulated accelerator and returns its bundle's directory."""

    def make(simulate: str, workload: str = "resnet50-train", cap_w: float | None = None) -> Path:
        def in_a_thread(plan, directory, view):
            monkeypatch.setattr("sys.argv", ["worker", str(directory)])
            return Thread()

        for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv(simulator.VARIABLE, raising=False)
        monkeypatch.setattr(session, "workers", in_a_thread)
        command.run(Wish(workload, simulate=simulate, cap_w=cap_w, epoch_s=EPOCH_S), tmp_path)
        (made,) = tmp_path.glob("*/MANIFEST.json")
        return made.parent

    return make


def evidence_of(bundle: Path) -> Evidence:
    evidence, problems = read_evidence(read_files(bundle))
    assert evidence is not None and not problems
    return evidence


def found(bundle: Path) -> set[str]:
    """The rules that speak of a demo bundle as it is."""
    return {f.rule for f in judge(bundle, signed=False).findings}


def found_if_open(bundle: Path) -> set[str]:
    """The rules on what was measured that speak of the bundle, were its standing `open`."""
    evidence = evidence_of(bundle)
    evidence.result["standing"] = "open"
    asked = [rule for rule in rules_by_id().values() if rule.id[0] in FAMILIES and "open" in rule.standings]
    return {f.rule for rule in asked for f in rule.judge(Bundle(bundle, (), evidence))}


@pytest.mark.parametrize("workload", ["resnet50-train", "llama3-8b-serve"])
def test_boards_without_a_fault_give_no_finding_and_the_throughput_of_the_fit(run, workload):
    bundle = run("h200", workload, cap_w=400)
    assert found(bundle) == set() and found_if_open(bundle) == set()
    result = evidence_of(bundle).result
    assert (result["standing"], result["size"]) == ("demo", "smoke")
    assert result["implementation"]["name"] == "harness.simulated_work:build"
    assert result["implementation"]["settings"]["fit"] == fit().name
    expected = fit().curves["H200", workload].items_per_s(400)
    assert result["headline"]["items_per_s_per_accelerator"]["mean"] == pytest.approx(expected, rel=0.05)
    assert result["headline"]["mean_power_w_per_accelerator"]["mean"] == pytest.approx(398, rel=0.02)
    assert os.environ.get(simulator.VARIABLE) is None


FOUND = {
    # fault, then the rules that find it in a demo bundle, and in an open one
    "disobey=500": ({"C102"}, {"C102"}),
    "drift=60": (set(), {"E103", "E104"}),
    "drop": ({"W108"}, {"W108"}),
    "sentinel": ({"W104"}, {"W104"}),
    "freeze-counter=0": (set(), {"E102"}),
    "backward-counter=0": ({"E101"}, {"E101", "E103"}),
    "slow-state=0": ({"C104"}, {"C104"}),
    "throttle=0": ({"C106"}, {"C106"}),
}


@pytest.mark.parametrize("fault", FOUND)
def test_a_fault_ends_in_the_rule_that_is_to_find_it(run, fault):
    bundle = run(f"h200,{fault}", cap_w=400 if "disobey" in fault else None)
    in_demo, in_open = FOUND[fault]
    assert (found(bundle), found_if_open(bundle)) == (in_demo, in_open)


@pytest.mark.parametrize("workload", ["resnet50-train", "llama3-8b-serve"])
def test_a_board_that_vanishes_ends_the_run_and_the_message_says_so(run, workload, tmp_path):
    with pytest.raises(RunFailed, match=r"rank 0: .*SIM-H200-0 does not answer: it has left the bus"):
        run("h200,vanish=1", workload)
    assert not list(tmp_path.glob("*/MANIFEST.json"))


def test_every_fault_is_tried():
    assert {fault.partition("=")[0] for fault in FOUND} | {"vanish"} == set(FAULTS)
