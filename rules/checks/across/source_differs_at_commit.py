"""Other code at the same commit

## What it does
Looks among all bundles that are checked together for those that name one commit of wattmark, in a
checkout without changes, and have different hashes over the code (`source_sha256`). It speaks of
the bundles that do not have the hash that most centers have; where no hash has more centers than
every other, of all of them.

## Why it is bad
A clean checkout of one commit has one hash. Either the code was altered and the checkout said to be
clean, or a field was edited. It is a warning: what was altered, the bundle does not say.

## What to do
Check the commit out anew, run `git status`, and run again.

## Source
docs/bundle-format.md, environment.json: the hash is over names and contents of the Python files of
rules, reference and harness.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X113", Severity.WARNING, added="1.3.0")

SHOWN = 12


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    commits: dict[str, dict[str, list[RunSummary]]] = {}
    for digest in digests:
        if digest.source is not None:
            commit, code = digest.source
            commits.setdefault(commit, {}).setdefault(code, []).append(digest)
    for commit, by_code in commits.items():
        if len(by_code) > 1:
            yield from _differing(commit, by_code)


def _differing(
    commit: str, by_code: dict[str, list[RunSummary]]
) -> Iterator[tuple[Path, Violation]]:
    centers = {code: len({run.center for run in runs}) for code, runs in by_code.items()}
    most = [code for code, count in centers.items() if count == max(centers.values())]
    for code, runs in by_code.items():
        if most == [code]:
            continue
        other = next(other for other in (*most, *by_code) if other != code)
        for run in runs:
            found = f"{code[:SHOWN]}…, at commit {commit[:SHOWN]} without changes"
            expected = f"{other[:SHOWN]}…, as {by_code[other][0].name} has it at that commit"
            message = "A clean checkout of a commit has one hash. Check it out anew and run again."
            yield (
                run.path,
                Violation("environment.json", "/source_sha256", found, expected, message),
            )
