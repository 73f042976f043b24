"""Whole runs on this machine for the tests of sessions: their plans, bundles and processes."""

import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from harness.power.sources import open_source
from harness.run import command
from harness.run.plan import Machine, Plan, RunRequest
from harness.run.planning import make_plan
from harness.system import DESCRIPTION, hash_source
from rules.bundle_format.files import read_files
from rules.testing.frames import EvidenceFrames, read_frames

TESTS = Path(__file__).parents[2]


def make_test_plan(
    implementation: str = "support.implementations:build",
    gpus: int = 1,
    batch_size: int = 4,
    epoch_s: float = 0.3,
) -> Plan:
    meter = open_source("simulated:h200")
    run_request = RunRequest(
        "resnet50-train", "baseline", str(batch_size), smoke=True, epoch_s=epoch_s
    )
    machine = Machine("simulated:h200", "cpu", None, tuple(meter.devices()[:gpus]), "P0", 700.0)
    plan = make_plan(run_request, machine, dict(DESCRIPTION), hash_source())
    return change_plan(plan, implementation=implementation)


def change_plan(plan: Plan, **changes: Any) -> Plan:
    """The plan with other values of its fields, or of those of its configuration and machine."""
    parts = {
        name: replace(
            part, **{f.name: changes.pop(f.name) for f in fields(part) if f.name in changes}
        )
        for name, part in (("configuration", plan.configuration), ("machine", plan.machine))
    }
    return replace(plan, **parts, **changes)


def carry_out(plan: Plan, tmp_path: Path) -> Path:
    """Carry out a plan in `tmp_path`. Returns the directory of the bundle."""
    directory = tmp_path / ".running"
    directory.mkdir()
    command.carry_out(plan, directory)
    return tmp_path / plan.run_id


def read_evidence(bundle: Path) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(bundle))
    assert not problems and evidence
    return evidence


def find_bundles(root: Path) -> list[Path]:
    return [p.parent for p in root.rglob("MANIFEST.json")]


def list_command_lines(directory: Path) -> list[str]:
    """The command lines of all processes that name `directory`."""
    command_lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command_line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(directory) in command_line:
            command_lines.append(command_line)
    return command_lines


def wait_until_gone(directory: Path, within_s: float = 60) -> bool:
    """Wait until no process names `directory`. Returns whether this happened in time."""
    deadline = time.monotonic() + within_s
    while list_command_lines(directory):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
