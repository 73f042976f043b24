"""A sweep that is killed at a random moment: no finished run is lost, and it resumes to the same set of runs.

WATTMARK_KILLS says at how many moments; `make test-kill` has more of them than `make test`.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from checker.engine import judge
from harness import simulator
from harness.journal import JOURNAL_FILE
from harness.meters import open_meter

KILLS = int(os.environ.get("WATTMARK_KILLS", "2"))
CAPS_W = (300, 500)
LONGEST_S = 30.0  # about what the sweep takes on a loaded machine, so that some are killed late
DEADLINE_S = 180.0
pytestmark = pytest.mark.xdist_group("machine")  # they keep both cores busy


def start(*arguments: str) -> subprocess.Popen[str]:
    """A sweep in a process of its own."""
    command = [sys.executable, "-m", "harness.cli", "sweep", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.1)


def bundles(out: Path) -> dict[str, bytes]:
    """The manifest of every bundle in `out`, by the bundle's name. It vouches for the other files."""
    return {p.parent.name: p.read_bytes() for p in out.glob("*/MANIFEST.json") if not p.parent.name.startswith(".")}


def restored(folder: Path) -> bool:
    """Whether every board has its default cap and no journal of a run is left."""
    meter = open_meter("simulated:h200")
    try:
        states = [meter.readback(d.uuid, frozenset()) for d in meter.devices()]
    finally:
        meter.close()
    return all(s.enforced_mw == s.default_mw for s in states) and not (folder / JOURNAL_FILE).exists()


@pytest.mark.parametrize("kill", range(KILLS))
def test_killed_sweep_loses_no_finished_run_and_resumes_to_the_same_set(tmp_path: Path, kill: int) -> None:
    moment_s = random.Random(f"sweep {kill}").uniform(0, LONGEST_S)
    print(f"killed {moment_s:.2f} s after its plan was written")
    with simulator.running("h200") as folder:
        asked = ["--simulate", "h200", "--epoch-seconds", "0.3", "--caps", ",".join(map(str, CAPS_W)), "--out", str(tmp_path)]
        process = start("resnet50-train", *asked)
        wait_for(lambda: list(tmp_path.glob("*.sweep.json")) or process.poll() is not None, "the plan")
        (path,) = tmp_path.glob("*.sweep.json")
        plan = path.read_bytes()
        time.sleep(moment_s)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=DEADLINE_S)
        wait_for(lambda: restored(folder), "the caps that were found")
        kept = bundles(tmp_path)
        for name in kept:
            assert judge(tmp_path / name, signed=False).status == "pass"

        again = start("--resume", str(path))
        told, _ = again.communicate(timeout=DEADLINE_S)
        assert again.returncode == 0, told
        assert f"{len(kept)} of {len(CAPS_W)} runs finished so far" in told
        assert restored(folder)
    assert path.read_bytes() == plan
    assert kept.items() <= bundles(tmp_path).items()
    results = [json.loads((tmp_path / name / "result.json").read_text()) for name in bundles(tmp_path)]
    assert all(judge(tmp_path / r["run_id"], signed=False).status == "pass" for r in results)
    planned = [(entry["place"], entry["cap_w"], entry["repeat"]) for entry in json.loads(plan)["entries"]]
    assert Counter((r["sweep"]["place"], r["power"]["cap_w"], r["sweep"]["repeat"]) for r in results) == Counter(planned)
