"""Ranks, settings and system that do not fit together

## What it does
Asks that ranks are numbered from 0, that each has accelerators of its own which lie on its node in
system.json and were sampled there, that `settings.accelerators` and `settings.nodes` count them
rightly, and that no UUID is listed twice. Every accelerator that system.json lists or that was
sampled has to belong to a rank.

## Why it is bad
Figures per accelerator divide by the number of accelerators. Two ranks on one board, or a board
counted twice, halve or double them. The energy of an accelerator that belongs to no rank is left
out, also if it did a part of the work.

## What to do
Give every rank the accelerators that it computes on, each to one rank, and list and sample no
others.

## Source
Bundle format, result.json and system.json.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT, SAMPLES, SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M102", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    result, system = bundle.result, bundle.system
    ranks, settings = result["ranks"], result["settings"]
    numbers = sorted(r["rank"] for r in ranks)
    if numbers != list(range(len(ranks))):
        yield _found(RESULT, "/ranks", f"ranks {numbers[:16]}", f"0 to {len(ranks) - 1}, each once")
    ranked = [uuid for r in ranks for uuid in r["accelerators"]]
    for uuid in _twice(ranked):
        yield _found(
            RESULT, "/ranks", f"{uuid} several times", "each accelerator in one rank, once"
        )
    for file, pointer, names in (
        (SYSTEM, "/nodes", bundle.accelerators),
        (SAMPLES, "", bundle.samples_of),
    ):
        for uuid in names:
            if uuid not in bundle.accelerator_ranks:
                yield _found(
                    file,
                    pointer,
                    f"{uuid}, which belongs to no rank",
                    "accelerators of the ranks only",
                )
    for uuid in _twice(a["uuid"] for node in system["nodes"] for a in node["accelerators"]):
        yield _found(SYSTEM, "/nodes", f"{uuid} is listed twice", "each accelerator once")
    for name, counted in (
        ("accelerators", len(ranked)),
        ("nodes", len({r["node"] for r in ranks})),
    ):
        if settings[name] != counted:
            yield _found(
                RESULT, f"/settings/{name}", f"{settings[name]}", f"{counted}, as /ranks has it"
            )
    nodes_of = {(a["uuid"], node["name"]) for node in system["nodes"] for a in node["accelerators"]}
    for place, rank in enumerate(ranks):
        node = rank["node"]
        for uuid in rank["accelerators"]:
            if uuid in bundle.accelerators and (uuid, node) not in nodes_of:
                yield _found(
                    RESULT, f"/ranks/{place}/node", node, f"the node that has {uuid} in system.json"
                )
            sampled = (
                bundle.samples_of[uuid].text("node").distinct()
                if uuid in bundle.samples_of
                else [node]
            )
            if sampled != [node]:
                yield _found(
                    SAMPLES,
                    "",
                    f"{uuid} sampled on {', '.join(sampled[:4])}",
                    f"on {node}, as /ranks/{place} says",
                )


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _found(file: str, pointer: str, found: str, expected: str) -> Violation:
    message = (
        "Who ran where is not told consistently, so figures per accelerator cannot be trusted. "
        "Correct it."
    )
    return Violation(file, pointer, found, expected, message)
