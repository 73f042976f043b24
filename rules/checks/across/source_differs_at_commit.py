"""Different code at the same commit

## What it does
Looks among all bundles that are checked together for bundles that state the same commit of
wattmark, from a checkout without changes, and different hashes of the code (`source_sha256`). The
rule reports the bundles without the hash that most centers have. If no hash has more centers than
every other, it reports all of them.

## Why it is bad
A clean checkout of one commit has one hash. Either the code was changed and the checkout was stated
as clean, or a field was edited. It is a warning, because the bundle does not show what was changed.

## What to do
Check out the commit again, run `git status`, and run again.

## Source
docs/bundle-format.md, environment.json: the hash covers names and contents of the Python files of
rules, reference and harness.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import ENVIRONMENT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X113", Severity.WARNING, added="1.3.0")

DIGITS = 12
"""Leading digits of hashes in findings."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    hashes_by_commit: dict[str, dict[str, list[RunSummary]]] = {}
    for run in runs:
        # A checkout with changes, or none at all, has no hash that its commit determines.
        if run.source is not None:
            commit, sha256 = run.source
            hashes_by_commit.setdefault(commit, {}).setdefault(sha256, []).append(run)
    for commit, runs_by_hash in hashes_by_commit.items():
        if len(runs_by_hash) > 1:
            yield from _compare_hashes(commit, runs_by_hash)


def _compare_hashes(
    commit: str, runs_by_hash: dict[str, list[RunSummary]]
) -> Iterator[tuple[Path, Violation]]:
    # Centers count instead of bundles, so that many bundles of one center do not decide.
    centers = {sha256: len({run.center for run in runs}) for sha256, runs in runs_by_hash.items()}
    most = max(centers.values())
    majority = [sha256 for sha256, count in centers.items() if count == most]
    for sha256, runs in runs_by_hash.items():
        # In a tie nobody knows which hash is right, so all bundles are reported.
        if majority == [sha256]:
            continue
        other = next(other for other in (*majority, *runs_by_hash) if other != sha256)
        expected = f"{other[:DIGITS]}…, as in {runs_by_hash[other][0].name} at that commit"
        for run in runs:
            observed = f"{sha256[:DIGITS]}…, at commit {commit[:DIGITS]} without changes"
            yield run.path, Violation(ENVIRONMENT, "/source_sha256", observed, expected)
