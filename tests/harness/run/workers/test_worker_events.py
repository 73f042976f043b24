"""The events of workers: their lines in the file, and how the harness follows them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.run.workers.event_log import EventLog
from harness.run.workers.worker_events import (
    JobRefused,
    RankEndedEpoch,
    WorkerEvent,
    WorkerEventReader,
    WorkerFinished,
    WorkerStarted,
    WorkloadBuilt,
    worker_event_from_json,
    worker_event_to_json,
)
from rules.bundle_format.records import BatchWindow
from rules.contract import Training

STARTED = WorkerStarted(rank=0, pid=17, source_sha256="0" * 64)
EPOCH = RankEndedEpoch(
    rank=1, epoch=3, items=64, start_ns=5, end_ns=9, active_s=3e-9, losses=(0.5, float("inf"), 0.25)
)
TRAINED = replace(EPOCH, trainings=(Training(7, 40, 0.9), Training(8, 35, 0.925)))
BUILT = WorkloadBuilt(
    rank=1,
    accelerators=("GPU-1", "GPU-2"),
    precision="bf16",
    parameters=10,
    input_shape=(3, 224, 224),
    settings={"compile": True},
    corpus_sha256=None,
    weights_sha256=None,
    inputs_sha256=None,
    implementation_sha256="1" * 64,
    seconds=1.5,
)


def write(path: Path, *events: WorkerEvent) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(worker_event_to_json(event)) + "\n" for event in events)


@pytest.mark.parametrize("event", [STARTED, EPOCH, TRAINED, BUILT, WorkerFinished(rank=2)])
def test_an_event_that_is_read_is_the_one_that_was_written(event: WorkerEvent) -> None:
    assert worker_event_from_json(json.loads(json.dumps(worker_event_to_json(event)))) == event


def test_a_line_names_the_event_and_has_no_numbers_that_json_lacks() -> None:
    line = worker_event_to_json(EPOCH)
    assert (line["event"], line["rank"], line["losses"]) == ("epoch", 1, [0.5, "inf", 0.25])
    assert list(worker_event_to_json(STARTED)) == ["event", "rank", "pid", "source_sha256"]
    json.dumps(line, allow_nan=False)


def test_events_are_read_once_and_an_incomplete_line_when_it_is_complete(tmp_path: Path) -> None:
    reader = WorkerEventReader(tmp_path, range(1, 3))
    assert list(reader.read_new()) == []
    write(tmp_path / "events.0.jsonl", STARTED)  # of another node
    write(tmp_path / "events.2.jsonl", WorkerFinished(rank=2))
    write(tmp_path / "events.1.jsonl", EPOCH)
    refused = JobRefused(rank=1, message="no")
    text = json.dumps(worker_event_to_json(refused)) + "\n"
    with (tmp_path / "events.1.jsonl").open("a") as file:
        file.write(text[:10])
    assert list(reader.read_new()) == [EPOCH, WorkerFinished(rank=2)]
    assert list(reader.read_new()) == []
    with (tmp_path / "events.1.jsonl").open("a") as file:
        file.write(text[10:])
    assert list(reader.read_new()) == [refused]


def test_epoch_has_the_time_in_which_a_batch_was_active(tmp_path: Path) -> None:
    start_ns, second_ns = 2**62, 10**9
    windows = [
        BatchWindow(0, batch, 0, start_ns + start_s * second_ns, start_ns + end_s * second_ns, 8)
        # The second batch lies inside the first. The pause before the third does not count.
        for batch, (start_s, end_s) in enumerate([(0, 2), (0, 1), (3, 4)])
    ]
    EventLog(tmp_path, 0).write_epoch(0, windows, [0.5])
    event = worker_event_from_json(json.loads((tmp_path / "events.0.jsonl").read_text()))
    assert isinstance(event, RankEndedEpoch)
    assert (event.active_s, event.items) == (3.0, 24)
    assert b"\r" not in (tmp_path / "batches.0.csv").read_bytes()
