"""The epochs scatter like those of another bundle

## What it does
Compares, between all closed, open and control runs that are checked together, the series of
items/s and that of the mean power of the scored epochs, each as deviations from its mean. The rule
reports a run if one of its two series differs from that of another run by less than 0.1 of the
deviations (root mean squares, at least eight epochs, the smaller deviations of the two). Of two
bundles, it reports the same one as X102. X109 compares the repeats of one center more closely.

A run with this finding wins no comparison until a center reviews and accepts it or the rule is
waived.

## Why it is bad
Epochs scatter, and scatter does not repeat. A copy whose readings, delays and batches got new noise
keeps the sums over its epochs, and X102, X103 and X112 do not recognise it. Scaling all of them
alike changes no deviation.

It is a warning, because it is statistics: two series of ten independent epochs are as alike in less
than one of 10^9 pairs.

## What to do
Withdraw the copy. If the LOG lists neither bundle and another center copied your run, tell the
reviewer.

## Source
76 committed runs, 2 850 pairs: the series of two runs differ by 0.27 of the deviations or more in
items/s, and by 0.23 or more in power.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rules.bundle_format.table import RESULT, Floats
from rules.copies.search import list_copies, order_runs
from rules.finding import Severity, Violation
from rules.rule import RoundRule
from rules.run_summary import RunSummary

RULE = RoundRule(
    __name__,
    "X123",
    Severity.WARNING,
    added="1.10.0",
    sees_withdrawn=True,
    statistical=True,
    bars_winning=True,
)

MAX_SHARE = 0.1
"""Difference of two series below which one is a copy, as a share of their deviations; measured
pairs have 0.23 or more."""
MIN_EPOCHS = 8
_FIGURES = ("items/s", "mean power")
"""As in `RunSummary.epochs`."""
_CHUNK = 256
"""How many runs are compared with all others at a time, to bound memory."""


@RULE.check
def check(runs: Sequence[RunSummary]) -> Iterator[tuple[Path, Violation]]:
    by_count: dict[int, list[RunSummary]] = {}
    for run in order_runs([run for run in runs if run.standing != "demo"]):
        if len(run.epochs) >= MIN_EPOCHS:
            by_count.setdefault(len(run.epochs), []).append(run)
    for group in by_count.values():
        epochs = np.array([run.epochs for run in group])
        for figure, name in enumerate(_FIGURES):
            for earlier, later in _find_alike(epochs[:, :, figure]):
                pair = group[earlier], group[later]
                for run in list_copies(*pair):
                    other = pair[0] if run is pair[1] else pair[1]
                    observed = f"{name} of the epochs deviate from their mean like those of "
                    expected = f"deviations that differ by {MAX_SHARE:g} or more of them"
                    yield run.path, Violation(RESULT, "/epochs", observed + other.name, expected)


def _find_alike(values: Floats) -> Iterator[tuple[int, int]]:
    """For each series of `values`, shape (runs, epochs), that is like an earlier one: the number of
    the first such series, and its own."""
    means = values.mean(axis=1, keepdims=True)
    deviations = values / np.where(means > 0, means, np.nan) - 1
    squares = np.einsum("ij,ij->i", deviations, deviations)
    for begin in range(0, len(values), _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        products = deviations[chunk] @ deviations.T
        differences = squares[chunk, None] + squares[None, :] - 2 * products
        scatter = np.minimum(squares[chunk, None], squares[None, :])
        # Rounding in the subtraction must not make series without scatter alike.
        alike = (differences < MAX_SHARE**2 * scatter) & (scatter > 1e-14)
        for row in np.flatnonzero(alike.any(axis=1)).tolist():
            later, earlier = begin + row, int(alike[row].argmax())
            if earlier < later:
                yield earlier, later
