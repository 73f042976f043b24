"""A worker of studies that runs no model: the architecture says how it fails.

It is started as `python -m support.harness.fake_study_worker SETTINGS`.
"""

import json
import os
import sys
import time
from typing import Any

REFUSED, DYING, HANGING, FAILING, LARGE = (
    "resnet18",
    "resnet26",
    "resnet34",
    "resnet51q",
    "resnet101",
)
"""Architectures that cannot be built, whose worker dies or hangs at a batch of two, whose worker
fails with a reason, and that do not even run one image."""
MAX_BATCH = 2
FACTS = {"flops": 8_000_000_000, "params": 1000, "activations": 1000}
SOUND_VARIABLE = "FAKE_STUDY_WORKER_IS_SOUND"
"""Environment variable with which no worker dies."""
REFUSING_VARIABLE = "FAKE_STUDY_WORKER_REFUSES"
"""Environment variable with another architecture that cannot be built."""


def measure(architecture: str, command: dict[str, Any]) -> dict[str, Any]:
    batch = command["batch"]
    if SOUND_VARIABLE in os.environ:
        architecture = ""
    if architecture == DYING and batch == 2:
        sys.exit(7)
    if architecture == HANGING and batch == 2:
        time.sleep(600)
    if architecture == FAILING:
        return {"kind": "failed", "reason": "RuntimeError: CUDA error"}
    if batch > (0 if architecture == LARGE else MAX_BATCH):
        return {"kind": "ended", "outcome": "out-of-memory", "reason": "no memory"}
    parts = []
    for _ in range(command["parts"]):
        start_ns = time.monotonic_ns()
        time.sleep(command["seconds"] / command["parts"])
        parts.append({"batches": 2, "start_ns": start_ns, "end_ns": time.monotonic_ns()})
    return {"kind": "measured", "parts": parts, "peak_bytes": 1000}


def main() -> None:
    architecture = ""

    def send(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), flush=True)

    print("a line of a library", file=sys.stderr, flush=True)
    send({"kind": "ready", "versions": {"torch": "2.11.0", "cuda": None}})
    for line in sys.stdin:
        command = json.loads(line)
        match command["command"]:
            case "open":
                architecture = command["job"]["architecture"]
                if architecture in (REFUSED, os.environ.get(REFUSING_VARIABLE)):
                    send({"kind": "refused", "reason": "no such size"})
                else:
                    send({"kind": "opened", **FACTS})
            case "measure":
                send(measure(architecture, command))
            case "idle":
                send({"kind": "idle"})
            case "stop":
                break


if __name__ == "__main__":
    main()
