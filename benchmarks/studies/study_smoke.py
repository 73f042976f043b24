"""Runs the worker of studies briefly with each engine, precision and a few batch sizes, and prints
one line for each.

    python benchmarks/studies/study_smoke.py [--device cuda:0] [--models NAME@SIZE,…] [--engines …]
        [--precisions …] [--batches 1,32,256,100000,1] [--seconds 0.5]

The last of these batch sizes shows that the memory of the one before, which does not fit, is free.
The script returns 1 if a worker died.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
from typing import Any

from harness.run.workers.gpu_uuid import read_gpu_uuid
from rules.study_contract import ENGINES, PRECISIONS

IMPLEMENTATION = "reference.image_inference:open_model"
Answer = dict[str, Any]


class Worker:
    """A worker process. It is started again after it died."""

    def __init__(self, device: str, uuid: str) -> None:
        self._device, self._uuid = device, uuid
        self.deaths = 0
        self._start()

    def _start(self) -> None:
        settings = {
            "implementation": IMPLEMENTATION,
            "uuid": self._uuid,
            "device": self._device,
            "harness_pid": os.getpid(),
            "is_simulated": False,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness.studies.worker", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        print(self._read(), flush=True)

    def ask(self, command: str, **fields: Any) -> Answer:
        """Send a command and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"command": command, **fields}) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        if answer["kind"] == "failed":
            self.deaths += 1
            self._process.wait()
            self._start()
        return answer

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> Answer:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            return {"kind": "failed", "reason": f"exit status {self._process.wait()}"}
        answer: Answer = json.loads(line)
        return answer


def describe_window(answer: Answer, batch: int) -> str:
    """Return the figures of an answer to `measure`, or its reason."""
    if answer["kind"] != "measured":
        return f"{answer['kind']} {answer.get('outcome', '')}: {answer['reason']}"
    parts = answer["parts"]
    seconds = (parts[-1]["end_ns"] - parts[0]["start_ns"]) / 1e9
    batches = sum(part["batches"] for part in parts)
    return (
        f"{batch * batches / seconds:12.1f} images/s {1e3 * seconds / batches:10.3f} ms/batch "
        f"{answer['peak_bytes'] / 2**30:8.2f} GiB {batches:6d} batches in {seconds:.2f} s"
    )


def try_model(worker: Worker, job: dict[str, Any], batches: list[int], seconds: float) -> None:
    """Measure a model at all batch sizes and print one line for each."""
    name = f"{job['architecture']}@{job['size']} {job['engine']} {job['precision']}"
    answer = worker.ask("open", job=job)
    if answer["kind"] != "opened":
        print(f"{name}: {answer['kind']}: {answer['reason']}", flush=True)
        return
    print(f"{name}: {answer}", flush=True)
    for batch in batches:
        answer = worker.ask("measure", batch=batch, seconds=seconds, min_batches=1, parts=1)
        print(f"{name} batch {batch:7d}: {describe_window(answer, batch)}", flush=True)
        if answer["kind"] == "failed":
            return
    worker.ask("idle")


def main() -> int:
    """Try all combinations. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument(
        "--models",
        default="resnet50@224,vit_base_patch16_224@224,mobilenetv3_large_100@224",
        help="architectures with the side of the input, separated by commas",
    )
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--precisions", default=",".join(PRECISIONS))
    parser.add_argument("--batches", default="1,32,256,100000,1")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a window")
    options = parser.parse_args()
    kind, _, index = options.device.partition(":")
    uuid = (read_gpu_uuid(int(index)) or "") if kind == "cuda" else ""
    worker = Worker(options.device, uuid)
    for model, engine, precision in itertools.product(
        options.models.split(","), options.engines.split(","), options.precisions.split(",")
    ):
        architecture, _, size = model.partition("@")
        job = {
            "architecture": architecture,
            "size": int(size),
            "engine": engine,
            "precision": precision,
            "seed": 1,
            "device": options.device,
            "uuid": uuid,
            "channels_last": True,
            "autograd": False,
        }
        batches = [int(batch) for batch in options.batches.split(",")]
        try_model(worker, job, batches, options.seconds)
    worker.stop()
    print(f"{worker.deaths} workers died")
    return 1 if worker.deaths else 0


if __name__ == "__main__":
    sys.exit(main())
