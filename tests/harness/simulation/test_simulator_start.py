"""The simulator process of a harness that was interrupted while it started the simulator."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("folder", [".", "removed"])
def test_simulator_ends_without_traceback_if_nobody_reads(tmp_path: Path, folder: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "harness.simulation.server", "h200", f"{folder}/socket"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, env=make_environment()
    ) as process:
        os.close(writer)
        if folder == ".":
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(2)
            process.terminate()
        assert process.stderr is not None and process.stderr.read() == b""


def make_environment() -> dict[str, str]:
    """The environment with buffered output and this checkout."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return {**environment, "PYTHONPATH": str(Path(__file__).parents[3])}
