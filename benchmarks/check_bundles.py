"""How many bundles `bench-check` judges in a second.

Makes copies of one bundle with run ids of their own, seals and signs each, and runs `bench-check` over them in a
process of its own, libraries and workers started anew as a user would.

    python benchmarks/check_bundles.py

gave 64, 63 and 67 bundles/s in a row (30, 30 and 29 ms of CPU a bundle) with 500 copies of the newest reference bundle,
all passing, on two otherwise idle cores of a shared AMD EPYC; with other work beside it, about 50. Of a bundle's time
reading the evidence takes about 13 ms (jsonschema 4 of them), ssh-keygen 7, the figures 6, the rules 4.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRINCIPAL = "example@wattmark"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from good import good_evidence  # noqa: E402

from harness import bundle  # noqa: E402
from harness.sign import sign  # noqa: E402


def main() -> None:
    """Print bundles per second and the share that passed."""
    parser = argparse.ArgumentParser(description="How many bundles bench-check judges in a second.")
    parser.add_argument("bundle", nargs="?", type=Path, help="bundle to copy (default: the newest reference one)")
    parser.add_argument("--copies", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        submissions = Path(scratch) / "submissions"
        copied = arguments.bundle or newest_reference() or made_from_nothing(Path(scratch))
        fill(submissions, copied, arguments.copies)
        begin, cpu_before = time.perf_counter(), cpu_s()
        command = [sys.executable, "-m", "checker", "--format", "json", submissions]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        seconds, cpu = time.perf_counter() - begin, cpu_s() - cpu_before
    judged = json.loads(done.stdout)["bundles"]
    passed = sum(b["status"] == "pass" for b in judged)
    print(f"{copied.name}: {len(judged)} bundles, {passed} pass, on {os.cpu_count()} cores")
    print(f"{seconds:.2f} s, {len(judged) / seconds:.1f} bundles/s, {cpu / len(judged) * 1e3:.1f} ms of CPU a bundle")


def cpu_s() -> float:
    """CPU time of all processes that have been waited for so far, in s; on a busy machine it says more than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def newest_reference() -> Path | None:
    """The newest committed reference bundle, by run id."""
    found = ROOT.glob("submissions/reference/*/*/MANIFEST.json")
    return max((manifest.parent for manifest in found), key=lambda path: path.name, default=None)


def made_from_nothing(scratch: Path) -> Path:
    """The good bundle of the tests."""
    directory = scratch / "good-bundle-of-the-tests"
    bundle.write(good_evidence(), directory)
    return directory


def fill(submissions: Path, copied: Path, copies: int) -> None:
    """Put signed copies of the bundle `copied` into `submissions`, with a keyring."""
    key = submissions.parent / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], check=True)
    (submissions / "keyring").mkdir(parents=True)
    (submissions / "keyring" / "allowed_signers").write_text(f"{PRINCIPAL} {key.with_suffix('.pub').read_text()}")
    for number in range(copies):
        run_id = f"{copied.name[:120]}-{number:04}"
        directory = submissions / "example" / "system" / run_id
        shutil.copytree(copied, directory)
        result = json.loads((directory / "result.json").read_text())
        (directory / "result.json").write_text(json.dumps({**result, "run_id": run_id}))
        bundle.seal(directory)
        sign(directory, key, PRINCIPAL)


if __name__ == "__main__":
    main()
