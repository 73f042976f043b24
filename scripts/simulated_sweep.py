"""Sweep five workloads over the caps of three simulated boards, check and report the bundles, and
write docs/simulated-sweep.md.

    make simulated-sweep

The output directory is build/simulated/. An interrupted sweep in it is resumed, and a finished one
is verified. After a change of the code, remove build/simulated/ to start again.
"""

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.run import command
from rules import VERSION
from rules.metrics.energy import MetricsError
from rules.metrics.figures_json import sweep_run_from_json
from rules.metrics.sweeps.peaks import find_measured_peak
from rules.metrics.sweeps.points import Point, combine, make_point
from rules.protocol import CURRENT
from rules.workloads import workloads

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build/simulated"
SUBMISSIONS = BUILD / "submissions"
PAGE = ROOT / "docs/simulated-sweep.md"
PUBLISHED = ROOT / "submissions/published"
BIN = Path(sys.executable).parent
PRINCIPAL = "demo@example.org"
EPOCH_S = {"llama3-8b-serve": 2.0}
OTHER_EPOCH_S = 0.5
"""The server needs longer epochs. It makes up for a standstill of the machine in the next epoch,
which short epochs would show."""
PARALLEL_SWEEPS = 2
WIDTH = 128
BOARDS = {"h100": "H100", "h200": "H200", "mi300x": "MI300X"}
"""The names of boards in the published figures, by argument of `--simulate`."""
WORKLOADS = ("resnet50-train", "vitl16-train", "sd2-train", "llama3-8b-pretrain", "llama3-8b-serve")
STATED_PEAKS_W = {
    ("H100", "resnet50-train"): 300,
    ("H100", "vitl16-train"): 400,
    ("H100", "sd2-train"): 300,
    ("H100", "llama3-8b-pretrain"): 400,
    ("H100", "llama3-8b-serve"): 300,
    ("H200", "resnet50-train"): 400,
    ("H200", "vitl16-train"): 400,
    ("H200", "sd2-train"): 400,
    ("H200", "llama3-8b-pretrain"): 500,
    ("H200", "llama3-8b-serve"): 400,
}
"""The cap with the highest efficiency, from section 5 of Mayr et al. 2026. None is stated for the
MI300X."""


@dataclass(frozen=True)
class SimulatedSweep:
    """A simulated sweep and the published figures of the same board and workload."""

    board: str
    workload: str
    points: tuple[Point, ...]
    power_w: dict[float, float]
    """Mean power of the accelerator, by cap."""
    published: dict[float, float]
    """Throughput in items/s per accelerator, by cap."""
    stated_peak_w: int | None

    @property
    def peak_w(self) -> float | None:
        try:
            return find_measured_peak(self.points).cap_w
        except MetricsError:
            return None


def main() -> int:
    """Sweep, sign, check, report and write the page. Return 1 if a sweep or the check failed."""
    make_keyring()
    with ThreadPoolExecutor(PARALLEL_SWEEPS) as pool:
        statuses = list(
            pool.map(
                lambda job: run_sweep(*job),
                [(board, workload) for board in BOARDS for workload in WORKLOADS],
            )
        )
    if any(statuses):
        print("not all sweeps are finished; the logs give the reasons. Run again to resume them.")
        return 1
    for bundle in list_bundles():
        if not (bundle / "signatures").exists():
            command.sign(bundle, BUILD / "key", PRINCIPAL)
    check_status = subprocess.run([BIN / "bench-check", SUBMISSIONS], check=False).returncode
    subprocess.run(
        [BIN / "bench-report", SUBMISSIONS, ROOT / "submissions", "--out", BUILD / "report.html"],
        check=True,
    )
    PAGE.write_text("\n".join(render_page(list(read_sweeps()))) + "\n")
    print(
        f"the page is {BUILD / 'report.html'}; the comparison with the published figures is {PAGE}"
    )
    return check_status


def make_keyring() -> None:
    """Make a key for these bundles only, and a keyring that holds it."""
    key, keyring = BUILD / "key", SUBMISSIONS / "keyring"
    keyring.mkdir(parents=True, exist_ok=True)
    if not key.exists():
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "demo", "-f", key], check=True
        )
    kind, public = key.with_suffix(".pub").read_text().split()[:2]
    (keyring / "allowed_signers").write_text(
        f'{PRINCIPAL} namespaces="submission@wattmark" {kind} {public}\n'
    )


def run_sweep(board: str, workload: str) -> int:
    """Start or resume one sweep, with its output in a log. Return the exit status."""
    out, log = SUBMISSIONS / "demo" / board / workload, BUILD / f"{board}-{workload}.log"
    plans = sorted(out.glob("*.sweep.json"))
    arguments = [
        workload,
        "--simulate",
        board,
        "--epoch-seconds",
        str(EPOCH_S.get(workload, OTHER_EPOCH_S)),
        "--out",
        str(out),
    ]
    with log.open("a") as file:
        process = subprocess.run(
            [
                BIN / "bench-submit",
                "sweep",
                *(["--resume", str(plans[-1])] if plans else arguments),
            ],
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    bundle_count = len(list(out.glob("*/MANIFEST.json")))
    print(
        f"{board} {workload}: {bundle_count} bundles, "
        f"{'finished' if process.returncode == 0 else f'see {log}'}",
        flush=True,
    )
    return process.returncode


def list_bundles() -> list[Path]:
    return sorted(path.parent for path in SUBMISSIONS.glob("demo/*/*/*/MANIFEST.json"))


def read_sweeps() -> Iterator[SimulatedSweep]:
    """Yield every sweep with its published figures."""
    rows = [
        row
        for path in sorted(PUBLISHED.glob("*.json"))
        for row in json.loads(path.read_text()).get("rows", ())
    ]
    for board, name in BOARDS.items():
        for workload in WORKLOADS:
            bundle_paths = [
                path
                for path in list_bundles()
                if path.parent == SUBMISSIONS / "demo" / board / workload
            ]
            results = [json.loads((path / "result.json").read_text()) for path in bundle_paths]
            points = tuple(combine([make_point(sweep_run_from_json(result)) for result in results]))
            power_w = {
                r["power"]["cap_w"]: r["headline"]["mean_power_w_per_accelerator"]["mean"]
                for r in results
            }
            published = {
                row["cap_w"]: row["items_per_s_per_accelerator"]
                for row in rows
                if (row["workload"], row["accelerator"]) == (workload, name)
            }
            yield SimulatedSweep(
                name, workload, points, power_w, published, STATED_PEAKS_W.get((name, workload))
            )


def render_page(cap_sweeps: list[SimulatedSweep]) -> Iterator[str]:
    """Yield the lines of the page."""
    runs = sum(point.n for sweep in cap_sweeps for point in sweep.points)
    differences_percent = [
        abs(compute_difference_percent(sweep, point))
        for sweep in cap_sweeps
        for point in sweep.points
    ]
    correct_peaks = [
        sweep
        for sweep in cap_sweeps
        if sweep.stated_peak_w is not None and sweep.peak_w == sweep.stated_peak_w
    ]
    stated_peaks = [sweep for sweep in cap_sweeps if sweep.stated_peak_w is not None]
    yield "# Simulated sweeps against published figures"
    yield ""
    yield from textwrap.wrap(
        "For readers who want to know how well simulated sweeps reproduce published figures. "
        f"`make simulated-sweep` wrote this page: {runs} runs of `bench-submit sweep` on "
        "simulated boards, protocol "
        f"{CURRENT.version}, rules {VERSION}, one accelerator, standing `demo`. The boards "
        "are fitted to the same published "
        "figures ([simulated.md](simulated.md)). Agreement "
        "therefore shows that harness, caps, sampler, check and arithmetic preserve the fitted "
        "figures. It shows nothing about real boards.",
        WIDTH,
    )
    yield ""
    yield from textwrap.wrap(
        f"Over all caps the throughput differs by at most {max(differences_percent):.1f} % from "
        f"the published one. {len(correct_peaks)} of {len(stated_peaks)} stated efficiency peaks "
        "were measured at the stated cap.",
        WIDTH,
    )
    yield ""
    yield "A cap in parentheses was not enforced; such a run is never an efficiency peak."
    yield from render_peaks(cap_sweeps)
    for board in BOARDS.values():
        yield from render_throughputs(
            board, [sweep for sweep in cap_sweeps if sweep.board == board]
        )


def render_peaks(cap_sweeps: list[SimulatedSweep]) -> Iterator[str]:
    yield from (
        "",
        "## Efficiency peaks",
        "",
        "| board | workload | stated, W | measured, W |",
        "|---|---|---|---|",
    )
    for sweep in cap_sweeps:
        stated_peak = "not stated" if sweep.stated_peak_w is None else str(sweep.stated_peak_w)
        yield (
            f"| {sweep.board} | {sweep.workload} | {stated_peak} | "
            f"{'none' if sweep.peak_w is None else f'{sweep.peak_w:g}'} |"
        )


def render_throughputs(board: str, cap_sweeps: list[SimulatedSweep]) -> Iterator[str]:
    yield from ("", f"## {board}", "")
    yield (
        "| workload | cap, W | published, items/s | simulated, items/s | difference, % | W | "
        "items/J |"
    )
    yield "|---|---|---|---|---|---|---|"
    for sweep in cap_sweeps:
        item = workloads()[sweep.workload].item
        for point in sweep.points:
            cap = f"({point.cap_w:g})" if point.enforced is False else f"{point.cap_w:g}"
            yield (
                f"| {sweep.workload}, {item}s | {cap} | {sweep.published[point.cap_w]:g} | "
                f"{point.items_per_s:.6g} | "
                f"{round(compute_difference_percent(sweep, point), 1) + 0:+.1f} | "
                f"{sweep.power_w[point.cap_w]:.0f} | {point.items_per_joule:.4g} |"
            )


def compute_difference_percent(sweep: SimulatedSweep, point: Point) -> float:
    """Return by how many % the simulated throughput exceeds the published one."""
    return 100 * (point.items_per_s / sweep.published[point.cap_w] - 1)


if __name__ == "__main__":
    sys.exit(main())
