"""A workload that is not the rule book's

## What it does
Compares, in closed bundles, the number of parameters, the input shape, the precision and the variant with the definition
of the workload.

## Why it is bad
A smaller model or image is faster. In the closed division all run the same workload.

## What to do
Run the workload as defined, or declare the standing `open`.

## Source
Workload definitions, `rules/workloads/`.
"""

from collections.abc import Iterator
from typing import Any

from rules.records import Evidence
from rules.rule import Bundle, Found, Rule, Severity
from rules.tables import RESULT
from rules.workloads import Size, workloads

RULE = Rule("T107", Severity.ERROR, standings=("closed",))


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    implementation = bundle.result["implementation"]
    workload = workloads().get(bundle.result["workload"])
    size: Size | None = getattr(workload, bundle.result["size"], None)
    if workload is None or size is None:
        return
    allowed: dict[str, list[Any]] = {
        "parameters": [size.parameters],
        "input_shape": [list(size.input_shape)],
        "precision": list(workload.precisions),
        "variant": list(workload.variants),
    }
    for name, values in allowed.items():
        if implementation[name] not in values:
            yield Found(
                RESULT,
                f"/implementation/{name}",
                str(implementation[name]),
                " or ".join(map(str, values)),
                f"This is not {workload.title} as the closed division runs it. Run it as defined, or declare it open.",
            )


@RULE.mutation()
def smaller_model(evidence: Evidence) -> None:
    evidence.result["implementation"]["parameters"] //= 2


@RULE.mutation()
def smaller_images(evidence: Evidence) -> None:
    evidence.result["implementation"]["input_shape"][-1] = 160


@RULE.mutation()
def precision_not_allowed(evidence: Evidence) -> None:
    evidence.result["implementation"]["precision"] = "int4"


@RULE.mutation()
def variant_of_their_own(evidence: Evidence) -> None:
    evidence.result["implementation"]["variant"] = "turbo"
