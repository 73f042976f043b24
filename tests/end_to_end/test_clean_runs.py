"""A few of the runs of benchmarks/clean_runs.py: simulated in the harness's own way, made as closed
ones, and the committed."""

import subprocess
import sys
from pathlib import Path

CLEAN_RUNS = Path(__file__).parents[2] / "benchmarks" / "clean_runs.py"


def test_no_error_on_clean_runs(tmp_path: Path) -> None:
    command = [sys.executable, CLEAN_RUNS, "--simulated", "2", "--made", "4", "--keep", tmp_path]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "simulated: 2 judged, 0 errors" in process.stdout
    assert "made: 4 judged, 0 errors" in process.stdout
