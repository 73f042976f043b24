"""Sweeps all five workloads over the caps of three simulated boards, checks and reports them, and
writes docs/simulated-sweep.md.

    make simulated-sweep

Everything goes to build/simulated/. What is there already is taken up again: a sweep that was
interrupted goes on, and one that is finished is only verified. Remove build/simulated/ to start
anew, as has to be done when the code has changed.
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
from rules.metrics import sweeps
from rules.metrics.energy import MetricsError
from rules.metrics.figures_json import sweep_run_from_json
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
"""A standstill of this machine ends in one epoch of a server, which makes up for it in the next:
shorter ones would show it."""
AT_A_TIME = 2
WIDTH = 128
BOARDS = {"h100": "H100", "h200": "H200", "mi300x": "MI300X"}
"""What `--simulate` takes, and what the published figures call it."""
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
"""Mayr et al. 2026, section 5: the cap with the highest efficiency. None is stated for the
MI300X."""


@dataclass(frozen=True)
class Swept:
    """One sweep: the bundles' points by cap, and what is published for the same caps (items/s per
    accelerator)."""

    board: str
    workload: str
    points: tuple[sweeps.Point, ...]
    power_w: dict[float, float]
    """Mean power of the accelerator, by cap."""
    published: dict[float, float]
    stated_peak_w: int | None

    @property
    def peak_w(self) -> float | None:
        try:
            return sweeps.find_measured_peak(self.points).cap_w
        except MetricsError:
            return None


def main() -> int:
    """Sweep, sign, check, report and write the page; 1 where a sweep or the check failed."""
    make_keyring()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        codes = list(
            pool.map(
                lambda one: sweep(*one),
                [(board, workload) for board in BOARDS for workload in WORKLOADS],
            )
        )
    if any(codes):
        print("not all sweeps are finished; the logs say why. Start again to go on.")
        return 1
    for bundle in bundles():
        if not (bundle / "signatures").exists():
            command.sign(bundle, BUILD / "key", PRINCIPAL)
    checked = subprocess.run([BIN / "bench-check", SUBMISSIONS], check=False).returncode
    subprocess.run(
        [BIN / "bench-report", SUBMISSIONS, ROOT / "submissions", "--out", BUILD / "report.html"],
        check=True,
    )
    PAGE.write_text("\n".join(page(list(read()))) + "\n")
    print(
        f"the page is {BUILD / 'report.html'}; the comparison with the published figures is {PAGE}"
    )
    return checked


def make_keyring() -> None:
    """A key for these bundles alone, and a keyring that knows it."""
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


def sweep(board: str, workload: str) -> int:
    """Make or go on with one sweep, its output in a log; the exit status."""
    out, log = SUBMISSIONS / "demo" / board / workload, BUILD / f"{board}-{workload}.log"
    plans = sorted(out.glob("*.sweep.json"))
    asked = [
        workload,
        "--simulate",
        board,
        "--epoch-seconds",
        str(EPOCH_S.get(workload, OTHER_EPOCH_S)),
        "--out",
        str(out),
    ]
    with log.open("a") as file:
        done = subprocess.run(
            [BIN / "bench-submit", "sweep", *(["--resume", str(plans[-1])] if plans else asked)],
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    made = len(list(out.glob("*/MANIFEST.json")))
    print(
        f"{board} {workload}: {made} bundles, "
        f"{'finished' if done.returncode == 0 else f'see {log}'}",
        flush=True,
    )
    return done.returncode


def bundles() -> list[Path]:
    return sorted(path.parent for path in SUBMISSIONS.glob("demo/*/*/*/MANIFEST.json"))


def read() -> Iterator[Swept]:
    """Every sweep with what is published for it."""
    rows = [
        row
        for path in sorted(PUBLISHED.glob("*.json"))
        for row in json.loads(path.read_text())["rows"]
    ]
    for board, name in BOARDS.items():
        for workload in WORKLOADS:
            of_these = [
                path for path in bundles() if path.parent == SUBMISSIONS / "demo" / board / workload
            ]
            results = [json.loads((path / "result.json").read_text()) for path in of_these]
            points = tuple(
                sweeps.combine(
                    [sweeps.make_point(sweep_run_from_json(result)) for result in results]
                )
            )
            power_w = {
                r["power"]["cap_w"]: r["headline"]["mean_power_w_per_accelerator"]["mean"]
                for r in results
            }
            published = {
                row["cap_w"]: row["items_per_s_per_accelerator"]
                for row in rows
                if (row["workload"], row["accelerator"]) == (workload, name)
            }
            yield Swept(
                name, workload, points, power_w, published, STATED_PEAKS_W.get((name, workload))
            )


def page(swept: list[Swept]) -> Iterator[str]:
    """The page, line by line."""
    runs = sum(point.n for one in swept for point in one.points)
    away = [abs(difference(one, point)) for one in swept for point in one.points]
    right = [
        one for one in swept if one.stated_peak_w is not None and one.peak_w == one.stated_peak_w
    ]
    stated = [one for one in swept if one.stated_peak_w is not None]
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
        f"Over all caps the throughput differs by at most {max(away):.1f} % from the published "
        "one. "
        f"{len(right)} of {len(stated)} stated efficiency peaks were measured at the stated cap.",
        WIDTH,
    )
    yield ""
    yield "A cap in parentheses was not enforced; such a run is never an efficiency peak."
    yield from peaks(swept)
    for board in BOARDS.values():
        yield from throughputs(board, [one for one in swept if one.board == board])


def peaks(swept: list[Swept]) -> Iterator[str]:
    yield from (
        "",
        "## Efficiency peaks",
        "",
        "| board | workload | stated, W | measured, W |",
        "|---|---|---|---|",
    )
    for one in swept:
        stated = "not stated" if one.stated_peak_w is None else str(one.stated_peak_w)
        yield (
            f"| {one.board} | {one.workload} | {stated} | "
            f"{'none' if one.peak_w is None else f'{one.peak_w:g}'} |"
        )


def throughputs(board: str, swept: list[Swept]) -> Iterator[str]:
    yield from ("", f"## {board}", "")
    yield (
        "| workload | cap, W | published, items/s | simulated, items/s | difference, % | W | "
        "items/J |"
    )
    yield "|---|---|---|---|---|---|---|"
    for one in swept:
        item = workloads()[one.workload].item
        for point in one.points:
            cap = f"({point.cap_w:g})" if point.enforced is False else f"{point.cap_w:g}"
            yield (
                f"| {one.workload}, {item}s | {cap} | {one.published[point.cap_w]:g} | "
                f"{point.items_per_s:.6g} | "
                f"{round(difference(one, point), 1) + 0:+.1f} | "
                f"{one.power_w[point.cap_w]:.0f} | {point.items_per_joule:.4g} |"
            )


def difference(one: Swept, point: sweeps.Point) -> float:
    """Simulated against published throughput, in percent."""
    return 100 * (point.items_per_s / one.published[point.cap_w] - 1)


if __name__ == "__main__":
    sys.exit(main())
