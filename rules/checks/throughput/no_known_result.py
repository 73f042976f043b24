"""No result of this board and workload is known

## What it does
Looks up the boards and the workload of a run in full size among the committed results. The rule
reports boards that have no committed result of the workload.

A run with this finding wins no comparison until a reviewer accepts it or the LOG lists it.

## Why it is bad
It is no offence. But nothing bounds such a claim except the peak of the board, and for a board that
the rule book does not have, nothing does. T123 and the rules on the readings of known boards are
silent, and a false result would win at once.

## What to do
Ask for a review. Another center can reproduce the run (`bench-submit reproduce`).

## Source
`rules/known_results.py`: the committed results of H200s and H100s.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.known_results import find_known_result
from rules.rule import BundleRule

RULE = BundleRule(
    __name__,
    "T124",
    Severity.WARNING,
    standings=("closed", "open"),
    added="1.5.0",
    bars_winning=True,
)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = bundle.declaration.workload
    # T108 reports unknown workloads, P112 other sizes and simulated boards.
    if bundle.workload is None or bundle.declaration.size != "full":
        return
    accelerators = [
        bundle.accelerators[uuid]
        for uuid in bundle.accelerator_ranks
        if uuid in bundle.accelerators and not bundle.accelerators[uuid].is_simulated
    ]
    for name in sorted({a.board.id if a.board else a.name for a in accelerators}):
        if find_known_result(name, workload) is None:
            yield Violation(
                RESULT,
                "/workload",
                f"{workload} on {name}",
                "a board and a workload with a known result, or a review",
            )
