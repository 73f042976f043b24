"""The energy that the harness climbs ladders by, and sessions of both methods in one study."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.harness.session_runs import TESTS

from checker.engine import judge
from harness.power.sampler import WindowSample
from harness.run.plan import Machine, RunRequest
from harness.studies import command, earlier
from harness.studies.boards.measuring import ModelMeter, PowerUnread
from harness.studies.boards.work_queue import WorkQueue
from harness.studies.boards.worker_process import Window
from harness.studies.plan import (
    SIMULATED_MODELS,
    SessionPlan,
    SessionRecord,
    StudyPlan,
    StudySettings,
)
from harness.studies.planning import StudyRequest
from harness.studies.records import PartWindow
from rules.bundle_format.files import read_files
from rules.finding import Severity
from rules.json_record import from_json, to_json
from rules.studies.bundle import StudyBundle
from rules.summaries.study_summary import summarize_study
from rules.views import open_view

SUBMISSIONS = TESTS.parent / "submissions"
COMMITTED = next(SUBMISSIONS.glob("reference/*/*-image-inference-*-bd729c"))
"""Its first sessions have method 1.0, and models are left to measure."""
SETTINGS = StudySettings("all", ("cudagraph",), ("bf16",), max_batch=8)
TICK_NS = 100_000_000
READ_W = {1: 400, 2: 400, 4: 500, 8: 400}
"""Mean of the power samples by batch size. At 4 images, they are in step with the batches."""
COUNTED_W = 400


class ScriptedWorker:
    """Windows of 1 s one after the other. A batch takes 1 ms, and 2 ms at 8 images."""

    def __init__(self) -> None:
        self.starts_ns = count(0, 2 * 10**9)
        self.batches: list[int] = []

    def measure(self, batch: int, *window: Any) -> Window:
        self.batches.append(batch)
        start_ns = next(self.starts_ns)
        batches = 500 if batch == 8 else 1000
        return Window((PartWindow(batches, start_ns, start_ns + 10**9),), 0)


class ScriptedSampler:
    """The samples of the windows of a worker, of a board with or without a counter."""

    def __init__(self, worker: ScriptedWorker, has_counter: bool, has_power: bool = True) -> None:
        self._worker, self._has_counter, self._has_power = worker, has_counter, has_power

    def read_window(self, start_ns: int, end_ns: int) -> tuple[list[WindowSample], ...]:
        power_mw = 1000 * READ_W[self._worker.batches[-1]] if self._has_power else None
        return (
            [
                WindowSample(
                    read_ns,
                    power_mw,
                    None,
                    COUNTED_W * read_ns // 10**6 if self._has_counter else None,
                )
                for read_ns in range(start_ns - TICK_NS // 2, end_ns + TICK_NS, TICK_NS)
            ],
        )


def make_meter(has_counter: bool, has_power: bool = True) -> tuple[ModelMeter, ScriptedWorker]:
    worker = ScriptedWorker()
    sampler: Any = ScriptedSampler(worker, has_counter, has_power)
    fake_worker: Any = worker
    return ModelMeter(fake_worker, sampler, SETTINGS, lambda line: None), worker


@pytest.mark.parametrize(("has_counter", "long_batches"), [(True, [4, 8]), (False, [8, 4])])
def test_long_windows_are_chosen_by_the_counter_of_a_board_that_has_one(
    has_counter: bool, long_batches: list[int]
) -> None:
    meter, worker = make_meter(has_counter)
    points = meter.measure_model()
    assert worker.batches == [1, 2, 4, 8, *long_batches]
    watts = {True: dict.fromkeys(READ_W, COUNTED_W), False: READ_W}[has_counter]
    for point in points:
        assert point.joules_per_image == pytest.approx(watts[point.batch] / point.items)


def test_board_without_any_reading_is_refused() -> None:
    with pytest.raises(PowerUnread, match="no power during a window"):
        make_meter(has_counter=False, has_power=False)[0].measure_model()


def test_session_of_an_earlier_version_has_method_1_0() -> None:
    machine = Machine("nvidia", "cuda", None, (), "P0", 700.0)
    plan = SessionPlan.of("a-study", 0, machine)
    record = SessionRecord(plan, {}, {}, "0" * 64, datetime.now(UTC), method="1.1")
    document = to_json(record)
    assert from_json(SessionRecord, document).method == "1.1"
    del document["method"]
    assert from_json(SessionRecord, document).method == "1.0"


@pytest.fixture
def simulated_boards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated boards continue the committed study, with short windows."""
    plan_continuation = earlier._plan_continuation

    def plan_simulation(*arguments: Any) -> StudyPlan:
        plan = plan_continuation(*arguments)
        settings = replace(plan.settings, long_s=0.2, ladder_s=0.2, burn_in_s=0.2)
        return replace(plan, settings=settings, implementation=SIMULATED_MODELS)

    def queue_two_models(entries: Any, *arguments: Any) -> WorkQueue:
        return WorkQueue(entries[:2], *arguments)

    monkeypatch.setattr(command, "WorkQueue", queue_two_models)
    monkeypatch.setattr(earlier, "_plan_continuation", plan_simulation)
    monkeypatch.setattr(earlier.EarlierStudy, "refuse_other_boards", lambda *arguments: None)


@pytest.mark.usefixtures("simulated_boards")
def test_committed_study_that_began_with_method_1_0_is_continued_by_method_1_1(
    tmp_path: Path,
) -> None:
    request = StudyRequest(RunRequest("image-inference", simulate="h200", gpus=2))
    command.run(request, COMMITTED, tmp_path)
    (bundle,) = (path for path in tmp_path.iterdir() if not path.name.startswith("."))
    study = json.loads((bundle / "study.json").read_text())
    assert study["method"] == "1.1"
    methods = [session.get("method") for session in study["sessions"]]
    assert methods == [None] * 3 + ["1.1"] * (len(methods) - 3)
    assert {work["status"] for work in study["work"]} == {"measured", "skipped", "not-reached"}
    findings = judge(bundle, signed=False).findings
    # The sizes of simulated models are those of timm's table, and not those that PyTorch counts.
    assert {f.rule for f in findings if f.severity == Severity.ERROR} == {"Y117"}
    # Y131 lets a study contain the sessions of one that it continues.
    assert list_sessions(bundle)[:-1] == list_sessions(COMMITTED)


def list_sessions(bundle: Path) -> list[str]:
    """The digests of the sessions of a study, as rules across studies see them."""
    view = open_view(bundle, read_files(bundle))
    assert isinstance(view, StudyBundle)
    summary = summarize_study(view)
    assert summary is not None
    return [session.sha256 for session in summary.sessions]


class StoppedSampler(ScriptedSampler):
    """A sampler that is stopped for half a second during its first windows."""

    def __init__(self, worker: ScriptedWorker, stopped_windows: int) -> None:
        super().__init__(worker, has_counter=True)
        self._stopped_windows = stopped_windows

    def read_window(self, start_ns: int, end_ns: int) -> tuple[list[WindowSample], ...]:
        (samples,) = super().read_window(start_ns, end_ns)
        if self._stopped_windows == 0:
            return (samples,)
        self._stopped_windows -= 1
        return (samples[:3] + samples[8:],)


@pytest.mark.parametrize(
    ("stopped_windows", "batches"),
    [(1, [1, 1, 2, 4, 8]), (2, [1, 1, 1, 2, 4, 8]), (4, [1, 1, 1, 2, 2, 4, 8])],
)
def test_window_in_which_the_sampler_was_stopped_is_measured_again_twice(
    stopped_windows: int, batches: list[int]
) -> None:
    worker, lines = ScriptedWorker(), []
    sampler: Any = StoppedSampler(worker, stopped_windows)
    fake_worker: Any = worker
    points = ModelMeter(fake_worker, sampler, SETTINGS, lines.append).measure_ladder()
    assert worker.batches == batches
    assert [point.batch for point in points] == [1, 2, 4, 8]
    assert lines.count("batch 1: 600 ms without a power reading") == min(stopped_windows, 3)
