"""Stated spread or interval differs from that of the epochs

## What it does
Recomputes n, standard deviation and the 95 % interval of every headline figure and compares them
with result.json.

## Why it is bad
The interval states the uncertainty of a figure, and decides whether two systems differ.

## What to do
Submit result.json and the tables as `bench-submit` wrote them: standard deviation with n - 1,
interval by Student's t.

## Source
Protocol: every headline figure carries n, standard deviation and a 95 % interval;
`rules.metrics.figures`: `estimate_ratio`, and `estimate_mean` for runs before rule book 1.5.0.
"""

import math
from collections.abc import Iterator
from typing import Any

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.json_record import to_json
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T103", Severity.ERROR, waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.stated_figures is None:
        return
    for name, computed in to_json(bundle.stated_figures.headline).items():
        stated = bundle.result["headline"][name]
        # T102 reports a figure that only one of the two has.
        if stated is None or computed is None:
            continue
        # Relative to the mean: a standard deviation near zero has no meaningful relative error.
        margin = bundle.protocol.recompute_tolerance * abs(computed["mean"])
        for key in ("n", "sd", "ci95"):
            if not _are_close(_to_numbers(stated[key]), _to_numbers(computed[key]), margin):
                yield Violation(
                    RESULT,
                    f"/headline/{name}/{key}",
                    str(stated[key]),
                    f"{computed[key]}, recomputed from the scored epochs",
                )


def _to_numbers(value: Any) -> list[float]:
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def _are_close(stated: list[float], computed: list[float], margin: float) -> bool:
    return len(stated) == len(computed) and all(
        math.isclose(a, b, rel_tol=0, abs_tol=margin) for a, b in zip(stated, computed, strict=True)
    )
