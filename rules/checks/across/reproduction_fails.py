"""A reproduction contradicts its original

## What it does
Compares items/s per accelerator and J per item of a reproduction with those of its original. The
rule reports both bundles if one of the figures differs by 4.6 % or more and the 95 % intervals do
not overlap. Reproductions with another configuration are left out, because X118 reports them. If
the LOG has neither bundle, the finding is a note on the one that is nearer to the known results of
its board and workload: a false reproduction must not bar an honest original.

A run with this finding wins no comparison until a center reviews and accepts it or the rule is
waived.

## Why it is bad
Boards of one kind, with the same work under the same cap, give about the same result. A larger
difference needs an explanation: one of the runs did other work, the meter of one of them is wrong,
or the boards differ more than those known so far. The difference does not show which run is at
fault, so it is a warning on both if no result of their kind is known.

## What to do
Compare packages, driver, clocks, temperatures and losses of both runs. Let a third center reproduce
the original. Withdraw the run that turns out to be wrong.

## Source
Committed runs up to November 2026: 23 were comparable, in 6 settings on two to nine H200 boards
each, at 700 W. In 62 pairs on different boards, they differed by up to 4.4 % in items/s and 4.5 %
in J per item. The spread of other boards and at other caps is not known.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.copies.disputes import choose_severity_of_dispute, measure_result
from rules.finding import Severity, Violation
from rules.metrics.comparison import BOARD_SPREAD_PERCENT, ResultDifference, compare_with_original
from rules.rule import RoundRule
from rules.run_summary import RunSummary, find_reproductions, list_configuration

RULE = RoundRule(__name__, "X119", Severity.WARNING, added="1.5.0", bars_winning=True)

EXPECTED = f"less than {BOARD_SPREAD_PERCENT:g} %, or intervals that overlap"


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for run, _, original in find_reproductions(runs):
        if original is None or list_configuration(run) != list_configuration(original):
            continue
        difference = compare_with_original(run.headline, original.headline)
        if difference is None or difference.agrees:
            continue
        differences = _format_difference(difference)
        for reported, other, pointer, observed in (
            (run, original, "/reproduces", f"{differences} against the original {original.name}"),
            (original, run, "/headline", f"{differences} in the reproduction {run.name}"),
        ):
            severity = choose_severity_of_dispute(reported, other, measure_result)
            yield reported.path, Violation(RESULT, pointer, observed, EXPECTED, severity=severity)


def _format_difference(difference: ResultDifference) -> str:
    energy = difference.joules_per_item_percent
    suffix = "" if energy is None else f", {energy:+.1f} % J/item"
    return f"{difference.items_per_s_percent:+.1f} % items/s{suffix}"
