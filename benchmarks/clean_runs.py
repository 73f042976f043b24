"""Judges clean runs, on which no rule may speak in error: the committed bundles, simulated runs and
made ones, all with other seeds.

python benchmarks/clean_runs.py [--simulated 200] [--made 200] [--keep DIRECTORY] [--at-a-time 2]

Simulated runs take the harness's own way (`bench-submit run --simulate`) with boards, workload, cap
and number of accelerators drawn at random, 11 epochs of 0.3 s each; those that lie in DIRECTORY
from an earlier time are not made again. Made runs are those of tests/support/bundles.py, with the
standing `closed`, which simulated ones do not have. All simulated runs of one board are one
submission, so the rules across bundles see them together. Prints the errors, and how often each
rule warned or noted. Figures seen are in docs/mutations.md.
"""

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.bundles import make_evidence, make_serving_evidence  # noqa: E402

from checker.engine import judge_all  # noqa: E402
from checker.verdict import Round  # noqa: E402
from rules.bundle_format import write as bundle  # noqa: E402
from rules.finding import Severity  # noqa: E402

WORKLOADS = ("resnet50-train", "vitl16-train", "sd2-train", "llama3-8b-pretrain", "llama3-8b-serve")
BOARDS = {
    "h100": range(300, 701, 100),
    "h200": range(300, 701, 100),
    "mi300x": range(350, 751, 100),
}
DRIVER = "import sys; from harness.cli import main; main()"


def simulate_run(root: Path, seed: int) -> bool:
    """Make the run with this seed below `root`, unless it is there; whether it is there now."""
    random = Random(f"clean run {seed}")
    board, workload = random.choice(sorted(BOARDS)), random.choice(WORKLOADS)
    out = root / "simulated" / board / f"seed-{seed}"
    if any(out.glob("*/MANIFEST.json")):
        return True
    options_by_name = {
        "--simulate": board,
        "--cap": random.choice(("as-found", *BOARDS[board])),
        "--gpus": random.choice((1, 1, 2, 4)),
        "--seed": seed,
        "--epoch-seconds": 0.3,
        "--out": out,
    }
    options = [str(word) for option in options_by_name.items() for word in option]
    process = subprocess.run(
        [sys.executable, "-c", DRIVER, "run", workload, *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        print(
            f"{workload} {' '.join(options)}: {process.stdout[-300:]}{process.stderr[-300:]}",
            flush=True,
        )
    return process.returncode == 0


def write_synthetic_run(root: Path, seed: int) -> None:
    """Write the made run with this seed: every fourth is one of a server."""
    evidence = make_serving_evidence(seed) if seed % 4 == 3 else make_evidence(seed)
    day = datetime(2026, 1, 1) + timedelta(days=seed)
    evidence.result["settings"]["seed"] = seed
    evidence.result.update(
        run_id=f"made-with-seed-{seed}",
        started_at=f"{day:%Y-%m-%dT00:00:00Z}",
        ended_at=f"{day:%Y-%m-%dT00:07:00Z}",
    )
    # The losses of real runs of different seeds scatter by more than those of the made ones.
    random = Random(seed)
    for epoch in evidence.result["epochs"]:
        factor = 1 + 0.3 * random.random()
        if epoch["loss"] is not None:
            epoch["loss"] *= factor
            epoch["losses"] = [loss * factor for loss in epoch["losses"]]
    directory = root / "made" / f"system-{seed // 8}" / evidence.result["run_id"]
    if not directory.exists():
        bundle.write(evidence.evidence(), directory)


def print_findings(title: str, round: Round) -> int:
    """Print what the rules said of the bundles; returns how many errors there were."""
    counts = Counter((f.severity, f.rule) for v in round.verdicts for f in v.findings)
    errors = sum(n for (severity, _), n in counts.items() if severity == Severity.ERROR)
    other_counts = ", ".join(
        f"{rule} {n} {severity}s"
        for (severity, rule), n in sorted(counts.items())
        if severity != Severity.ERROR
    )
    print(
        f"{title}: {len(round.verdicts)} judged, {errors} errors; {other_counts or 'nothing else'}",
        flush=True,
    )
    for verdict in round.verdicts:
        for f in verdict.findings:
            if f.severity == Severity.ERROR:
                print(
                    f"  {verdict.path.name}: {f.rule} {f.file} {f.pointer}: {f.found}; "
                    f"expected {f.expected}"
                )
    return errors


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulated", type=int, default=200)
    parser.add_argument("--made", type=int, default=200)
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "clean-runs")
    parser.add_argument("--at-a-time", type=int, default=2)
    options = parser.parse_args(arguments)
    with ThreadPoolExecutor(options.at_a_time) as pool:
        missing = options.simulated - sum(
            pool.map(partial(simulate_run, options.keep), range(1, options.simulated + 1))
        )
    for seed in range(options.made):
        write_synthetic_run(options.keep, seed)
    errors = print_findings("committed", judge_all([ROOT / "submissions"]))
    for kind in ("simulated",) * bool(options.simulated) + ("made",) * bool(options.made):
        errors += print_findings(kind, judge_all([options.keep / kind], signed=False))
    if missing:
        print(f"{missing} simulated runs did not end well")
    sys.exit(1 if errors or missing else 0)


if __name__ == "__main__":
    main()
