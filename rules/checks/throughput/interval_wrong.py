"""Stated spread or interval that is not that of the epochs

## What it does
Recomputes n, standard deviation and the 95 % interval of every headline figure and compares them
with result.json.

## Why it is bad
The interval says how sure a figure is, and whether two systems differ at all.

## What to do
Leave result.json as `bench-submit` writes it: standard deviation with n - 1, interval by Student's
t.

## Source
Protocol: every mean carries n, standard deviation and a 95 % interval;
`rules.metrics.figures.estimate_mean`.
"""

import math
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.records import Json
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.metrics.figures_json import headline_to_json
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T103", Severity.ERROR, waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.figures is None:
        return
    for name, right in headline_to_json(bundle.figures.headline).items():
        stated = bundle.result["headline"][name]
        if stated is None or right is None:
            continue
        margin = bundle.protocol.recompute_tolerance * abs(right["mean"])
        for key in ("n", "sd", "ci95"):
            if not _agree(_numbers(stated, key), _numbers(right, key), margin):
                yield Violation(
                    RESULT,
                    f"/headline/{name}/{key}",
                    str(stated[key]),
                    f"{right[key]}, recomputed from the scored epochs",
                    "The stated spread does not follow from the tables: one was changed. "
                    "Leave both as the run wrote them.",
                )


def _numbers(figure: Json, key: str) -> list[float]:
    value = figure[key]
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def _agree(stated: list[float], right: list[float], margin: float) -> bool:
    return len(stated) == len(right) and all(
        math.isclose(a, b, rel_tol=0, abs_tol=margin) for a, b in zip(stated, right, strict=True)
    )
