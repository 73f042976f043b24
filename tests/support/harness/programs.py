"""The programs of wattmark as processes: a short simulated run, and the environment they run in."""

import os
from pathlib import Path

SIMULATED = ["resnet50-train", "--simulate", "h200", "--epoch-seconds", "0.2", "-o", "out"]


def make_buffered_environment() -> dict[str, str]:
    """The environment without PYTHONUNBUFFERED. The programs run in a directory of the test."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return {**environment, "PYTHONPATH": str(Path(__file__).parents[3])}
