"""Bundles of one system that describe different systems

## What it does
Compares, among the bundles of one system's directory, and among those of one center and one name of
a system, driver, name, category, CPU, and of the accelerators that worked their name, memory,
firmware (VBIOS) and highest cap. It speaks of the bundles that differ from most of the others, of
equally many from the last by path, and names each field. The number of cores and the memory of a
node are left out, because a batch system may hand out a part of a node.

Only bundles of one standing are compared with each other.

## Why it is bad
The runs of a submission are compared as if one system had made them. Another driver or firmware
changes clocks and caps by more than a cap does.

## What to do
Make all runs of a submission with the same driver and firmware. Hand in another system as one of
its own, in a directory of its own.

## Source
docs/glossary.md: a submission is all bundles of one system of one center.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(__name__, "X107", Severity.WARNING, added="1.3.0")


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    systems: dict[tuple[object, ...], list[RunSummary]] = {}
    for digest in sorted(digests, key=lambda d: d.path, reverse=True):
        for system in (digest.path.parent, (digest.center, dict(digest.system)["name"])):
            systems.setdefault((system, digest.standing), []).append(digest)
    found = dict.fromkeys(differing for runs in systems.values() for differing in _differing(runs))
    yield from found


def _differing(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    if len(runs) > 1:
        usual = {
            field: Counter(
                value for run in runs for name, value in run.system if name == field
            ).most_common(1)[0][0]
            for field, _ in runs[0].system
        }
        for run in runs:
            for field, value in run.system:
                if value != usual[field]:
                    yield run.path, _found(field, value, usual[field])


def _found(field: str, value: object, usual: object) -> Violation:
    message = (
        "The runs of a submission are of one system. Run it again there, or hand it in as "
        "another system."
    )
    return Violation(
        SYSTEM,
        "",
        f"{field} {_shown(value)}",
        f"{_shown(usual)}, as in other bundles of this system",
        message,
    )


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
