"""The result is far better than every known result

## What it does
Compares items/s and J per item of closed runs with those of other centers: same boards and number
of boards, workload, variant and precision, on boards that kept their cap, at caps within 5 %. The
rule reports a run whose throughput is more than 10 % higher, or whose energy per item is more than
10 % lower, than that of every run of other centers. It names the best of those. If the LOG lists
some of these runs, only those count: two centers that agree on a claim must not vouch for each
other. If the LOG has neither the run nor the best of the others, and the run is nearer to the known
results of its board and workload, the finding is a note: a slow run must not bar an honest one.

A run with this finding wins no comparison until a center reviews and accepts it or the rule is
waived.

## Why it is bad
One board under one cap does about the same work with the same energy. A result far ahead of all
others is more often a mistake or a false claim than a discovery: another batch than stated, another
precision, or readings that are too low. It is a warning, because better software can be the reason.

## What to do
Explain the difference to a reviewer: batch, packages, clocks and options. The result wins no
comparison until a reviewer accepts it. A reproduction by another center is the best explanation.

## Source
The first committed runs: 13 in six settings, on H200s at 700 W. Between two runs of one setting,
items/s differed by 3.1 % at most and J per item by 3.5 %; the limit leaves room for batch, software
and cap. Before rule book 1.5.0, the rule was a note on any difference of 10 %.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.copies.disputes import choose_severity_of_dispute, measure_result
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_groups import pair_with_other_centers
from rules.run_summary import RunSummary

# The rule has its present meaning since 1.5.0. Bundles that were accepted before get a note.
RULE = RoundRule(__name__, "X114", Severity.WARNING, added="1.5.0", bars_winning=True)

MIN_GAIN = 0.1
"""Gain over the best result of other centers from which on a run is reported, as a share."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for group, other_groups in pair_with_other_centers(runs):
        known_runs = list(chain.from_iterable(other_groups))
        fastest = max(known_runs, key=_items_per_s)
        most_efficient = max(known_runs, key=_items_per_joule)
        for run in group:
            yield from _compare(run, fastest, _items_per_s, "items_per_s_per_accelerator")
            yield from _compare(run, most_efficient, _items_per_joule, "joules_per_item")


def _items_per_s(run: RunSummary) -> float:
    return run.headline.items_per_s_per_accelerator.mean


def _items_per_joule(run: RunSummary) -> float:
    energy = run.headline.joules_per_item
    return 1 / energy.mean if energy and energy.mean > 0 else 0.0


def _compare(
    run: RunSummary, best: RunSummary, figure: Callable[[RunSummary], float], key: str
) -> Iterator[tuple[Path, Violation]]:
    gain = figure(run) / figure(best) - 1 if figure(best) > 0 else 0.0
    if gain > MIN_GAIN:
        unit = "items/s per accelerator" if figure is _items_per_s else "items/J"
        observed = (
            f"{figure(run):.4g} {unit}, {gain:.0%} better than every known result of this setting; "
            f"the best is {figure(best):.4g} in {best.name}"
        )
        expected = f"at most {MIN_GAIN:.0%} better than the best run of another center, or a review"
        severity = choose_severity_of_dispute(run, best, measure_result)
        yield run.path, Violation(RESULT, f"/headline/{key}", observed, expected, severity=severity)
