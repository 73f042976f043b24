"""Runs measure idle power before the workers start and with the model resident, time their phases,
and read the boards that they do not use."""

import threading
import time
from pathlib import Path

import pytest
from support.harness.session_runs import (
    TESTS,
    carry_out,
    change_plan,
    make_test_plan,
    read_evidence,
)

from harness.power.reading_process import SamplerError
from harness.power.sampler import Sampler, Settings
from harness.run.plan import MAX_IDLE_S
from harness.run.workers.recorder import EpochRecorder, HostClock
from harness.simulation.board_models import MODELS
from harness.simulation.boards import RESIDENT_W
from harness.simulation.server import run_simulator
from rules.bundle import Bundle
from rules.bundle_format.events import PhaseEnded, RankBuilt
from rules.checks.node.idle_contradicts_evidence import RULE
from rules.testing.frames import EvidenceFrames

PHASES = ["bare", "start-up", "build", "resident", "warm-up", "calibration"]
IDLE_S = 0.5
UNUSED = ("SIM-H200-1", "SIM-H200-2")


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> EvidenceFrames:
    with pytest.MonkeyPatch.context() as patch, run_simulator("h200"):
        patch.setenv("PYTHONPATH", str(TESTS))
        plan = change_plan(make_test_plan(epoch_s=IDLE_S), unused_boards=UNUSED, installed=8)
        return read_evidence(carry_out(plan, tmp_path_factory.mktemp("run")))


def list_phases(evidence: EvidenceFrames) -> list[PhaseEnded]:
    return [event for event in evidence.events or () if isinstance(event, PhaseEnded)]


def test_phases_follow_each_other_before_the_first_batch(evidence: EvidenceFrames) -> None:
    phases = list_phases(evidence)
    assert [event.phase for event in phases] == PHASES
    times_ns = [time_ns for event in phases for time_ns in (event.start_ns, event.end_ns)]
    assert times_ns == sorted(times_ns)
    assert evidence.samples["read_ns"].min() < times_ns[0]
    assert times_ns[-1] <= evidence.batches["start_ns"].min()
    (built,) = [event for event in evidence.events or () if isinstance(event, RankBuilt)]
    (build,) = [event for event in phases if event.phase == "build"]
    assert built.seconds == (build.end_ns - build.start_ns) / 1e9


def test_both_idle_phases_take_as_long_as_an_epoch(evidence: EvidenceFrames) -> None:
    seconds = {phase["phase"]: phase["seconds"] for phase in evidence.result["phases"]}
    for name in ("bare", "resident"):
        assert IDLE_S <= seconds[name] < IDLE_S + 0.3


def test_idle_phases_of_long_runs_take_30_s_and_trials_have_none() -> None:
    plan = make_test_plan(epoch_s=31.5)
    assert plan.idle_s == MAX_IDLE_S == 30.0
    assert plan.make_trial(4).idle_s == 0.0


def test_stated_idle_power_is_what_the_rule_recomputes(evidence: EvidenceFrames) -> None:
    bundle = Bundle(Path("run"), (), evidence.evidence())
    assert list(RULE.run(bundle)) == []
    (board,) = [board for board in evidence.result["idle"] if board["used"]]
    assert board["accelerator"] == "SIM-H200-0"
    idle_w = MODELS["h200"].idle_w
    assert board["bare_w"] == pytest.approx(idle_w, rel=0.02)
    # The last reading is interpolated towards the first one under load.
    assert board["resident_w"] == pytest.approx(idle_w + RESIDENT_W, rel=0.1)
    evidence.result["idle"][0]["bare_w"] *= 1.01
    assert [violation.pointer for violation in RULE.run(bundle)] == ["/idle/0/bare_w"]
    evidence.result["idle"][0]["bare_w"] /= 1.01


def test_unused_boards_have_energy_and_no_samples(evidence: EvidenceFrames) -> None:
    unused = [board for board in evidence.result["idle"] if not board["used"]]
    assert [board["accelerator"] for board in unused] == list(UNUSED)
    run_s = next(p["seconds"] for p in evidence.result["phases"] if p["phase"] == "all")
    for board in unused:
        # Also while the CPUs are busy.
        assert board["mean_w"] == pytest.approx(MODELS["h200"].idle_w, rel=0.02)
        # Readings are one second apart, and begin after those of the run.
        assert run_s - 3 < board["energy_j"] / board["mean_w"] < run_s + 1
    assert set(evidence.samples["accelerator"]) == {"SIM-H200-0"}
    assert evidence.system["nodes"][0]["accelerators_installed"] == 8


def test_unused_boards_that_cannot_be_read_do_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, start = Sampler.__init__, Sampler.__enter__
    samplers_of_unused: list[Sampler] = []

    def note_unused(sampler: Sampler, settings: Settings) -> None:
        make(sampler, settings)
        if settings.accelerators == UNUSED:
            samplers_of_unused.append(sampler)

    def fail_for_unused(sampler: Sampler) -> Sampler:
        if sampler in samplers_of_unused:
            raise SamplerError("the board hangs")
        return start(sampler)

    monkeypatch.setattr(Sampler, "__init__", note_unused)
    monkeypatch.setattr(Sampler, "__enter__", fail_for_unused)
    plan = change_plan(make_test_plan(epoch_s=0.3), unused_boards=UNUSED)
    evidence = read_evidence(carry_out(plan, tmp_path))
    assert "the unused boards cannot be read: the board hangs" in evidence.log
    assert [board["used"] for board in evidence.result["idle"]] == [True]


def test_several_ranks_are_idle_together(tmp_path: Path) -> None:
    evidence = read_evidence(carry_out(make_test_plan(gpus=2), tmp_path))
    (resident,) = [event for event in list_phases(evidence) if event.phase == "resident"]
    built = max(e.end_ns for e in list_phases(evidence) if e.phase == "build")
    assert built <= resident.start_ns
    assert resident.end_ns - resident.start_ns > 0.2e9
    assert [board["accelerator"] for board in evidence.result["idle"]] == [
        "SIM-H200-0",
        "SIM-H200-1",
    ]
    assert list(RULE.run(Bundle(Path("run"), (), evidence.evidence()))) == []


def test_a_rank_is_idle_only_when_every_rank_is_built() -> None:
    barrier = threading.Barrier(2)
    windows: list[tuple[int, int]] = []

    def agree(value: float) -> float:
        barrier.wait()
        return value

    def run_rank(delay_s: float) -> None:
        recorder = EpochRecorder(
            HostClock(),
            0,
            0.01,
            0,
            agree,
            lambda *epoch: None,
            idle_s=0.3,
            on_phase=lambda phase, start_ns, end_ns: (
                windows.append((start_ns, end_ns)) if phase == "resident" else None
            ),
        )
        time.sleep(delay_s)
        assert recorder.more()

    late = threading.Thread(target=run_rank, args=(0.4,))
    start_ns = time.monotonic_ns()
    late.start()
    run_rank(0.0)
    late.join()
    assert len(windows) == 2
    assert max(start for start, _ in windows) < min(end for _, end in windows)
    assert min(start for start, _ in windows) - start_ns > 0.35e9
