"""Sweep five workloads over the caps of three simulated boards, check and report the bundles, and
write the section of docs/simulated.md.

    make simulated-sweep

The output directory is build/simulated/. An interrupted sweep in it is resumed, and a finished one
is verified. After a change of the code, remove build/simulated/ to start again.
"""

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.commands.sign import sign
from rules import VERSION
from rules.metrics.energy import MetricsError
from rules.metrics.figures_json import sweep_run_from_json
from rules.metrics.sweeps.peaks import find_measured_peak
from rules.metrics.sweeps.points import Point, combine, make_point
from rules.protocol import CURRENT

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build/simulated"
SUBMISSIONS = BUILD / "submissions"
PAGE = ROOT / "docs/simulated.md"
BEGIN, END = "<!-- begin sweeps -->\n", "<!-- end sweeps -->"
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
MOST_WORKLOADS = frozenset(
    ("H200", workload) for workload in WORKLOADS if workload != "llama3-8b-pretrain"
)
"""Pairs that the text does not name: it says 400 W "for most workloads" on the H200."""


@dataclass(frozen=True)
class SimulatedSweep:
    """A simulated sweep and the published figures of the same board and workload."""

    board: str
    workload: str
    points: tuple[Point, ...]
    published: dict[float, float]
    """Throughput in items/s per accelerator, by cap."""
    stated_peak_w: int | None

    @property
    def is_one_of_most(self) -> bool:
        """Whether the paper states the peak for "most workloads" without naming this one."""
        return (self.board, self.workload) in MOST_WORKLOADS

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
            sign(bundle, BUILD / "key", PRINCIPAL)
    check_status = subprocess.run([BIN / "bench-check", SUBMISSIONS], check=False).returncode
    subprocess.run(
        [BIN / "bench-report", SUBMISSIONS, ROOT / "submissions", "--out", BUILD / "report.html"],
        check=True,
    )
    head, _, rest = PAGE.read_text().partition(BEGIN)
    section = "\n".join(render_section(list(read_sweeps())))
    PAGE.write_text(f"{head}{BEGIN}\n{section}\n\n{END}{rest.partition(END)[2]}")
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
            published = {
                row["cap_w"]: row["items_per_s_per_accelerator"]
                for row in rows
                if (row["workload"], row["accelerator"]) == (workload, name)
            }
            yield SimulatedSweep(
                name, workload, points, published, STATED_PEAKS_W.get((name, workload))
            )


def render_section(cap_sweeps: list[SimulatedSweep]) -> Iterator[str]:
    """Yield the lines of the page between `BEGIN` and `END`."""
    runs = sum(point.n for sweep in cap_sweeps for point in sweep.points)
    greatest = max(map(find_greatest_difference_percent, cap_sweeps))
    yield from wrap(
        f"It makes {runs} runs (protocol {CURRENT.version}, rules {VERSION}). Throughput differs "
        f"by at most {greatest:.1f} % from the published one. "
        f"{count_correct(s for s in cap_sweeps if not s.is_one_of_most)} efficiency peaks that "
        'Mayr et al. 2026 name are at the named cap. On the H200 the paper says 400 W "for most '
        f'workloads": {count_correct(s for s in cap_sweeps if s.is_one_of_most)} other peaks are '
        "there."
    )
    yield from render_sweeps(cap_sweeps)


def count_correct(cap_sweeps: Iterable[SimulatedSweep]) -> str:
    """How many of the stated peaks come out, such as `5 of 6`."""
    stated = [sweep for sweep in cap_sweeps if sweep.stated_peak_w is not None]
    return f"{sum(sweep.peak_w == sweep.stated_peak_w for sweep in stated)} of {len(stated)}"


def wrap(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH)


def render_sweeps(cap_sweeps: list[SimulatedSweep]) -> Iterator[str]:
    """Yield the table with a row for each sweep."""
    yield from (
        "",
        "| board | workload | caps, W | not enforced, W | stated peak, W | simulated peak, W | "
        "greatest difference, % |",
        "|---|---|---|---|---|---|---|",
    )
    for sweep in cap_sweeps:
        caps_w = list(sweep.published)
        not_enforced = [f"{point.cap_w:g}" for point in sweep.points if point.enforced is False]
        cells = (
            sweep.board,
            sweep.workload,
            f"{min(caps_w):g} to {max(caps_w):g}",
            ", ".join(not_enforced) or "none",
            format_stated_peak(sweep),
            "none" if sweep.peak_w is None else f"{sweep.peak_w:g}",
            f"{find_greatest_difference_percent(sweep):.1f}",
        )
        yield f"| {' | '.join(cells)} |"


def format_stated_peak(sweep: SimulatedSweep) -> str:
    if sweep.stated_peak_w is None:
        return "not stated"
    return f"{sweep.stated_peak_w}{' for most workloads' if sweep.is_one_of_most else ''}"


def find_greatest_difference_percent(sweep: SimulatedSweep) -> float:
    """Return the greatest difference of a cap of the sweep, without its sign."""
    return max(abs(compute_difference_percent(sweep, point)) for point in sweep.points)


def compute_difference_percent(sweep: SimulatedSweep, point: Point) -> float:
    """Return by how many % the simulated throughput exceeds the published one."""
    return 100 * (point.items_per_s / sweep.published[point.cap_w] - 1)


if __name__ == "__main__":
    sys.exit(main())
