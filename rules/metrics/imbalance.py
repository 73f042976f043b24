"""How far the accelerators of a run are apart."""

import math
from collections.abc import Sequence

from rules.bundle_format.records import Json


def imbalance(result: Json) -> Json | None:
    """How far the accelerators of a run are apart over its scored epochs: (largest - smallest) /
    mean of what each did.

    Keys `active_s`, `mean_power_w` and `mean_sm_mhz` (None where not read), from the stated epochs
    of `result`; None where there is one accelerator only. Of ranks with equal work, the one with
    the longest active time is the slowest.
    """
    scored = [a for e in result["epochs"] if e["scored"] for a in e["accelerators"]]
    by_accelerator = {
        name: [a for a in scored if a["accelerator"] == name]
        for name in {a["accelerator"] for a in scored}
    }
    if len(by_accelerator) < 2:
        return None
    return {
        name: _apart([[a[name] for a in own] for own in by_accelerator.values()])
        for name in ("active_s", "mean_power_w", "mean_sm_mhz")
    }


def _apart(values: Sequence[Sequence[float | None]]) -> float | None:
    known = [[v for v in own if v is not None] for own in values]
    if not all(known):
        return None
    means = [math.fsum(own) / len(own) for own in known]
    whole = math.fsum(means) / len(means)
    return (max(means) - min(means)) / whole if whole > 0 else None
