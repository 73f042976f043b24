"""A reproduction does not count for its original

## What it does
Looks at bundles whose result.json has `reproduces`. The rule reports such a bundle if

- no bundle that passes and was not withdrawn has the SHA-256 of `MANIFEST.json` that it states;
- its signer is that of the original;
- it shares an accelerator with the original, by UUID. Demos are left out here, because simulated
  boards share their names.

## Why it is bad
The run itself is sound, but it does not support the original. A repetition by the same submitter or
on the same board repeats the faults of the original too, such as those of its meter. It is a note,
because nothing in the bundle is wrong.

## What to do
Check the whole directory `submissions/`, so that the original is judged too. Otherwise let another
center reproduce the original on its own boards.

## Source
docs/reproduce.md: which reproductions count.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.declarations import OriginalRun
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, find_reproductions

RULE = RoundRule(__name__, "X120", Severity.NOTE, added="1.5.0")


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for run, stated, original in find_reproductions(runs):
        for observed, expected in _find_reasons(run, stated, original):
            yield run.path, Violation(RESULT, "/reproduces", observed, expected)


def _find_reasons(
    run: RunSummary, stated: OriginalRun, original: RunSummary | None
) -> Iterator[tuple[str, str]]:
    """Why the run does not count as a reproduction: what was found and what was expected."""
    if original is None:
        yield (
            f"no bundle in this check passes with manifest {stated.manifest_sha256}",
            f"the original, {stated.path}",
        )
        return
    if run.signer == original.signer:
        yield f"signed by {run.signer}, as the original", "another submitter"
    shared_boards = set(run.boards) & set(original.boards)
    if shared_boards and run.standing != "demo":
        yield (
            f"{', '.join(sorted(shared_boards))}, which the original {original.name} used too",
            "other accelerators",
        )
