"""Evidence that the harness writes is missing

## What it does
Looks, in closed and open bundles of reference implementations, for what the harness of the stated
rule book writes into result.json of a training run: the losses of the first steps (since rule book
1.2.0), and a hash of the synthetic input of each rank (1.6.0). P125 looks for the events, P118 for
the clocks of the nodes, and N118 for idle power.

## Why it is bad
Losses and hashes are compared between runs of one seed (X116, X117, X121) and can contradict a
claim. What is left out may be what contradicts.

## What to do
Submit result.json as the harness wrote it, or run again.

## Source
Bundle format, result.json. All committed bundles of these rule books have the evidence.
"""

from collections.abc import Iterator

from rules import RELEASED
from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P127", Severity.WARNING, standings=("closed", "open"), added="1.10.0")

FIRST_WITH_LOSSES, FIRST_WITH_INPUTS = "1.2.0", "1.6.0"
"""The first rule books whose harnesses write them into every bundle."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.implementation.sha256 is not None or not bundle.is_training:
        return
    book = RELEASED.index(bundle.declaration.rules_version)
    missing = [epoch for epoch in bundle.stated_epochs if not epoch.losses]
    if book >= RELEASED.index(FIRST_WITH_LOSSES) and missing:
        yield _violate(f"{missing[0].pointer}/losses", bundle, "the losses of the first steps")
    if book < RELEASED.index(FIRST_WITH_INPUTS) or bundle.settings.input != "synthetic":
        return
    for place, rank in enumerate(bundle.ranks):
        if rank.inputs_sha256 is None:
            yield _violate(f"/ranks/{place}/inputs_sha256", bundle, "a hash of the input")


def _violate(pointer: str, bundle: Bundle, expected: str) -> Violation:
    version = bundle.declaration.rules_version
    return Violation(RESULT, pointer, "none", f"{expected}, as the harness of {version} writes it")
