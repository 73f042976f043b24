"""No result of this kind is known

## What it does
Looks up a run in full size among the committed results. The rule reports

- boards that have no committed result of the workload;
- closed runs whose variant has none on these boards;
- open runs in a precision that no committed result of the workload on these boards has.

A run with this finding wins no comparison until a center reviews and accepts it or the rule is
waived. X122 does the same for caps.

## Why it is bad
It is no offence. But nothing close bounds such a claim, and for a board that the rule book does not
have, nothing does except the data sheet. T123 and the rules on the readings of known boards are
silent or wide, and a false result would win at once.

## What to do
Ask for a review. Another center can reproduce the run (`bench-submit reproduce`).

## Source
`rules/known_results.py`: the committed results of H200s and H100s.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.known_results import list_known_results
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
    # T108 reports unknown workloads, P112 other sizes and simulated boards.
    if bundle.workload is None or bundle.declaration.size != "full":
        return
    workload = bundle.workload
    accelerators = [
        bundle.accelerators[uuid]
        for uuid in bundle.accelerator_ranks
        if uuid in bundle.accelerators and not bundle.accelerators[uuid].is_simulated
    ]
    for name in sorted({a.board.id if a.board else a.name for a in accelerators}):
        variants = {variant for variant, _ in list_known_results(name, workload.id)}
        precisions = {workload.variants[variant] for variant in variants}
        if not variants:
            yield _violate("/workload", f"{workload.id} on {name}", "a board and a workload")
        elif bundle.standing == "closed" and bundle.variant not in variants:
            found = f"{workload.id} {bundle.variant} on {name}"
            yield _violate("/implementation/variant", found, f"one of {_join(variants)}")
        elif bundle.standing == "open" and bundle.precision not in precisions:
            found = f"{workload.id} in {bundle.precision} on {name}"
            yield _violate("/implementation/precision", found, f"one of {_join(precisions)}")


def _join(names: set[str]) -> str:
    return ", ".join(sorted(names))


def _violate(pointer: str, found: str, expected: str) -> Violation:
    return Violation(RESULT, pointer, found, f"{expected} with a known result, or a review")
