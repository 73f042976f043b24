"""A workload that is not the rule book's

## What it does
Compares, in closed bundles, the implementation, the number of parameters, the input shape, the
variant and, for serving, the request set with the definition of the workload. The precision must be
that of the variant, and so must what the reference implementation says of its own settings that
decide the arithmetic (`fixed` of the definition: autocast, compiled, FP8 layers and the like). A
setting that is null in the variant may be missing. A corpus, or the hash of code of one's own, has
no place there.

## Why it is bad
A smaller model or image is faster, and so are shorter answers and fewer bits. In the closed
division all run the same workload with the same code, and variants are compared with their like.

## What to do
Run the workload as defined, or declare the standing `open`.

## Source
Workload definitions, `rules/workloads/`.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import Size, Workload, workloads

RULE = BundleRule(__name__, "T107", Severity.ERROR, standings=("closed",))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    implementation = bundle.result["implementation"]
    workload = workloads().get(bundle.result["workload"])
    size: Size | None = getattr(workload, bundle.result["size"], None)
    if workload is None or size is None:
        return
    settings = bundle.result["settings"]
    asked, fixed = settings.get("requests"), asdict(size.request_set(settings["batch_size"]))
    if (
        workload.mode == "inference"
        and asked is not None
        and any(asked[key] != fixed[key] for key in fixed)
    ):
        yield _found(workload, "/settings/requests", asked, [fixed])
    for pointer, sha256 in {
        "/settings/corpus_sha256": settings.get("corpus_sha256"),
        "/implementation/sha256": implementation.get("sha256"),
    }.items():
        if sha256 is not None:
            yield _found(workload, pointer, sha256, [None])
    variant = workload.variants.get(implementation["variant"])
    allowed: dict[str, list[Any]] = {
        "name": [workload.implementation],
        "parameters": [size.parameters],
        "input_shape": [list(size.input_shape)],
        "precision": [variant] if variant in workload.precisions else list(workload.precisions),
        "variant": list(workload.variants),
    }
    for name, values in allowed.items():
        if implementation[name] not in values:
            yield _found(workload, f"/implementation/{name}", implementation[name], values)
    for name, choice in workload.fixed.get(implementation["variant"], {}).items():
        stated = implementation["settings"].get(name)
        if stated not in choice:
            yield _found(workload, f"/implementation/settings/{name}", stated, list(choice))


def _found(workload: Workload, pointer: str, found: Any, allowed: list[Any]) -> Violation:
    message = (
        f"This is not {workload.title} as the closed division runs it. Run it as defined, or "
        "declare it open."
    )
    return Violation(RESULT, pointer, str(found), " or ".join(map(str, allowed)), message)
