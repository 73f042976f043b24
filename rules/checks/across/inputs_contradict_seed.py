"""Input differs from that of other runs with the same seed

## What it does
Compares the hash of a part of the synthetic input of each rank between runs of equal configuration,
seed and number of resident batches, of any center. It reports every run whose hashes differ from
those of most other runs of the group, or both of two. Bundles of rule books before 1.6.0 have no
hashes, and demos are not compared.

## Why it is bad
Seed and number of resident batches decide the input. Other input comes from another seed, batch
size or data type than declared. A reviewer who chose the seed (`bench-submit reproduce --seed`)
then knows that the run was not made with it.

## What to do
Submit the run with the seed that was used. If another version of torch makes other numbers from the
same seed, tell the reviewer.

## Source
PyTorch, Reproducibility: generators give the same numbers on the same kind of device and release.
Between releases they may change, so the finding is a warning. It comes from no measured pair.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, input_key

RULE = RoundRule(__name__, "X121", Severity.WARNING, added="1.6.0")


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    groups: dict[tuple[object, ...], list[RunSummary]] = {}
    for run in runs:
        if run.inputs and run.standing != "demo":
            groups.setdefault(input_key(run), []).append(run)
    for group in groups.values():
        counts = Counter(run.inputs for run in group)
        usual, count = counts.most_common(1)[0]
        # Where no input is that of most runs, nobody can tell which is right.
        is_usual_known = 2 * count > len(group)
        for run in group:
            if len(counts) > 1 and not (is_usual_known and run.inputs == usual):
                other = next(other for other in group if other.inputs != run.inputs)
                found = f"{run.inputs[0][:12]} on rank 0, {other.inputs[0][:12]} in {other.name}"
                expected = "equal hashes of the input at equal configuration and seed"
                yield run.path, Violation(RESULT, "/ranks", found, expected)
