"""Batch scripts of tests, and what their jobs leave in the directory of a test."""

import json
from pathlib import Path
from typing import Any

from support.kills import read_command_line
from support.sweep_runs import invoke

from checker.find import find_places

DEFAULT_CAPS_MW = {700_000}
"""The caps of the simulated boards of a node, without a run."""


def write_sweep_script(folder: Path, *arguments: object) -> Path:
    """Render the batch script of a sweep on simulated boards, with bundles in `folder`/out."""
    simulated = ["--simulate", "h200", "--out", folder / "out"]
    rendered = invoke("resnet50-train", "--slurm", *simulated, *arguments)
    assert rendered.exit_code == 0, rendered.output
    path = folder / "sweep.sbatch"
    path.write_text(rendered.output)
    return path


def read_results(folder: Path) -> list[dict[str, Any]]:
    """result.json of every bundle in `folder`/out."""
    bundles = find_places(folder / "out").bundles
    return [json.loads((bundle / "result.json").read_text()) for bundle in bundles]


def read_output(folder: Path) -> str:
    """What the jobs have printed."""
    return "\n".join(path.read_text() for path in sorted(folder.glob("*.out")))


def find_harness(folder: Path, *arguments: str) -> int:
    """The process id of the bench-submit that writes to `folder`/out with these arguments."""
    pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    expected = {argument.encode() for argument in arguments}
    # Its forks have the same command line, and are younger.
    return min(
        pid
        for pid in pids
        if expected <= set(line := read_command_line(pid))
        # A process that has just ended has no command line.
        and line
        and b"python" in line[0]
        and f"{folder}/out".encode() in b"\0".join(line)
    )


def list_unfinished(folder: Path) -> list[str]:
    """The names of the directories of unfinished runs in `folder`/out."""
    return [path.name for path in (folder / "out").glob(".*.running")]
