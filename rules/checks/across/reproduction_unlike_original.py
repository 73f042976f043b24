"""A reproduction differs from its original in its configuration

## What it does
Looks at bundles whose result.json has `reproduces`, and for the bundle with the SHA-256 of
`MANIFEST.json` that it states. The rule compares both: kind and number of boards, power cap,
workload, size, variant, precision, standing, protocol, implementation, batch size, number of nodes,
input, weights, corpus, options and request set. It reports each difference on the reproduction.

Seed, length of an epoch, driver, packages and the place of the accelerators may differ.

## Why it is bad
The bundle states that it repeats the original. A run with another configuration shows nothing about
the original.

## What to do
Make the reproduction with `bench-submit reproduce`, which takes the configuration from the
original. Submit a run with another configuration as a result of its own, without `reproduces`.

## Source
docs/reproduce.md: what a reproduction repeats.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, find_reproductions, list_configuration

RULE = RoundRule(__name__, "X118", Severity.ERROR, added="1.5.0", waivable=False)


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for run, _, original in find_reproductions(runs):
        if original is None:
            continue
        expected_values = dict(list_configuration(original))
        for name, value in list_configuration(run):
            if value != expected_values[name]:
                observed = f"{name} {_format_value(value)}"
                expected = f"{_format_value(expected_values[name])}, as in {original.name}"
                yield run.path, Violation(RESULT, "/reproduces", observed, expected)


def _format_value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_format_value, value)) or "none"
    return "none" if value is None else str(value)
