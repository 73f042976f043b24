"""Bundles of one sweep contradict each other

## What it does
Looks among the bundles of one sweep for two with the same place, for two with the same cap, number
of accelerators and repeat at different places, and for different numbers of runs, orders or seeds
of the sweep.

The rule reports every bundle of a contradicting pair or group.

## Why it is bad
A sweep is planned once and each of its runs counts once. Of two bundles at one place, one may be
the better of two attempts. Of two runs at one cap that claim to be different runs, one replaces a
cap that was not run. It is a warning, because a run that was repeated after a crash may be present
beside the first attempt.

## What to do
Remove the bundles that the sweep does not need; `bench-submit sweep --resume` lists them at its
end.

## Source
docs/sweeps.md.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rules.bundle_format.table import RESULT
from rules.declarations.run import SweepLabel
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, group_by_sweep

RULE = RoundRule(__name__, "X105", Severity.WARNING, added="1.3.0")

Claim = Callable[[RunSummary, SweepLabel], tuple[object, ...]]
"""What a run claims for itself, from its summary and its label in the sweep."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for members in group_by_sweep(runs).values():
        yield from _find_conflicts(
            members, "/sweep/place", "place {}", lambda run, label: (label.place,)
        )
        yield from _find_conflicts(
            # C105 reports a missing cap.
            [(run, label) for run, label in members if run.cap_w is not None],
            "/power/cap_w",
            "{:g} W on {} accelerators, repeat {}",
            # The number of boards belongs to the claim, because a sweep may also vary it.
            lambda run, label: (run.cap_w, len(run.boards), label.repeat),
        )
        plans = {(label.of, label.order, label.seed) for _, label in members}
        for run, label in members if len(plans) > 1 else ():
            observed = (
                f"{label.of} runs, {label.order}, seed {label.seed}; another bundle of "
                "the sweep states another plan"
            )
            yield run.path, Violation(RESULT, "/sweep", observed, "one plan of a sweep")


def _find_conflicts(
    members: Sequence[tuple[RunSummary, SweepLabel]], pointer: str, template: str, claim: Claim
) -> Iterator[tuple[Path, Violation]]:
    """Runs whose claim another run makes too. `template` formats a claim."""
    runs_by_claim: dict[tuple[object, ...], list[RunSummary]] = {}
    for run, label in members:
        runs_by_claim.setdefault(claim(run, label), []).append(run)
    for values, runs in runs_by_claim.items():
        for run in runs if len(runs) > 1 else ():
            other = next((other for other in runs if other is not run), run)
            observed = f"{template.format(*values)}, which {other.name} claims too"
            yield run.path, Violation(RESULT, pointer, observed, "a unique place in the sweep")
