"""A reproduction does not count for its original

## What it does
Looks at bundles whose result.json has `reproduces`. The rule reports such a bundle if

- no bundle that passes and was not withdrawn has the SHA-256 of `MANIFEST.json` that it states;
- its signer is of the center of the original: the part before the `@` is equal;
- it shares an accelerator with the original, by UUID. Demos are left out here, because simulated
  boards share their names;
- its seed is not that of a challenge: a seed that somebody of a third center signed for the
  original (`bench-check challenge`) before the run began. Originals that were accepted under rule
  books before 1.12.0 need none;
- it has the seed of the original, and their first losses contradict each other by the measure of
  X116. Bundles of older harnesses do not list these losses. Runs with different numbers of
  resident batches are not compared.

## Why it is bad
The run may be sound, but it does not support the original. A repetition by the same center or on
the same board repeats the faults of the original too, such as those of its meter. Other losses show
that one of the runs did other work. It is a note, because nothing in the bundle need be wrong.

## What to do
Check the whole directory `submissions/`, so that the original is judged too. Otherwise let another
center reproduce the original on its own boards, with the seed of a challenge
([reproduce](../reproduce.md)).

## Source
docs/reproduce.md: which reproductions count.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.checks.across.losses_contradict_seed import have_equal_origin
from rules.declarations.run import OriginalRun
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, find_reproductions, list_configuration
from rules.summaries.bundle_summary import Challenge, parse_date

RULE = RoundRule(__name__, "X120", Severity.NOTE, added="1.5.0")

CLOCK_TOLERANCE_S = 3600.0
"""How far the clocks of the node and of who issues the challenge may differ."""

SHOWN_LOSSES = 3


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
    if run.center == original.center:
        yield f"of center {run.center}, as the original", "another center"
    shared_boards = set(run.boards) & set(original.boards)
    if shared_boards and run.standing != "demo":
        yield (
            f"{', '.join(sorted(shared_boards))}, which the original {original.name} used too",
            "other accelerators",
        )
    challenges = list(_list_challenges(run, original))
    if original.needs_challenge and run.seed not in {challenge.seed for challenge in challenges}:
        seeds = ", ".join(f"{c.seed} ({c.issued_by}, {c.issued_at})" for c in challenges)
        yield (
            f"seed {run.seed}",
            f"the seed of a challenge by a third center: {seeds or 'there is none'}",
        )
    has_same_work = list_configuration(run) == list_configuration(original)
    if has_same_work and run.seed == original.seed and not have_equal_origin(run, original):
        yield (
            f"first losses {_format_losses(run)}",
            f"about {_format_losses(original)}, as in {original.name} with the same seed",
        )


def _list_challenges(run: RunSummary, original: RunSummary) -> Iterator[Challenge]:
    """The challenges of the original that the run can answer: of a third center, and issued before
    the run began."""
    for challenge in original.challenges:
        is_of_run = challenge.issued_by.partition("@")[0].casefold() == run.center
        if not is_of_run and parse_date(challenge.issued_at) <= run.from_s + CLOCK_TOLERANCE_S:
            yield challenge


def _format_losses(run: RunSummary) -> str:
    return ", ".join(f"{loss:.4g}" for loss in run.first_losses[:SHOWN_LOSSES])
