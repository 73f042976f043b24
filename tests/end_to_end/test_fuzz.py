"""A few hundred of the cases of benchmarks/fuzz.py, in a process of their own; the benchmark runs a
hundred thousand. And what it found.
"""

import subprocess
import sys
from pathlib import Path

from conftest import Submissions, copy_evidence

from checker.engine import judge

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz.py"


def test_mutated_bundles_and_documents_are_answered() -> None:
    process = subprocess.run(
        [sys.executable, FUZZ, "--cases", "250"], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "250 cases by now, 0 failed" in process.stdout


def test_extension_beside_the_headline_figures_is_no_figure(submissions: Submissions) -> None:
    evidence = copy_evidence()
    evidence.result["headline"]["x-remarks"] = []
    assert judge(submissions.add(evidence)).findings == ()
