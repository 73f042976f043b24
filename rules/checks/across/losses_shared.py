"""Two runs have the same losses

## What it does
Compares the loss at the end of each scored epoch, to the last digit, between all bundles that are
checked together. The rule reports two runs with equal losses in five epochs or more, unless they
have the same seed and the same boards. Demos are not compared.

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
one. No code with deterministic algorithms has been measured, so the finding is a warning.
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
"""How many epochs must end with equal losses; no measured pair has one."""
MAX_OWNERS = 8
"""How many runs are remembered for a loss, so that many copies of one run take no longer."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    runs = sorted((run for run in runs if run.standing != "demo"), key=lambda run: run.path)
    owners: dict[tuple[int, float], list[RunSummary]] = {}
    for run in runs:
        for place in enumerate(run.epoch_losses):
            owners_of_loss = owners.setdefault(place, [])
            if len(owners_of_loss) < MAX_OWNERS:
                owners_of_loss.append(run)
    for run in runs:
        equal_counts: Counter[Path] = Counter()
        names: dict[Path, str] = {}
        for place in enumerate(run.epoch_losses):
            for other in owners[place]:
                if (other.seed, other.boards) != (run.seed, run.boards):
                    equal_counts[other.path] += 1
                    names[other.path] = other.name
        for path, count in equal_counts.most_common(1):
            if count >= MIN_EQUAL:
                observed = f"losses of {count} scored epochs as in {names[path]}"
                expected = (
                    f"other losses in at least {len(run.epoch_losses) - MIN_EQUAL + 1} epochs"
                )
                yield run.path, Violation(RESULT, "/epochs", observed, expected)
