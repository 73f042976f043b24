"""The second program for the arithmetic of headline figures agrees with the committed runs."""

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from support.committed_runs import SUBMISSIONS, find_reference_runs

REPLAY = Path(__file__).parents[2] / "examples/replay.py"


def replay(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, REPLAY, directory], capture_output=True, text=True, check=False
    )


def test_committed_headlines_are_recomputed_to_nine_digits() -> None:
    results = map(json.loads, (path.read_text() for path in SUBMISSIONS.rglob("result.json")))
    runs = sum("ranks" in result for result in results)
    result = replay(SUBMISSIONS)
    assert result.returncode == 0 and not result.stderr
    assert re.search(rf"of {runs} runs$", result.stdout)
    assert float(result.stdout.splitlines()[-1].split()[0]) < 1e-9


def test_changed_figure_and_changed_table_are_found(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(find_reference_runs()[0], bundle)
    path = bundle / "result.json"
    stated = json.loads(path.read_text())
    for name in ("mean", "sd"):
        changed = json.loads(json.dumps(stated))
        changed["headline"]["joules_per_item"][name] *= 1 - 1e-8
        path.write_text(json.dumps(changed))
        result = replay(tmp_path)
        assert result.returncode == 1 and " 1.0e-08 " in f" {result.stdout}"
    del stated["headline"]["mfu"]
    path.write_text(json.dumps(stated))
    assert "inf" in replay(tmp_path).stdout


def test_directory_without_runs_is_no_success(tmp_path: Path) -> None:
    assert replay(tmp_path).returncode == 1


def test_program_is_short_and_imports_nothing_of_wattmark() -> None:
    text = REPLAY.read_text()
    nodes = list(ast.walk(ast.parse(text)))
    imported = {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    assert imported - {"numpy"} <= sys.stdlib_module_names and len(text.splitlines()) <= 200
