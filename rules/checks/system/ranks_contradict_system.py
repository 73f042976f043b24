"""Ranks, settings and system contradict each other

## What it does
Checks that

- ranks are numbered from 0;
- each rank has accelerators of its own, which system.json lists on its node and which were sampled
  there;
- `settings.accelerators` and `settings.nodes` state their numbers correctly;
- no UUID is listed twice;
- every accelerator that system.json lists or that was sampled belongs to a rank.

## Why it is bad
Figures per accelerator are divided by the number of accelerators. Two ranks on one board, or a
board that counts twice, change them by a factor of two. The energy of an accelerator that belongs
to no rank is omitted, even if it did a part of the work.

## What to do
Assign every rank the accelerators that it computes on, each to one rank. List and sample no others.

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
    yield from _check_numbers(bundle)
    ranked = [uuid for rank in bundle.ranks for uuid in rank.accelerators]
    for uuid in _find_duplicates(ranked):
        observed = f"{uuid} several times"
        yield Violation(RESULT, "/ranks", observed, "each accelerator in one rank, once")
    for file, pointer, names in (
        (SYSTEM, "/nodes", bundle.accelerators),
        (SAMPLES, "", bundle.samples_of),
    ):
        for uuid in names:
            if uuid not in bundle.accelerator_ranks:
                observed = f"{uuid}, which belongs to no rank"
                yield Violation(file, pointer, observed, "only accelerators of the ranks")
    for uuid in _find_duplicates(listed.uuid for listed in bundle.listed_accelerators):
        yield Violation(SYSTEM, "/nodes", f"{uuid} is listed twice", "each accelerator once")
    settings = bundle.settings
    nodes = {rank.node for rank in bundle.ranks}
    for name, stated, count in (
        ("accelerators", settings.accelerators, len(ranked)),
        ("nodes", settings.nodes, len(nodes)),
    ):
        if stated != count:
            expected = f"{count}, the number in /ranks"
            yield Violation(RESULT, f"/settings/{name}", f"{stated}", expected)
    yield from _check_nodes(bundle)


def _check_numbers(bundle: Bundle) -> Iterator[Violation]:
    numbers = sorted(rank.rank for rank in bundle.ranks)
    if numbers != list(range(len(numbers))):
        observed = f"ranks {numbers[:16]}"
        yield Violation(RESULT, "/ranks", observed, f"0 to {len(numbers) - 1}, each once")


def _check_nodes(bundle: Bundle) -> Iterator[Violation]:
    """Accelerators that system.json lists, or samples have, on another node than their rank."""
    listed_nodes = {(listed.uuid, listed.node) for listed in bundle.listed_accelerators}
    for rank in bundle.ranks:
        for uuid in rank.accelerators:
            # M101 reports an accelerator that system.json does not list at all.
            if uuid in bundle.accelerators and (uuid, rank.node) not in listed_nodes:
                expected = f"the node of {uuid} in system.json"
                yield Violation(RESULT, f"{rank.pointer}/node", rank.node, expected)
            # W102 reports an accelerator without samples.
            if uuid not in bundle.samples_of:
                continue
            sampled_nodes = bundle.samples_of[uuid].text("node").distinct()
            if sampled_nodes != [rank.node]:
                observed = f"{uuid} sampled on {', '.join(sampled_nodes[:4])}"
                expected = f"sampled on {rank.node}, as {rank.pointer} states"
                yield Violation(SAMPLES, "", observed, expected)


def _find_duplicates(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
