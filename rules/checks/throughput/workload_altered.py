"""The workload differs from its definition

## What it does
Compares, in closed bundles, the implementation, the number of parameters, the input shape, the
variant and, for serving, the request set with the definition of the workload. The precision must be
that of the variant. The settings that the reference implementation reports and that affect the
arithmetic must be those of the variant too (`fixed` of the definition: autocast, compiled, FP8
layers and others). A setting that is null in the variant may be missing. Some variants are for the
open division only (`open_variants` of the definition). A closed bundle must contain neither a
corpus nor the hash of code of the submitter. The matrices of a control run have the size of its
option `side`.

## Why it is bad
A smaller model or image is faster, and so are shorter answers and fewer bits. In the closed
division all runs use the same workload with the same code, and variants are compared with the same
variant.

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

RULE = BundleRule(__name__, "T107", Severity.ERROR, standings=("closed", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    implementation, settings = bundle.implementation, bundle.settings
    workload, size = bundle.workload, bundle.size
    # T108 reports unknown workloads and sizes.
    if workload is None or size is None:
        return
    # The submitter chooses the concurrency, so the definition is compared at the declared one.
    declared, defined = bundle.request_set, size.request_set(bundle.batch_size)
    if workload.mode == "inference" and declared is not None and declared != defined:
        yield _violate("/settings/requests", asdict(declared), [asdict(defined)])
    for pointer, sha256 in {
        "/settings/corpus_sha256": settings.corpus_sha256,
        "/implementation/sha256": implementation.sha256,
    }.items():
        if sha256 is not None:
            yield _violate(pointer, sha256, [None])
    precision = workload.variants.get(bundle.variant)
    # An unknown variant is reported below. It must not hide a wrong precision.
    precisions = [precision] if precision in workload.precisions else list(workload.precisions)
    closed_variants = [name for name in workload.variants if name not in workload.open_variants]
    size = workload.apply_options(size, settings.options)
    facts: tuple[tuple[str, Any, list[Any]], ...] = (
        ("name", implementation.name, [workload.implementation]),
        ("parameters", implementation.parameters, [size.parameters]),
        ("input_shape", implementation.input_shape, [list(size.input_shape)]),
        ("precision", implementation.precision, precisions),
        ("variant", implementation.variant, closed_variants),
    )
    for name, stated, values in facts:
        if stated not in values:
            yield _violate(f"/implementation/{name}", stated, values)
    for name, choice in workload.fixed.get(bundle.variant, {}).items():
        # A missing setting counts as null, which some variants allow.
        stated = implementation.settings.get(name)
        if stated not in choice:
            yield _violate(f"/implementation/settings/{name}", stated, list(choice))


def _violate(pointer: str, stated: Any, allowed: list[Any]) -> Violation:
    return Violation(RESULT, pointer, str(stated), " or ".join(map(str, allowed)))
