"""Stated figures that are not those of the evidence

## What it does
Recomputes from samples and batches every figure of every epoch and accelerator, the means of the
headline and the observed powers, and what a server's users see, and compares them with result.json.
Spread and intervals are T103's.

## Why it is bad
The stated figures are what readers quote.

## What to do
Leave result.json as `bench-submit` writes it. If you wrote it yourself, use
`rules.metrics.run.figures`.

## Source
Protocol, section "what counts"; `rules/metrics/run.py`.
"""

import math
from collections.abc import Iterator
from typing import Any

from rules.bundle_format.records import Evidence, Json
from rules.bundle_format.table import RESULT
from rules.metrics.run import FIGURES
from rules.rule import Bundle, Found, Rule, Severity

RULE = Rule("T102", Severity.ERROR, waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    if isinstance(bundle.computed, str):
        return
    result, right = bundle.result, bundle.computed
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
            yield Found(
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


@RULE.mutation(rederive=False)
def headline_rounded_up(evidence: Evidence) -> None:
    evidence.result["headline"]["items_per_s_per_accelerator"]["mean"] *= 1.00001


@RULE.mutation(rederive=False)
def energy_of_one_epoch_lowered(evidence: Evidence) -> None:
    evidence.result["epochs"][5]["figures"]["joules_per_item"] *= 0.97


@RULE.mutation(rederive=False)
def items_added_on_one_accelerator(evidence: Evidence) -> None:
    evidence.result["epochs"][2]["accelerators"][0]["items"] += 1


@RULE.mutation(rederive=False)
def cap_said_to_be_broken(evidence: Evidence) -> None:
    evidence.result["observed"][0]["cap_enforced"] = not evidence.result["observed"][0][
        "cap_enforced"
    ]


@RULE.mutation(rederive=False)
def mfu_left_out(evidence: Evidence) -> None:
    evidence.result["headline"]["mfu"] = None


@RULE.mutation(rederive=False, serving=True)
def first_token_sooner_than_measured(evidence: Evidence) -> None:
    evidence.result["serving"]["ttft_s"]["p99"] /= 2


@RULE.mutation(rederive=False)
def total_not_the_sum_of_the_accelerators(evidence: Evidence) -> None:
    evidence.result["headline"]["items_per_s"]["mean"] *= 1.02


@RULE.mutation(rederive=False)
def joules_times_rate_not_the_power(evidence: Evidence) -> None:
    for figures in (*(e["figures"] for e in evidence.result["epochs"]), None):
        if figures is None:
            evidence.result["headline"]["mean_power_w_per_accelerator"]["mean"] *= 0.9
        else:
            figures["mean_power_w_per_accelerator"] *= 0.9


@RULE.mutation(rederive=False)
def flops_per_item_altered(evidence: Evidence) -> None:
    """A workload of a fifth more arithmetic shows in the share of the peak alone: it is the rule
    book that has the FLOPs."""
    for figures in (e["figures"] for e in evidence.result["epochs"]):
        figures["mfu"] *= 1.2
    evidence.result["headline"]["mfu"]["mean"] *= 1.2
