"""Where the time goes in judging a bundle of real size: CPU time of each stage and of the slowest
rules, in one process.

    python benchmarks/check_stages.py [--bundles 40] [--bundle DIRECTORY]

The bundles are those of check_bundles.py. A figure is the least over all of them, since whatever
else the machine does only adds. Figures seen are in docs/performance.md.
"""

import argparse
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from check_bundles import REFERENCE, RUNS_A_SYSTEM, SECONDS, allow, make_run

from checker.trust.bundle_trust import establish_trust
from checker.trust.manifest import find_manifest_problems
from rules.bundle import Bundle
from rules.bundle_format.csv_table import read_table
from rules.bundle_format.documents import read_document
from rules.bundle_format.files import read_files, unpack
from rules.bundle_format.load import read_evidence
from rules.bundle_format.records import RUN
from rules.registry import bundle_rules, form_rules, rules_by_id
from rules.run_summary import summarize

Result = TypeVar("Result")
SLOWEST = 12
least_s: dict[str, float] = defaultdict(lambda: float("inf"))


def main() -> None:
    """Make some bundles, judge each, and print the least times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bundle", type=Path, default=REFERENCE, help="bundle to make others of")
    parser.add_argument("--bundles", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        key = Path(scratch) / "key"
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], check=True
        )
        allow(Path(scratch), key)
        for number in range(arguments.bundles):
            make_run(
                Path(scratch),
                key,
                arguments.bundle,
                number,
                f"system-{number // RUNS_A_SYSTEM:03}",
                SECONDS,
            )
        for manifest in sorted(Path(scratch).glob("example/*/*/MANIFEST.json")):
            judge(manifest.parent, Path(scratch))
    rules = {name: seconds for name, seconds in least_s.items() if name in rules_by_id()}
    for name, seconds in least_s.items():
        if name not in rules:
            print(f"{1e3 * seconds:6.2f} ms  {name}")
    slowest = sorted(rules.items(), key=lambda rule: -rule[1])[:SLOWEST]
    print(
        f"{1e3 * sum(rules.values()):6.2f} ms  {len(rules)} rules: "
        f"{', '.join(f'{i} {1e3 * s:.2f}' for i, s in slowest)} …"
    )


def judge(path: Path, root: Path) -> None:
    """Judge a bundle, stage by stage."""
    files = time_call("read the files", lambda: read_files(path))
    time_call("manifest", lambda: find_manifest_problems(files))
    text = time_call(
        "  unpack the samples", lambda: unpack("samples.csv.gz", files.contents["samples.csv.gz"])
    )
    time_call("  read the samples", lambda: read_table("samples.csv.gz", text))
    time_call(
        "  read the JSON files",
        lambda: [read_document(n, files.contents[n], form) for n, form in RUN.documents.items()],
    )
    evidence, _ = time_call("read the evidence, of which", lambda: read_evidence(files))
    time_call("trust", lambda: establish_trust(path, files.contents, None, root))
    bundle = Bundle(path, (), evidence)
    time_call("figures", lambda: bundle.figures)
    time_call(
        "series of each accelerator",
        lambda: (bundle.series, bundle.scored_samples, bundle.scored_samples_of),
    )
    for rule in (*form_rules(), *bundle_rules()):
        if bundle.standing in rule.standings:
            time_call(rule.id, lambda rule=rule: list(rule.judge(bundle)))  # type: ignore[misc]
    time_call("digest for the rules across bundles", lambda: summarize(bundle, "example"))


def time_call(name: str, work: Callable[[], Result]) -> Result:
    """What `work` gives; its CPU time is kept where it is the least so far."""
    begin = time.process_time()
    result = work()
    least_s[name] = min(least_s[name], time.process_time() - begin)
    return result


if __name__ == "__main__":
    main()
