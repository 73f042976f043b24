"""How long `bench-check` takes for a round of bundles of real size, with how much memory, and how
that grows.

python benchmarks/check_bundles.py [--bundles 250 500 1000 2000] [--times 1] [--seconds 360]
[--bundle DIRECTORY]

Makes a round out of one measured bundle (by default the committed ResNet-50 run on four GPUs)
without what was sampled earlier than so many seconds before its end, when the model was still being
compiled: each run with readings of its own, batches and epochs of its own length, a seed, a date
and figures computed anew, eight runs a system, all signed. So the rules have work to do and nothing
more to find than in that bundle. Then `bench-check` judges it, started anew as a user would, and a
line for each size says: wall time, CPU time of all its processes, and the most memory that they had
together (proportional set size, so that shared pages count once). A second line says what the check
of the round with one more run takes, after this check. Figures seen are in docs/performance.md.
"""

import argparse
import gzip
import json
import math
import multiprocessing
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from itertools import compress, repeat
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parent.parent
REFERENCE = (
    ROOT / "submissions/reference/h200x4/20261120T202327Z-resnet50-train-tuned-x4-700W-7d6e9c"
)
PRINCIPAL = "example@wattmark"
RUNS_A_SYSTEM = 8
CLOCKS = ("sm_mhz", "mem_power_mw")
SECONDS = 360
"""Of the runs that the requirement names."""
sys.path.insert(0, str(ROOT))

from checker.judging.cpu import count_cores  # noqa: E402
from checker.judging.verdict_cache import SETTLED_S  # noqa: E402
from harness.sign import sign  # noqa: E402
from rules.bundle_format import write as bundle  # noqa: E402
from rules.bundle_format.files import read_files, unpack  # noqa: E402
from rules.declarations.run import RunDeclaration  # noqa: E402
from rules.declarations.system import SystemDeclaration  # noqa: E402
from rules.metrics.figures_json import figures_to_json  # noqa: E402
from rules.metrics.headline import apply_rule_book  # noqa: E402
from rules.metrics.parts import split_into_parts  # noqa: E402
from rules.metrics.run import compute_figures  # noqa: E402
from rules.testing.frames import EvidenceFrames, read_frames  # noqa: E402
from rules.testing.mutations import POWER, renew_noise  # noqa: E402

MOST_SHORTER = 0.004
"""By so much, as a share, the batches of an altered run are shorter at most."""


def main() -> None:
    """Make the round once, and judge more and more of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--bundle", type=Path, default=REFERENCE, help="bundle to make the round of"
    )
    parser.add_argument("--bundles", type=int, nargs="+", default=[250, 500, 1000, 2000])
    parser.add_argument(
        "--times",
        type=int,
        default=1,
        help="how often to judge each round: a shared machine is not always as fast",
    )
    parser.add_argument(
        "--seconds",
        type=int,
        default=SECONDS,
        help="how much of the samples to keep, from their end",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        key = Path(scratch) / "key"
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], check=True
        )
        bundle_count = 0
        for count in sorted(arguments.bundles):
            with multiprocessing.Pool() as pool:
                systems = (
                    f"system-{number // RUNS_A_SYSTEM:03}" for number in range(bundle_count, count)
                )
                runs = zip(
                    repeat(arguments.bundle), range(bundle_count, count), systems, strict=False
                )
                pool.starmap(
                    partial(make_run, Path(scratch), key, seconds=arguments.seconds),
                    runs,
                    chunksize=8,
                )
            bundle_count = count
            allow(Path(scratch), key)
            new = (arguments.bundle, count, "new", arguments.seconds)
            for _ in range(arguments.times):
                measure_twice(Path(scratch), count, partial(make_run, Path(scratch), key, *new))


def allow(submissions: Path, key: Path) -> None:
    """A keyring in which the key counts."""
    (submissions / "keyring").mkdir(exist_ok=True)
    allowed = f'{PRINCIPAL} namespaces="submission@wattmark" {key.with_suffix(".pub").read_text()}'
    (submissions / "keyring" / "allowed_signers").write_text(allowed)


def measure_twice(submissions: Path, count: int, add_run: Callable[[], None]) -> None:
    """Judge the round without what an earlier check found, and again with one more run."""
    with tempfile.TemporaryDirectory() as cache:
        os.sync()  # else the disk is written to while the bundles are judged
        time.sleep(SETTLED_S)  # files that have just changed are read again
        seconds, cpu_s = measure(submissions, count, cache)
        add_run()
        again_seconds, again_cpu_s = measure(submissions, count + 1, cache)
    print(f"faster by {seconds / again_seconds:.1f}, in CPU time by {cpu_s / again_cpu_s:.1f}")
    shutil.rmtree(submissions / "example" / "new")


def measure(submissions: Path, count: int, cache: str) -> tuple[float, float]:
    """Judge the round in a process of its own, and print what that took. Returns wall and CPU time
    in s."""
    begin, cpu_before_s = time.perf_counter(), get_children_cpu_s()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "checker", "--format", "json", submissions],
            cwd=ROOT,
            stdout=output,
            env={**os.environ, "XDG_CACHE_HOME": cache},
        )
        most_mib = 0.0
        while process.returncode is None:
            most_mib = max(most_mib, read_memory_mib(process.pid))
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=2)  # adding up the pages of processes takes time from them
        seconds, cpu_s = time.perf_counter() - begin, get_children_cpu_s() - cpu_before_s
        output.seek(0)
        judged = json.load(output)["bundles"]
    pass_count = sum(b["status"] == "pass" for b in judged)
    print(
        f"{len(judged)} bundles, {pass_count} pass: {seconds:.1f} s on {count_cores()} cores, "
        f"{1e3 * cpu_s / count:.1f} ms of CPU a bundle, {most_mib:.0f} MiB",
        flush=True,
    )
    return seconds, cpu_s


def get_children_cpu_s() -> float:
    """CPU time of all processes that have been waited for so far, in s; on a busy machine it says
    more than the clock."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def read_memory_mib(pid: int) -> float:
    """Proportional set size of a process and all below it, in MiB; what is gone meanwhile counts
    nothing."""
    try:
        match = re.search(
            r"^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE
        )
        children = [
            child
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return 0.0
    return int(match[1] if match else 0) / 1024 + sum(
        read_memory_mib(int(child)) for child in children
    )


@cache
def read_template(source: Path, seconds: float) -> tuple[EvidenceFrames, list[list[str]]]:
    """The evidence of the bundle, of its samples the last `seconds`, and their rows as text:
    writing them anew costs ten times as much."""
    files = read_files(source)
    evidence, problems = read_frames(files)
    if evidence is None:
        raise SystemExit(f"{source}: {problems[0].violation.found}")
    header, *rows = unpack("samples.csv.gz", files.contents["samples.csv.gz"]).decode().splitlines()
    mask = (
        evidence.samples["scheduled_ns"] > evidence.samples["scheduled_ns"].max() - seconds * 10**9
    )
    evidence.samples = evidence.samples[mask].reset_index(drop=True)
    ticks = np.unique(evidence.samples["scheduled_ns"])
    slots = int(ticks[-1] - ticks[0]) // 10**6 // evidence.result["sampling"]["interval_ms"] + 1
    evidence.result["sampling"].update(ticks=len(ticks), missed=slots - len(ticks))
    return evidence, [line.split(",") for line in (header, *compress(rows, mask))]


def make_run(
    submissions: Path, key: Path, source: Path, number: int, system: str, seconds: float = math.inf
) -> None:
    """Write and sign run `number` of the round, one like `source` of which the last `seconds` were
    sampled, below `system`."""
    frames, rows = read_template(source, seconds)
    random = np.random.default_rng(number)
    samples, batches = frames.samples.copy(), frames.batches.copy()
    shorter = random.uniform(0, MOST_SHORTER, int(batches["epoch"].max()) + 1)[batches["epoch"]]
    batches["end_ns"] -= ((batches["end_ns"] - batches["start_ns"]) * shorter).astype("int64")
    described = frames.system | {"name": f"{frames.system['name']}, {system}"}
    evidence = EvidenceFrames(
        json.loads(json.dumps(frames.result)),
        described,
        frames.environment,
        samples,
        batches,
        frames.log,
        frames.requests,
    )
    # Idle power and node power need events and node samples, which the altered run does not have.
    for name in ("idle", "phases", "node_sampling", "node_clocks", "node"):
        evidence.result.pop(name, None)
    evidence.system.pop("meters", None)
    renew_noise(evidence, number, (*POWER, *CLOCKS))
    jitter_samples(samples, random)
    begin = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    took = datetime.fromisoformat(frames.result["ended_at"]) - datetime.fromisoformat(
        frames.result["started_at"]
    )
    evidence.result.update(
        run_id=f"{source.name[:100]}-{number:05}",
        started_at=f"{begin:%Y-%m-%dT%H:%M:%SZ}",
        ended_at=f"{begin + took:%Y-%m-%dT%H:%M:%SZ}",
    )
    evidence.result["settings"]["seed"] = number
    higher = 1 + 0.05 * random.random()
    for epoch in evidence.result["epochs"]:
        epoch["loss"] *= higher
        # Bundles of earlier harnesses have the last loss of an epoch only.
        if "losses" in epoch:
            epoch["losses"] = [higher * loss for loss in epoch["losses"]]
    rederive(evidence)
    directory = submissions / "example" / system / evidence.result["run_id"]
    evidence.samples = samples.iloc[:1]
    bundle.write(evidence.evidence(), directory)
    write_samples(directory / "samples.csv.gz", rows, samples)
    bundle.seal(directory)
    sign(directory, key, PRINCIPAL)


def jitter_samples(samples: pd.DataFrame, random: np.random.Generator) -> None:
    """Let readings under load change places with their neighbours, and go up or down by a step of
    the sensor, or not: values, steps and means stay those of a sensor, and no two runs have the
    noise of one."""
    for _, board_samples in samples.groupby("accelerator", sort=False):
        power = board_samples["power_mw"].to_numpy(np.float64)
        high = board_samples.index[power > np.nanmax(power) / 2]
        values, steps = np.unique(samples.loc[high, "power_mw"], return_inverse=True)
        order = np.argsort(np.arange(len(high)) + random.uniform(0, 2, len(high)))
        moved = steps[order] + random.integers(-1, 2, len(high))
        samples.loc[high, "power_mw"] = values[np.clip(moved, 0, len(values) - 1)]


def rederive(evidence: EvidenceFrames) -> None:
    """State the figures that follow from the tables, and leave what the computation does not give
    (losses)."""
    tables = evidence.evidence()
    parts = split_into_parts(evidence.result, tables.samples, tables.batches)
    run = RunDeclaration.from_document(evidence.result)
    system = SystemDeclaration.from_document(evidence.system)
    computed = compute_figures(run, system, parts, tables.requests)
    figures = figures_to_json(apply_rule_book(computed, run.rules_version))
    epochs = zip(evidence.result["epochs"], figures.pop("epochs"), strict=True)
    evidence.result.update(figures, epochs=[stated | computed for stated, computed in epochs])


def write_samples(path: Path, rows: list[list[str]], samples: pd.DataFrame) -> None:
    """The rows, with time, power, counter and clocks of the samples."""
    columns = [
        (rows[0].index(name), samples[name].tolist())
        for name in ("read_ns", "power_mw", "energy_mj", *CLOCKS)
        if name in rows[0]
    ]
    lines = [",".join(rows[0])]
    for i, cells in enumerate(rows[1:]):
        row_cells = list(cells)
        for column, values in columns:
            row_cells[column] = f"{values[i]:.0f}" if cells[column] else ""
        lines.append(",".join(row_cells))
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), 6, mtime=0))


if __name__ == "__main__":
    main()
