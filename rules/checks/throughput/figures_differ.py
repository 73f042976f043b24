"""Stated figures that are not those of the evidence

## What it does
Recomputes from samples and batches every figure of every epoch and accelerator, the means of the
headline and the observed powers, and what a server's users see, and compares them with result.json.
Spread and intervals are T103's.

## Why it is bad
The stated figures are what readers quote.

## What to do
Leave result.json as `bench-submit` writes it. If you wrote it yourself, use
`rules.metrics.run.compute_figures`.

## Source
Protocol, section "what counts"; `rules/metrics/run.py`.
"""

import math
from collections.abc import Iterator
from typing import Any

from rules.bundle import Bundle
from rules.bundle_format.records import Json
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.metrics.figures import FIGURES
from rules.metrics.figures_json import figures_to_json
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T102", Severity.ERROR, waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.figures is None:
        return
    result, right = bundle.result, figures_to_json(bundle.figures)
    by_number = {e["epoch"]: e for e in right["epochs"]}
    compared: list[tuple[str, Any, Any]] = [
        (
            f"/epochs/{place}",
            {k: v for k, v in epoch.items() if k not in ("scored", "loss", "losses")},
            by_number[epoch["epoch"]],
        )
        for place, epoch in enumerate(result["epochs"])
        if epoch["epoch"] in by_number
    ]
    compared.append(("/headline", _means(result["headline"]), _means(right["headline"])))
    compared.append(("/observed", result["observed"], right["observed"]))
    if "serving" in right:
        compared.append(("/serving", result.get("serving"), right["serving"]))
    for pointer, stated, computed in compared:
        for where, claim, value in _differences(
            pointer, stated, computed, bundle.protocol.recompute_tolerance
        ):
            yield Violation(
                RESULT,
                where,
                str(claim),
                f"{value}, recomputed from the tables",
                "The stated figure does not follow from the tables: one of them was "
                "changed. Leave both as the run wrote them.",
            )


def _means(headline: Json) -> Json:
    figures = {name: headline[name] for name in FIGURES if name in headline}
    return {name: figure if figure is None else figure["mean"] for name, figure in figures.items()}


def _differences(
    pointer: str, stated: Any, right: Any, tolerance: float
) -> Iterator[tuple[str, Any, Any]]:
    """Pointer, stated and recomputed value of every leaf that differs; keys only `stated` has are
    extensions."""
    if stated == right:
        return
    if isinstance(stated, dict) and isinstance(right, dict):
        for key in filter(stated.__contains__, right):
            yield from _differences(f"{pointer}/{key}", stated[key], right[key], tolerance)
    elif isinstance(stated, list) and isinstance(right, list) and len(stated) == len(right):
        for place, (one, other) in enumerate(zip(stated, right, strict=True)):
            yield from _differences(f"{pointer}/{place}", one, other, tolerance)
    elif isinstance(stated, (int, float)) and isinstance(right, (int, float)):
        if not math.isclose(stated, right, rel_tol=tolerance):
            yield pointer, stated, right
    elif stated != right:
        yield pointer, _short(stated), _short(right)


def _short(value: Any) -> Any:
    return f"{len(value)} entries" if isinstance(value, (dict, list)) else value
