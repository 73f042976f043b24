"""The files that a worker writes for the harness: events, batch windows and requests."""

import csv
import json
import os
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import IO

import numpy as np

from harness.run.workers.worker_events import (
    RankEndedEpoch,
    RankEndedPhase,
    WorkerEvent,
    worker_event_to_json,
)
from rules.bundle_format.records import BATCH_COLUMNS, REQUEST_COLUMNS, BatchWindow, ServedRequest
from rules.contract import Training
from rules.metrics.intervals import join_intervals


class EventLog:
    """The files that a worker writes. Every entry is on disk before the next batch runs."""

    def __init__(self, directory: Path, rank: int) -> None:
        self._directory, self._rank = directory, rank
        self._events = (directory / f"events.{rank}.jsonl").open("w")
        self._batches = self._create_table("batches", BATCH_COLUMNS)
        self._requests: IO[str] | None = None

    def write_event(self, event: WorkerEvent) -> None:
        self._events.write(json.dumps(worker_event_to_json(event)) + "\n")
        _flush_to_disk(self._events)

    def write_phase(self, phase: str, start_ns: int, end_ns: int) -> None:
        self.write_event(
            RankEndedPhase(rank=self._rank, phase=phase, start_ns=start_ns, end_ns=end_ns)
        )

    def write_epoch(
        self,
        epoch: int,
        windows: Sequence[BatchWindow],
        losses: Sequence[float],
        trainings: Sequence[Training] = (),
    ) -> None:
        # The windows go first: the harness reads them when it sees the event.
        _write_rows(self._batches, windows)
        # Subtract while the times are integers, because a double does not hold the ns exactly.
        start_ns = min(window.start_ns for window in windows)
        times_s = np.array([(w.start_ns - start_ns, w.end_ns - start_ns) for w in windows]) / 1e9
        starts, ends = join_intervals(times_s[:, 0], times_s[:, 1])
        self.write_event(
            RankEndedEpoch(
                rank=self._rank,
                epoch=epoch,
                items=sum(window.items for window in windows),
                # Windows of requests overlap, so the first to end is not always the first to start.
                start_ns=start_ns,
                end_ns=max(window.end_ns for window in windows),
                active_s=float((ends - starts).sum()),
                losses=tuple(losses),
                trainings=tuple(trainings),
            )
        )

    def write_requests(self, requests: Sequence[ServedRequest]) -> None:
        self._requests = self._requests or self._create_table("requests", REQUEST_COLUMNS)
        _write_rows(self._requests, requests)

    def _create_table(self, name: str, columns: tuple[str, ...]) -> IO[str]:
        file = (self._directory / f"{name}.{self._rank}.csv").open("w", newline="")
        csv.writer(file, lineterminator="\n").writerow(columns)
        return file


def _write_rows(table: IO[str], rows: Sequence[BatchWindow | ServedRequest]) -> None:
    csv.writer(table, lineterminator="\n").writerows(astuple(row) for row in rows)
    _flush_to_disk(table)


def _flush_to_disk(file: IO[str]) -> None:
    file.flush()
    # A crash of the node loses at most the epoch in progress.
    os.fsync(file.fileno())
