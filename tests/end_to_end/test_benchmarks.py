"""The scripts in benchmarks/: those that take long do their work in small."""

import ast
import importlib
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.console.blocks import list_blocks

ROOT = Path(__file__).parents[2]


def run_benchmark(script: str, *arguments: object) -> str:
    command = [sys.executable, ROOT / "benchmarks" / script, *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


def run_benchmark_of_the_page(script: str, *arguments: object) -> str:
    """Run the command of docs/performance.md for this script in small: with further arguments."""
    (command,) = (
        block.text
        for block in list_blocks(ROOT / "docs/performance.md")
        if block.text.startswith(f"python benchmarks/{script}")
    )
    return run_benchmark(script, *shlex.split(command)[2:], *arguments)


@pytest.mark.parametrize(
    ("script", "bundles", "says"),
    [
        ("check_bundles.py", 2, "2 bundles, 2 pass: "),
        ("report.py", 4, "4 passed, 0 failed"),
    ],
)
def test_rounds_that_are_timed_are_good_ones(script: str, bundles: int, says: str) -> None:
    assert says in run_benchmark_of_the_page(script, "--bundles", bundles)


def test_stages_of_the_check_are_timed() -> None:
    assert "ms  manifest" in run_benchmark("check_stages.py", "--bundles", 1)


@pytest.mark.parametrize(
    "script",
    sorted(
        path
        for folder in ("benchmarks", "benchmarks/node_power", "scripts")
        for path in (ROOT / folder).glob("*.py")
    ),
    ids=lambda path: path.name,
)
def test_what_scripts_import_from_the_project_is_there(script: Path) -> None:
    """Some scripts run on a GPU only, or take long: no other test runs these."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        package = (
            node.module.partition(".")[0]
            if isinstance(node, ast.ImportFrom) and node.module
            else ""
        )
        if package in {"harness", "rules", "checker", "reporting"}:
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")


def test_the_worker_of_studies_runs_a_model() -> None:
    words = "--device cpu --models test_resnet@32 --engines eager,cudagraph --precisions fp32"
    printed = run_benchmark(
        "studies/study_smoke.py", *words.split(), "--batches=1", "--seconds=0.01"
    )
    assert "test_resnet@32 eager fp32 batch       1: " in printed
    assert "images/s" in printed
    assert "test_resnet@32 cudagraph fp32: refused: engine cudagraph: needs a GPU" in printed
    assert printed.endswith("0 workers died\n")


def test_hostile_bundles_take_little_time_and_memory() -> None:
    """Two of those that took half a minute each; the benchmark fails above 5 s or 1 GiB."""
    printed = run_benchmark_of_the_page(
        "hostile_bundles.py", "490 000 pairs", "accelerators in samples"
    )
    rows = [line.strip("| ").split(" | ") for line in printed.splitlines()[2:]]
    assert [row[4] for row in rows] == ["S111", "S111"]


def test_every_power_log_of_mlperf_is_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    data = ROOT / "tests/harness/power_logs/data"
    names = {"ptd_torn.txt": "spl.txt", "training_node_0.txt.gz": "power/node_0.txt.gz"}
    for name, path in names.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        shutil.copy(data / name, tmp_path / path)
    (tmp_path / "ptd_logs.txt").write_text("SPEC PTDaemon Tool\n")
    printed = run_benchmark("node_power/mlperf_power_logs.py", tmp_path)
    assert "read     power/node_0.txt.gz: mlperf-training, 211 readings of 1 feeds" in printed
    assert "read     spl.txt: ptd, 12 readings of 3 feeds" in printed
    assert "refused  ptd_logs.txt: a log of PTDaemon without readings; take spl.txt" in printed
    assert printed.endswith("2 read, 1 refused, 0 failed\n")


def test_page_of_forgeries_has_the_strategies_of_the_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Judging them takes minutes: `benchmarks/forensics.py --check` does."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    strategies = importlib.import_module("forgeries.strategies").STRATEGIES
    page = (ROOT / "docs/forensics.md").read_text(encoding="utf-8")
    tables = dict(re.findall(r"<!-- begin (\w+) -->\n(.*?)<!-- end \1 -->", page, re.DOTALL))
    rows = [row for row in tables["strategies"].splitlines() if row][2:]
    titles = [
        re.sub(r" \([^()]*\)$", "", title)
        for row in rows
        for title in row.split(" | ")[0].strip("| ").split("; ")
    ]
    assert sorted(titles) == sorted(s.title for s in strategies)
    assert len(strategies) >= 31
    alone, beside_others = re.findall(r"(\d+) (?:alone|beside other runs)", tables["unseen"])
    assert int(alone) <= 5 and int(beside_others) <= 3
    unseen = [row.split(" | ")[0].strip("| ") for row in tables["unseen"].splitlines()[5:] if row]
    assert unseen
    assert all(s.why_unseen for s in strategies if s.title in unseen)


SOURCE = b'''"""Docstring with 1 < 2."""
from typing import Any

LIMIT_W = 700


def within(power_w: list[float], cap_w: float = 5.0) -> Any:
    """Whether 1 < 2."""
    print(f"{1 < 2}")
    return any(w <= cap_w for w in power_w[1:] if w > 0) and not LIMIT_W
'''


def test_changes_to_code_are_small_and_leave_docstrings_and_formatted_text() -> None:
    """Of benchmarks/code_mutations/mutate_code.py."""
    find_changes = runpy.run_path(str(ROOT / "benchmarks/code_mutations/code_changes.py"))[
        "find_changes"
    ]
    changes = find_changes("module.py", SOURCE)
    edits = {(change.line, change.code, change.changed_to) for change in changes}
    assert (4, "700", "701") in edits and (4, "700", "699") in edits
    assert (7, "5.0", "6.0") in edits
    assert (9, 'print(f"{1 < 2}")', "pass") in edits
    assert (10, "w <= cap_w", "(w < cap_w)") in edits
    assert (10, "w <= cap_w", "(w >= cap_w)") in edits
    assert (10, "power_w[1:]", "(power_w[:])") in edits
    assert (10, "not LIMIT_W", "(LIMIT_W)") in edits
    assert {change.changed_to for change in changes if change.line == 10} >= {"return None"}
    assert {change.line for change in changes} == {4, 7, 9, 10}
    assert len({change.key for change in changes}) == len(changes)
    for change in changes:
        edited_lines = change.apply(SOURCE).splitlines()
        original = SOURCE.splitlines()
        pairs = enumerate(zip(original, edited_lines, strict=True), 1)
        differ = [n for n, (before, after) in pairs if before != after]
        assert differ == [change.line]
