"""The figures of an observed job differ from those of its readings

## What it does
Computes power, energy and energy per item again from power.csv.gz and the declared window and
items, and compares them with `figures` in observation.json.

## Why it is bad
The figures follow from the readings. Others were altered, or come from another program.

## What to do
Restore observation.json, or observe the job again.

## Source
Rules T102 and T103 on runs. Figures may differ by a millionth.
"""

import math
from collections.abc import Iterator

from rules.bundle_format.observation_records import OBSERVATION_FILE
from rules.finding import Severity, Violation
from rules.json_record import to_json
from rules.metrics.node.observed import TOLERANCE
from rules.observations.bundle import ObservationBundle
from rules.rule import ObservationRule

RULE = ObservationRule(__name__, "O103", Severity.ERROR, added="1.13.0", waivable=False)


@RULE.check
def check(bundle: ObservationBundle) -> Iterator[Violation]:
    figures = bundle.figures_or_reason
    if isinstance(figures, str):
        yield Violation(OBSERVATION_FILE, "/figures", figures, "figures that can be computed")
        return
    stated = bundle.observation["figures"]
    for name, value in to_json(figures).items():
        if not _are_equal(stated[name], value):
            expected = f"{value}, as the readings give"
            yield Violation(OBSERVATION_FILE, f"/figures/{name}", f"{stated[name]}", expected)


def _are_equal(stated: float | None, value: float | None) -> bool:
    if stated is None or value is None:
        return stated is value
    return math.isclose(stated, value, rel_tol=TOLERANCE)
