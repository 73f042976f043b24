"""Runs on simulated accelerators that misbehave: each fault ends in the rule that is to find it, in
the bundle as it is.

The whole of a run is the harness's own but for torchrun: its one worker is a thread here, which
saves the seconds that a process takes to import torch.
"""

import os
import threading
from pathlib import Path

import pytest

from checker.engine import judge, judge_all
from harness.run import command, session
from harness.run.plan import RunRequest
from harness.run.session import RunFailed
from harness.run.workers import worker
from harness.simulation import server as simulator
from harness.simulation.board_models import FAULTS
from harness.simulation.throughput_model import load_fit
from harness.simulation.work import MIN_BATCH_SHARE
from rules.bundle_format.files import read_files
from rules.testing.frames import EvidenceFrames, read_frames

pytestmark = pytest.mark.xdist_group("machine")  # one run at a time: what is measured here is time

EPOCH_S = 0.3
BUSY = {"T109"}
"""Speaks of a run on a busy machine: batches are active in too small a part of an epoch."""
BUSY_SHARES = 0.1, 1 / MIN_BATCH_SHARE
"""Of the fit's throughput, on a busy machine: work stands still, and the scored epochs make up for
lateness from before them. How exact it is otherwise, tests/harness/simulation/test_simulator.py
asks with a clock of its own.
"""
ATTEMPTS = 5
"""To find two runs alike, which a busy machine may disturb."""


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

    def make(
        simulate: str,
        workload: str = "resnet50-train",
        cap_w: float | None = None,
        epoch_s: float = EPOCH_S,
    ) -> Path:
        def in_a_thread(plan, directory, view):
            monkeypatch.setattr("sys.argv", ["worker", str(directory)])
            return Thread()

        for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv(simulator.VARIABLE, raising=False)
        monkeypatch.setattr(session, "make_workers", in_a_thread)
        before = set(tmp_path.glob("*/MANIFEST.json"))
        command.run(RunRequest(workload, simulate=simulate, cap_w=cap_w, epoch_s=epoch_s), tmp_path)
        (new_manifests,) = set(tmp_path.glob("*/MANIFEST.json")) - before
        return new_manifests.parent

    return make


def read_evidence(bundle: Path) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(bundle))
    assert evidence is not None and not problems
    return evidence


def find_rules(bundle: Path) -> set[str]:
    """The rules that speak of the bundle, but for those that speak where the machine is busy."""
    return {f.rule for f in judge(bundle, signed=False).findings} - BUSY


@pytest.mark.parametrize(
    ("workload", "epoch_s"), [("resnet50-train", 1.0), ("llama3-8b-serve", 2.0)]
)
def test_boards_without_a_fault_give_no_finding_and_the_throughput_of_the_fit(
    run, workload, epoch_s
):
    bundle = run("h200", workload, cap_w=400, epoch_s=epoch_s)
    assert find_rules(bundle) == set()
    result = read_evidence(bundle).result
    assert (result["standing"], result["size"]) == ("demo", "smoke")
    assert result["implementation"]["name"] == "harness.simulation.work:build"
    assert result["implementation"]["settings"]["fit"] == load_fit().name
    expected = load_fit().curves["H200", workload].compute_items_per_s(400)
    low, high = (share * expected for share in BUSY_SHARES)
    assert low < result["headline"]["items_per_s_per_accelerator"]["mean"] < high
    assert result["headline"]["mean_power_w_per_accelerator"]["mean"] == pytest.approx(
        398, rel=0.02
    )
    assert os.environ.get(simulator.VARIABLE) is None


FOUND = {
    "disobey=500": {"C102"},
    "drift=4000": {"E107"},  # more than the limit where the sampler stands still for a second
    # Half of the readings, so that even a run with few readings has some.
    "drop=50": {"W108"},
    "sentinel=50": {"W104"},
    "freeze-counter=0": {"E107"},
    "backward-counter=0": {"E101", "E107"},
    "slow-state=0": {"C104"},
    "throttle=0": {"C106"},
}

FOUND_WHERE_BUSY = {"drift=4000": {"W107"}}
"""Further rules, for a run that a busy machine stretches: its readings sink below idle power."""


@pytest.mark.parametrize("fault", FOUND)
def test_a_fault_ends_in_the_rule_that_is_to_find_it(run, fault):
    rules = find_rules(run(f"h200,{fault}", cap_w=400 if "disobey" in fault else None))
    assert rules - FOUND_WHERE_BUSY.get(fault, set()) == FOUND[fault]


def test_a_cap_that_is_ignored_within_its_tolerance_shows_beside_another_run(run):
    """A board that stays at 400 W draws 398 W, which is within 2 % of 392 W: C102 is silent."""
    for _ in range(ATTEMPTS):
        lower, higher = (run("h200,disobey=400", cap_w=cap_w) for cap_w in (392, 400))
        assert (find_rules(lower), find_rules(higher)) == (set(), set())
        verdicts = judge_all([lower, higher], signed=False).verdicts
        rules = [
            {f.rule for f in v.findings} - BUSY
            for v in sorted(verdicts, key=lambda v: v.path == higher)
        ]
        if rules == [{"X101"}, set()]:
            break
    assert rules == [{"X101"}, set()]


@pytest.mark.parametrize("workload", ["resnet50-train", "llama3-8b-serve"])
def test_a_board_that_vanishes_ends_the_run_and_the_message_says_so(run, workload, tmp_path):
    with pytest.raises(
        RunFailed, match=r"rank 0: .*SIM-H200-0 does not answer: it has left the bus"
    ):
        # Early, because a stall in the calibration of a server makes its epochs short.
        run("h200,vanish=0.1", workload)
    assert not list(tmp_path.glob("*/MANIFEST.json"))


def test_every_fault_is_tried():
    assert {fault.partition("=")[0] for fault in FOUND} | {"vanish"} == set(FAULTS)
