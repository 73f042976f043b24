"""Measures time and memory of the checker for bundles that are made to exhaust it.

    python benchmarks/hostile_bundles.py [NAME ...]

Each case alters a committed bundle within the limits of sizes. A process of its own judges it, as
`bench-check` does. The table shows CPU time (other programs may use the cores meanwhile), the
largest process, the size of the bundle on disk and the rules that report it. The script ends with 1
if a case takes more than 5 s or 1 GiB, or if the checker fails on it. docs/performance.md has the
table.
"""

import argparse
import json
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hostile import documents, studies, tables  # noqa: F401  (they register their cases)
from hostile.cases import CASES

ROOT = Path(__file__).parent.parent
MAX_CPU_S = 5.0
MAX_MIB = 1024
TIMEOUT_S = 600
_MIB = 2**20
_JUDGE = """
import json, resource, sys
from pathlib import Path
from checker.engine import judge_all
from rules.registry import rules_by_id
rules_by_id()
scopes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
cpu_s = lambda: sum(sum(resource.getrusage(scope)[:2]) for scope in scopes)
begin_s = cpu_s()
judged = judge_all([Path(sys.argv[1])], signed=sys.argv[2] == "signed")
print(json.dumps({
    "cpu_s": cpu_s() - begin_s,
    "peak_mib": max(resource.getrusage(scope).ru_maxrss for scope in scopes) / 1024,
    "errors": sorted({
        f.rule for v in judged.verdicts for f in v.findings
        if f.severity == "error" and f.rule[0] != "I"
    }),
    "findings": sum(len(v.findings) for v in judged.verdicts),
    "internal": [f.found for v in judged.verdicts for f in v.findings if f.rule == "internal"],
}))
"""


@dataclass(frozen=True)
class Measured:
    """What judging one case took."""

    cpu_s: float
    peak_mib: float
    size_mib: float
    errors: str
    failure: str
    """How the checker failed; empty if it did not."""

    @property
    def fails(self) -> bool:
        return bool(self.failure) or self.cpu_s > MAX_CPU_S or self.peak_mib > MAX_MIB


def measure(name: str, scratch: Path) -> Measured:
    """Make the case `name` below `scratch`, judge it in a new process, and remove it."""
    alter, signed = CASES[name]
    submissions = scratch / "submissions"
    base = min(ROOT.glob("submissions/reference/h200x4/*-resnet50-train-*"))
    shutil.copytree(ROOT / "submissions/keyring", submissions / "keyring")
    bundle = submissions / base.relative_to(ROOT / "submissions")
    shutil.copytree(base, bundle)
    # Linux counts the memory of a process as that of those which it starts, so this process stays
    # small.
    process = multiprocessing.get_context("fork").Process(target=alter, args=(bundle,))
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"the case {name!r} could not be made")
    files = [path for path in bundle.rglob("*") if path.is_file()]
    size_mib = sum(path.stat().st_size for path in files) / _MIB
    command = [sys.executable, "-c", _JUDGE, submissions, "signed" if signed else "unsigned"]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Measured(TIMEOUT_S, 0, size_mib, "", "timed out")
    finally:
        # `shutil.rmtree` of Python 3.11 recurses, which deep directories do not allow.
        subprocess.run(["rm", "-rf", submissions], check=True)
    if done.returncode or done.stderr:
        return Measured(0, 0, size_mib, "", done.stderr.strip().rpartition("\n")[2][:80])
    judged = json.loads(done.stdout)
    errors = ", ".join(judged["errors"][:4]) + (" …" if len(judged["errors"]) > 4 else "")
    failure = "; ".join(judged["internal"])[:80]
    return Measured(judged["cpu_s"], judged["peak_mib"], size_mib, errors, failure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="parts of the names of cases; all by default")
    names = parser.parse_args().names
    failures = 0
    print("| case | on disk, MiB | CPU, s | peak, MiB | errors |")
    print("|---|---:|---:|---:|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in CASES:
            if names and not any(part in name for part in names):
                continue
            measured = measure(name, Path(scratch))
            failures += measured.fails
            mark = " **failed**" if measured.fails else ""
            print(
                f"| {name} | {measured.size_mib:.1f} | {measured.cpu_s:.1f} | "
                f"{measured.peak_mib:.0f} | {measured.errors}{measured.failure}{mark} |",
                flush=True,
            )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
