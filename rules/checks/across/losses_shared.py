"""Two runs have the same losses

## What it does
Compares the loss at the end of each scored epoch between all bundles of a workload that are checked
together. The rule reports two runs of different seeds whose losses differ by less than 0.05 % in
five epochs or more, and two runs of one seed on different boards with equal losses in as many.
Demos are not compared.

## Why it is bad
The losses follow from seed, code and board. Another seed gives other losses. Another board with the
same seed gives almost the same losses, but the order of additions is not fixed on a GPU, and the
differences grow over thousands of steps. Equal losses show that one of the runs copied them.

## What to do
Submit the losses as the run recorded them. If the code forces deterministic algorithms, so that two
boards compute the same digits, tell the reviewer.

## Source
The first committed runs: eight pairs of training runs had equal configuration and seed on different
boards. None of their 80 scored epochs ended with an equal loss, and no other pair of these runs had
one. In 550 pairs of different seeds, the fifth closest of ten losses differs by 0.28 % or more. No
code with deterministic algorithms has been measured, so the finding is a warning.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X117", Severity.WARNING, added="1.5.0")

MIN_EQUAL = 5
"""How many epochs must end with equal or close losses; no measured pair has one that is equal."""
CLOSE = 5e-4
"""Largest difference of close losses, as a share. Of ten scored epochs of runs of different seeds,
the fifth closest differs by 2.8e-3 or more."""
MAX_NEIGHBOURS = 16
"""With how many of the next higher losses a loss is compared, so that many copies of one run take
no longer."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    runs = sorted((run for run in runs if run.standing != "demo"), key=lambda run: run.path)
    by_place: dict[tuple[str, int], list[tuple[float, int]]] = {}
    for number, run in enumerate(runs):
        for place, loss in enumerate(run.epoch_losses):
            by_place.setdefault((run.workload, place), []).append((loss, number))
    counts: Counter[tuple[int, int]] = Counter()
    for losses in by_place.values():
        losses.sort()
        for position, (loss, number) in enumerate(losses):
            for other_loss, other in losses[position + 1 : position + 1 + MAX_NEIGHBOURS]:
                if other_loss - loss > CLOSE * abs(loss):
                    break
                if _is_like(runs[number], runs[other], other_loss == loss):
                    counts[number, other] += 1
                    counts[other, number] += 1
    most_alike: dict[int, tuple[int, int]] = {}
    for (number, other), count in sorted(counts.items()):
        if count >= MIN_EQUAL and count > most_alike.get(number, (0, 0))[0]:
            most_alike[number] = (count, other)
    for number, (count, other) in sorted(most_alike.items()):
        run, least = runs[number], len(runs[number].epoch_losses) - MIN_EQUAL + 1
        observed = f"losses of {count} scored epochs as in {runs[other].name}"
        expected = f"other losses in at least {least} epochs"
        yield run.path, Violation(RESULT, "/epochs", observed, expected)


def _is_like(run: RunSummary, other: RunSummary, is_equal: bool) -> bool:
    """Whether two losses that are equal, or close, are more alike than those of two such runs."""
    if run.seed == other.seed:
        return is_equal and run.boards != other.boards
    return True
