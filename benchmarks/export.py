"""What `--export` costs the sampler: its ticks on four simulated boards without an export, with one
that is scraped each second, and with one to a text file, in turn.

    python benchmarks/export.py [SECONDS] [ROUNDS]

Each leg lasts SECONDS. The harness side of a leg is the loop that a run has.
"""

import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

from harness.power.sampler import SAMPLES_FILE, Sampler, Settings
from harness.power.sources import open_source
from harness.run.export import ExportTarget, RunExport
from harness.run.plan import Machine, RunRequest
from harness.run.planning import make_plan
from harness.run.progress import View
from harness.run.session import POLL_S
from harness.system import DESCRIPTION

METER = "simulated:h200,counter-read=3.7"
BOARDS = 4
PORT = 19477
SCRAPER = f"""
import time, urllib.request
while True:
    urllib.request.urlopen("http://localhost:{PORT}/metrics").read()
    time.sleep(1)
"""
LATE_MS = 1.0
"""A reading that begins later than this after its deadline is late."""


@dataclass
class Ticks:
    """The ticks of all legs with one export."""

    intervals_ms: list[float]
    delays_ms: list[float]
    """Between the deadline of a tick and its reading."""
    missed: int = 0


def measure(ticks: Ticks, target: ExportTarget | None, seconds: float) -> None:
    """Sample for some seconds with this export, and add the ticks."""
    devices = tuple(open_source(METER).devices()[:BOARDS])
    machine = Machine(METER, "cpu", None, devices, "P0", 700.0)
    plan = make_plan(RunRequest("resnet50-train", smoke=True), machine, DESCRIPTION, "0" * 64)
    uuids = tuple(device.uuid for device in devices)
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        view = stack.enter_context(View(Console(), Path(directory, "log.txt")))
        export = stack.enter_context(RunExport(plan, target)) if target else None
        settings = Settings(METER, uuids, "node0", 100, directory)
        sampler = stack.enter_context(Sampler(settings))
        if target and target.port:
            scraper = subprocess.Popen([sys.executable, "-c", SCRAPER])
            stack.callback(scraper.wait)
            stack.callback(scraper.kill)
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            if export:
                export.update(sampler.read_latest, view)
            view.wait(POLL_S)
        ticks.missed += sampler.stop()["missed"]
        samples = pd.read_csv(settings.path)
        assert settings.path.name == SAMPLES_FILE
    board = samples[samples["accelerator"] == uuids[0]]
    ticks.intervals_ms += list(np.diff(board["read_ns"]) / 1e6)
    ticks.delays_ms += list((board["read_ns"] - board["scheduled_ns"]) / 1e6)


def main() -> None:
    """Print a table, and the ratios to the legs without an export."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    with tempfile.TemporaryDirectory() as directory:
        targets = {
            "no export": None,
            "HTTP, scraped each second": ExportTarget(port=PORT),
            "text file": ExportTarget(path=Path(directory, "wattmark.prom")),
        }
        ticks_by_export = {name: Ticks([], []) for name in targets}
        for _ in range(rounds):
            for name, target in targets.items():
                measure(ticks_by_export[name], target, seconds)
    print(
        "| export | ticks | interval ms: p50, p99, max | ms after the deadline: p50, p99 | late |"
    )
    print("|---|---|---|---|---|")
    p99_ms = {}
    for name, ticks in ticks_by_export.items():
        intervals = *np.percentile(ticks.intervals_ms, (50, 99)), max(ticks.intervals_ms)
        delays = np.percentile(ticks.delays_ms, (50, 99))
        late = sum(delay > LATE_MS for delay in ticks.delays_ms) + ticks.missed
        p99_ms[name] = np.percentile(np.abs(np.array(ticks.intervals_ms) - 100), 99)
        figures = (", ".join(f"{value:.2f}" for value in values) for values in (intervals, delays))
        print(f"| {name} | {len(ticks.delays_ms)} | {' | '.join(figures)} | {late} |")
    base, *exports = p99_ms.items()
    for name, value in exports:
        print(f"p99 of the deviation from 100 ms, {name} / {base[0]}: {value / base[1]:.2f}")


if __name__ == "__main__":
    main()
