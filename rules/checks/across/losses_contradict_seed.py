"""First losses differ from those of other runs with the same seed

## What it does
Compares the losses of the first eight steps between runs of equal configuration and seed: workload,
size, variant, precision, batch size, number of resident batches, boards, implementation and its
options, of any center. The rule reports a run if, against the median of the other runs,

- the mean of the eight losses differs by more than 1 %; or
- the correlation of the seven changes from step to step is below 0.9.

With two runs it reports both. Bundles of older harnesses do not list the losses of steps and are
not compared. Demos are not compared either.

## Why it is bad
Seed and number of resident batches decide the input, and the seed decides the initial weights. The
same code then computes the same losses, apart from the order of additions. Other losses come from
another batch size, precision, model or seed than declared, or they were invented.

## What to do
Submit the losses as the run recorded them, with the seed that was used. If versions of packages
explain the difference, tell the reviewer.

## Source
The first committed runs: four pairs had equal configuration and seed on different boards (LLaMA 3
8B pre-training, ResNet-50, Stable Diffusion in two variants). Their means differ by 0.004 to 0.44
%, and the correlations are 0.996 or more. LLaMA 3 8B in FP8 against bf16 has a correlation of
-0.26. No other board has been measured, so the finding is a warning.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.metrics.power.series import correlate_lagged
from rules.rule import RoundRule
from rules.run_summary import RunSummary, input_key

Losses = NDArray[np.float64]

RULE = RoundRule(__name__, "X116", Severity.WARNING, added="1.5.0")

MAX_DIFFERENCE = 0.01
"""Largest usual difference of the means, as a share; measured pairs have 0.0044 at most."""
MIN_CORRELATION = 0.9
"""Lowest usual correlation of the changes; measured pairs have 0.996 or more."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    groups: dict[tuple[object, ...], list[RunSummary]] = {}
    for run in runs:
        if run.first_losses and run.standing != "demo":
            groups.setdefault(input_key(run), []).append(run)
    for group in groups.values():
        if len(group) > 1:
            yield from _compare(sorted(group, key=lambda run: run.path))


def _compare(group: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    losses = np.array([run.first_losses for run in group])
    for index, run in enumerate(group):
        usual = np.median(np.delete(losses, index, axis=0), axis=0)
        difference, correlation = _compare_losses(losses[index], usual)
        if difference > MAX_DIFFERENCE or correlation < MIN_CORRELATION:
            other = group[1 if index == 0 else 0]
            observed = (
                f"mean {losses[index].mean():.5g} of the first {len(usual)} losses, correlation "
                f"{correlation:.2f} of their changes with runs of this seed, such as {other.name}"
            )
            expected = (
                f"a mean within {MAX_DIFFERENCE:.0%} of {usual.mean():.5g}, and a correlation of "
                f"at least {MIN_CORRELATION:g}"
            )
            yield run.path, Violation(RESULT, "/epochs/0/losses", observed, expected)


def have_equal_origin(run: RunSummary, other: RunSummary) -> bool:
    """Whether the first losses of two runs of one configuration and seed agree. Also true if they
    cannot be compared: a run does not list its losses, or the numbers of resident batches
    differ."""
    has_other_input = run.resident_batches != other.resident_batches
    if has_other_input or not run.first_losses or not other.first_losses:
        return True
    losses, usual = np.array(run.first_losses), np.array(other.first_losses)
    difference, correlation = _compare_losses(losses, usual)
    return difference <= MAX_DIFFERENCE and correlation >= MIN_CORRELATION


def _compare_losses(losses: Losses, usual: Losses) -> tuple[float, float]:
    """The relative difference of the means of two series of losses, shape (n,), and the correlation
    of their changes."""
    difference = abs(float(losses.mean() / usual.mean()) - 1)
    # None, losses that do not change, is no agreement either.
    return difference, correlate_lagged(np.diff(losses), np.diff(usual), 0) or 0.0
