"""Bundles of one sweep contradict each other

## What it does
Looks among the bundles of one sweep for two with the same place, for two with the same settings and
repeat at different places, and for different numbers of runs, orders, seeds, axes or references of
the sweep. The settings are cap, number of accelerators, and the axes that the bundles declare. If
they declare axes, the rule also looks for other settings that differ between the runs. A sweep over
precisions or variants may have closed and open runs, because some variants are always open.

The rule reports every bundle of a contradicting pair or group.

## Why it is bad
A sweep is planned once and each of its runs counts once. Of two bundles at one place, one may be
the better of two attempts. Of two runs at one cap that claim to be different runs, one replaces a
cap that was not run. If a setting beside the axis differs, the axis does not explain the difference
between the results. It is a warning, because a run that was repeated after a crash may be present
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
from rules.run_groups import group_by_sweep
from rules.run_summary import RunSummary, list_configuration
from rules.settings import list_axis_settings

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
            "{:g} W on {} accelerators, {}repeat {}",
            # The number of boards belongs to the claim, because a sweep may also vary it.
            lambda run, label: (
                run.cap_w,
                len(run.boards),
                _name_settings(run, label),
                label.repeat,
            ),
        )
        plans = {_get_plan(label) for _, label in members}
        for run, label in members if len(plans) > 1 else ():
            observed = (
                f"{label.of} runs, {label.order}, seed {label.seed}; another bundle of "
                "the sweep states another plan"
            )
            yield run.path, Violation(RESULT, "/sweep", observed, "one plan of a sweep")
        if len(plans) == 1:
            yield from _find_undeclared_settings(members)


def _get_plan(label: SweepLabel) -> tuple[object, ...]:
    reference = tuple(sorted((label.reference or {}).items()))
    return label.of, label.order, label.seed, tuple(label.axes or ()), reference


def _list_axis_settings(run: RunSummary, label: SweepLabel) -> set[str]:
    """The settings that the declared axes vary, by their names in `list_configuration`."""
    is_serving = run.configuration["prompt tokens"] is not None
    return list_axis_settings(label.axes or (), is_serving)


def _name_settings(run: RunSummary, label: SweepLabel) -> str:
    """The values of the declared axes beside cap and accelerators, as text."""
    if label.axes is None:
        return ""
    # The standing follows from the variant and is no value of an axis.
    names = _list_axis_settings(run, label) - {"cap in W", "boards", "standing"}
    return "".join(f"{name} {value}, " for name, value in list_configuration(run) if name in names)


def _find_undeclared_settings(
    members: Sequence[tuple[RunSummary, SweepLabel]],
) -> Iterator[tuple[Path, Violation]]:
    """Settings that differ between the runs of a sweep and are none of its axes."""
    run, label = members[0]
    if label.axes is None:
        return
    varied_names = _list_axis_settings(run, label)
    for name in [name for name, _ in list_configuration(run) if name not in varied_names]:
        values = [(run, dict(list_configuration(run))[name]) for run, _ in members]
        for run, value in values if len({value for _, value in values}) > 1 else ():
            observed = f"{name} {value}; another bundle of the sweep has another value"
            expected = f"runs that differ in {' and '.join(label.axes)} only"
            yield run.path, Violation(RESULT, "/sweep/axes", observed, expected)


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
