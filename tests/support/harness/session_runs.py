"""Whole runs on this machine for the tests of sessions: their plans, bundles and processes."""

import time
from dataclasses import replace
from pathlib import Path

from harness.power.sources import open_source
from harness.run import command
from harness.run.plan import Machine, Plan, RunRequest
from harness.run.planning import make_plan
from harness.system import DESCRIPTION, hash_source
from rules.bundle_format.files import read_files
from rules.testing.frames import EvidenceFrames, read_frames

TESTS = Path(__file__).parents[2]


def plan(
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
    made = make_plan(run_request, machine, dict(DESCRIPTION), hash_source())
    return replace(made, implementation=implementation)


def take(one: Plan, tmp_path: Path) -> Path:
    """Carry out a plan in `tmp_path`; the bundle."""
    directory = tmp_path / ".running"
    directory.mkdir()
    command.carry_out(one, directory)
    return tmp_path / one.run_id


def evidence_of(bundle: Path) -> EvidenceFrames:
    evidence, problems = read_frames(read_files(bundle))
    assert not problems and evidence
    return evidence


def bundles(root: Path) -> list[Path]:
    return [p.parent for p in root.rglob("MANIFEST.json")]


def processes_of(directory: Path) -> list[str]:
    """Command lines of every process that names `directory`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(directory) in line:
            found.append(line)
    return found


def gone(directory: Path, within_s: float = 10) -> bool:
    deadline = time.monotonic() + within_s
    while processes_of(directory):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
