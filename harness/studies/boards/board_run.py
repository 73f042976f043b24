"""One board of a session: its sampler, its worker, and the entries that it measures."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.power.sampler import Sampler, Settings
from harness.power.source import Device
from harness.processes import list_descendants
from harness.run.session import RunFailed
from harness.studies.boards.measuring import ModelMeter, PowerUnread
from harness.studies.boards.work_queue import WorkQueue
from harness.studies.boards.worker_process import StudyWorker, WorkerDied, make_worker_settings
from harness.studies.plan import BoardIdle, SessionPlan, StudyEntry, StudyPlan
from harness.studies.progress import StudyView
from harness.studies.records import (
    FAILED_PREFIX,
    EntryRecord,
    MeasuredPoint,
    find_best,
)
from harness.studies.study_directory import SessionDirectory
from rules.bundle_format.records import Json
from rules.bundle_format.study_records import ANCHOR
from rules.protocol import CURRENT
from rules.studies.declaration import MEASURED, SKIPPED
from rules.study_contract import ModelFacts, ModelRefused

SETTLE_S = 0.25
"""Energy is interpolated at the edges of windows, so samples surround the first and the last."""
MAX_DEATHS = 3
"""So many workers in a row die before the session ends: the board is at fault, not the models."""

Measure = Callable[[ModelMeter], tuple[MeasuredPoint, ...]]


class BoardStopped(Exception):
    """The session ends early, and this board stops."""


class AnchorBatch:
    """The batch size of the anchor. The first board finds it, the others wait for it."""

    def __init__(self, batch: int | None) -> None:
        self.lock = threading.Lock()
        self.batch = batch
        """None until it is known."""


@dataclass(frozen=True)
class BoardTask:
    """What a board needs of its session."""

    plan: StudyPlan
    session: SessionPlan
    device: Device
    torch_device: str
    """A torch device string for the worker."""
    sample_directory: Path
    environment: Mapping[str, str]
    """The environment variables of the worker."""
    anchor: StudyEntry


class BoardRun:
    """Measures entries on one board, in a thread of its own. `stop` ends it from another."""

    def __init__(
        self,
        task: BoardTask,
        queue: WorkQueue,
        anchor_batch: AnchorBatch,
        directory: SessionDirectory,
        view: StudyView,
        ensure_watchdog: Callable[[], None],
    ) -> None:
        self._task, self._queue, self._anchor_batch = task, queue, anchor_batch
        self._directory, self._view = directory, view
        self._ensure_watchdog = ensure_watchdog
        self._stopped = threading.Event()
        self._worker: StudyWorker | None = None
        self._stack = ExitStack()
        """Ends the worker."""
        self._deaths = 0
        """Workers that died in a row."""

    def stop(self) -> None:
        """End the measurement within a second. The entry in work is lost."""
        self._stopped.set()
        if worker := self._worker:
            worker.kill()

    def run(self) -> None:
        """Measure entries until none is left. Raises BoardStopped after `stop`, RunFailed,
        SamplerError, WatchdogError or OSError."""
        task = self._task
        settings = Settings(
            task.session.meter,
            (task.device.uuid,),
            task.session.node_name,
            CURRENT.sample_interval_ms,
            str(task.sample_directory.resolve()),
        )
        with Sampler(settings) as sampler:
            before = {"when": "before", **self._read_back(sampler)}
            idle = self._measure_idle(sampler)
            with self._stack:
                worker = self._start_worker()
                self._directory.add_board(before, idle, worker.versions)
                self._warm_up(sampler)
                self._measure_entries(sampler)
            self._directory.add_readback({"when": "after", **self._read_back(sampler)})
            self._wait(SETTLE_S)
            sampler.stop()

    def _wait(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            raise BoardStopped

    def _measure_idle(self, sampler: Sampler) -> BoardIdle | None:
        self._wait(SETTLE_S)
        start_ns = time.monotonic_ns()
        self._wait(self._task.plan.settings.idle_s)
        end_ns = time.monotonic_ns()
        (power_w,) = sampler.measure_power(start_ns, end_ns)
        sampler.flush()
        return None if power_w is None else BoardIdle(power_w, start_ns, end_ns)

    def _start_worker(self) -> StudyWorker:
        """Start a worker in place of the present one. Raises RunFailed."""
        task = self._task
        self._stack.close()
        settings = make_worker_settings(
            task.plan.implementation, task.device.uuid, task.torch_device, task.session.meter
        )
        worker = StudyWorker(settings, task.environment, lambda line: self._log(f"| {line}"))
        self._worker = worker
        try:
            self._stack.enter_context(worker)
        except WorkerDied as error:
            self._check_stopped()
            raise RunFailed(f"{task.device.uuid}: the worker does not start: {error}") from None
        # `stop` may have come while the worker started, and killed nothing.
        self._check_stopped()
        return worker

    def _check_stopped(self) -> None:
        if self._stopped.is_set():
            raise BoardStopped

    def _warm_up(self, sampler: Sampler) -> None:
        """Bring the board to its steady power, and measure the anchor for the first time. Raises
        RunFailed if it cannot be measured."""
        record = self._carry_out(sampler, self._task.anchor, self._measure_first_anchor, True)
        if record.status == SKIPPED:
            raise RunFailed(
                f"the anchor {self._task.anchor} cannot be measured: {record.reason}; without it "
                "a study does not show drift"
            )

    def _measure_first_anchor(self, meter: ModelMeter) -> tuple[MeasuredPoint, ...]:
        meter.burn_in()
        ladder: tuple[MeasuredPoint, ...] = ()
        with self._anchor_batch.lock:
            if self._anchor_batch.batch is None:
                ladder = meter.measure_ladder()
                self._anchor_batch.batch = find_best(ladder).batch
        return (*ladder, *self._measure_anchor(meter))

    def _measure_anchor(self, meter: ModelMeter) -> tuple[MeasuredPoint, ...]:
        assert self._anchor_batch.batch is not None
        return meter.measure_long(ANCHOR, [self._anchor_batch.batch])

    def _measure_entries(self, sampler: Sampler) -> None:
        since_anchor, boards = 0, len(self._task.session.devices)
        while (entry := self._queue.take()) is not None:
            record = self._carry_out(sampler, entry, ModelMeter.measure_model, False)
            self._queue.finish(entry, record.duration_s)
            self._view.show_entry(record, self._queue.estimate_left_s(boards))
            since_anchor += 1
            if since_anchor == self._task.plan.settings.anchor.every:
                self._carry_out(sampler, self._task.anchor, self._measure_anchor, True)
                since_anchor = 0
        if since_anchor:
            self._carry_out(sampler, self._task.anchor, self._measure_anchor, True)

    def _carry_out(
        self, sampler: Sampler, entry: StudyEntry, measure: Measure, is_anchor: bool
    ) -> EntryRecord:
        """Measure an entry or the anchor, and write its record. Raises BoardStopped, RunFailed,
        SamplerError or OSError."""
        record = self._measure(sampler, entry, measure, is_anchor)
        # The sample that follows the last window must be on disk before the record of the entry.
        # `ModelMeter` has waited for it.
        sampler.flush()
        record = replace(record, readback=self._read_back(sampler))
        self._directory.add_entry(record)
        if is_anchor and record.status == SKIPPED:
            self._view.print_line(f"anchor {entry}: not measured: {record.reason}")
        self._deaths = self._deaths + 1 if record.has_failed else 0
        if self._deaths == MAX_DEATHS:
            raise RunFailed(
                f"{self._task.device.uuid}: {MAX_DEATHS} workers in a row died, the last one: "
                f"{record.reason}; check the board with bench-submit doctor"
            )
        if record.has_failed:
            self._start_worker()
        return record

    def _measure(
        self, sampler: Sampler, entry: StudyEntry, measure: Measure, is_anchor: bool
    ) -> EntryRecord:
        task, start_ns = self._task, time.monotonic_ns()
        facts: ModelFacts | None = None
        points: tuple[MeasuredPoint, ...] = ()
        reason = None
        worker = self._worker
        assert worker is not None
        try:
            facts = worker.open(task.plan.make_job(entry, task.torch_device, task.device.uuid))
            points = measure(ModelMeter(worker, sampler, task.plan.settings, self._log))
            worker.close_model()
        except (ModelRefused, PowerUnread) as error:
            reason = str(error)
        except WorkerDied as error:
            self._check_stopped()
            reason = f"{FAILED_PREFIX}{error}"
        return EntryRecord(
            entry=entry,
            status=MEASURED if reason is None else SKIPPED,
            reason=reason,
            session=task.session.number,
            accelerator=task.device.uuid,
            is_anchor=is_anchor,
            facts=facts,
            points=points,
            readback={},
            start_ns=start_ns,
            end_ns=time.monotonic_ns(),
            ended_at=datetime.now(UTC).isoformat(),
        )

    def _read_back(self, sampler: Sampler) -> Json:
        """Limits and state of the board now. Raises SamplerError and WatchdogError."""
        # Replaces a watchdog that died, or ends the session if none starts.
        self._ensure_watchdog()
        pids = [self._worker.pid] if self._worker else []
        # Some libraries list every process that has a board open, the harness too.
        (readback,) = sampler.readback([os.getpid(), *list_descendants(pids)])
        return readback

    def _log(self, line: str) -> None:
        # A full disk ends the session elsewhere. Here it must not stop the reader of the worker's
        # output, because the worker blocks when nobody reads it.
        with suppress(OSError):
            self._view.log_line(f"{self._task.device.uuid}: {line}")
