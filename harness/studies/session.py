"""A session of a study: the boards of a node measure the entries of one list."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import partial

from harness.run.node_share import ClockReading
from harness.run.workers.launch import make_board_environment
from harness.studies.boards.board_run import AnchorBatch, BoardRun, BoardTask
from harness.studies.boards.work_queue import WorkQueue
from harness.studies.plan import SessionPlan, StudyEntry, StudyPlan
from harness.studies.progress import StudyView
from harness.studies.study_directory import SessionDirectory
from rules.bundle_format.records import Json

STOP_TIMEOUT_S = 30.0


def run_session(
    plan: StudyPlan,
    directory: SessionDirectory,
    work: WorkQueue,
    anchor: tuple[StudyEntry, AnchorBatch],
    view: StudyView,
    ensure_watchdog: Callable[[], None],
) -> None:
    """Measure the entries of `work` on the boards of the session in `directory`. `anchor` is the
    anchor and its batch size.

    Raises RunFailed, SamplerError, WatchdogError or OSError if a board cannot go on, and
    Interrupted. What was measured so far is then in the directory.
    """
    session = directory.record.plan
    started_s = time.monotonic()
    directory.change(clocks=(_read_clocks(session, "before"),))
    watchdog_lock = threading.Lock()

    def ensure_one_watchdog() -> None:
        with watchdog_lock:
            ensure_watchdog()

    entry, anchor_batch = anchor
    runs = []
    for index, device in enumerate(session.devices):
        environment, torch_device = make_board_environment(
            session.torch_device, session.devices, index
        )
        task = BoardTask(
            plan,
            session,
            device,
            torch_device,
            directory.make_board_directory(index),
            environment,
            entry,
        )
        runs.append(BoardRun(task, work, anchor_batch, directory, view, ensure_one_watchdog))
    try:
        _run_boards(runs)
    finally:
        # By the monotonic clock of the samples. The wall clock may be set while a session goes on.
        ended_at = directory.record.started_at + timedelta(seconds=time.monotonic() - started_s)
        clocks = (*directory.record.clocks, _read_clocks(session, "after"))
        directory.change(ended_at=ended_at, clocks=clocks)


def _run_boards(runs: Sequence[BoardRun]) -> None:
    """Run all boards, each in a thread, until all have ended. Raises the first error of one."""
    outcomes: queue.Queue[BaseException | None] = queue.Queue()

    def run_board(run: BoardRun) -> None:
        try:
            run.run()
        except BaseException as error:
            outcomes.put(error)
        else:
            outcomes.put(None)

    threads = [threading.Thread(target=partial(run_board, run), daemon=True) for run in runs]
    try:
        for thread in threads:
            thread.start()
        for _ in threads:
            if (error := outcomes.get()) is not None:
                raise error
    finally:
        for run in runs:
            run.stop()
        for thread in threads:
            thread.join(STOP_TIMEOUT_S)


def _read_clocks(session: SessionPlan, when: str) -> Json:
    """Read both clocks. The pairs relate the monotonic clock of a session to wall time."""
    reading = ClockReading(session.node_name, when, time.monotonic_ns(), time.time_ns())
    return asdict(reading)
