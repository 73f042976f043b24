"""Bundles of one sweep that contradict each other

## What it does
Looks among the bundles of one sweep for two that claim one place of it, for two that claim the same
cap, number of accelerators and repeat at different places, and for different numbers of runs,
orders or seeds of the sweep.

It speaks of every bundle of a contradicting pair or group.

## Why it is bad
A sweep is planned once and each of its runs counts once. Of two bundles at one place one is the
better of two tries; of two runs at one cap that claim to be different ones, one stands in for a cap
that was not run. It is a warning, because a run that was made again after a crash may lie beside
the first honestly.

## What to do
Remove the bundles that the sweep does not need; `bench-submit sweep --resume` names them at its
end.

## Source
docs/sweep-figures.md.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rules.bundle_format.records import Json
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary, group_by_sweep

RULE = RoundRule(__name__, "X105", Severity.WARNING, added="1.3.0")


Claim = Callable[[RunSummary, Json], tuple[object, ...]]


ADVICE = "Each run of a sweep counts once. Remove what the sweep does not need."


@RULE.check
def check(digests: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    for runs in group_by_sweep(digests).values():
        yield from _claims(runs, "/sweep/place", "place {}", lambda run, label: (label["place"],))
        yield from _claims(
            [run for run in runs if run[0].cap_w is not None],
            "/power/cap_w",
            "{:g} W on {} accelerators, repeat {}",
            lambda run, label: (run.cap_w, len(run.boards), label["repeat"]),
        )
        plans = {(label["of"], label["order"], label["seed"]) for _, label in runs}
        if len(plans) > 1:
            for run, label in runs:
                found = (
                    f"{label['of']} runs, {label['order']}, seed {label['seed']}; another "
                    "bundle of the sweep says otherwise"
                )
                yield run.path, Violation(RESULT, "/sweep", found, "one plan of a sweep", ADVICE)


def _claims(
    runs: Sequence[tuple[RunSummary, Json]], pointer: str, what: str, claim: Claim
) -> Iterator[tuple[Path, Violation]]:
    claimed: dict[tuple[object, ...], list[RunSummary]] = {}
    for run, label in runs:
        claimed.setdefault(claim(run, label), []).append(run)
    for key, own in claimed.items():
        for run in own if len(own) > 1 else ():
            other = next((one for one in own if one is not run), run)
            found = f"{what.format(*key)}, which {other.name} claims too"
            yield (
                run.path,
                Violation(RESULT, pointer, found, "a place of its own in the sweep", ADVICE),
            )
