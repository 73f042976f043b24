"""Ranks, settings and system that do not fit together

## What it does
Asks that ranks are numbered from 0, that each has an accelerator of its own which lies on its node in system.json and was
sampled there, that `settings.accelerators` and `settings.nodes` count them rightly, and that no UUID is listed twice.

## Why it is bad
Figures per accelerator divide by the number of accelerators. Two ranks on one board, or a board counted twice, halve or
double them.

## What to do
Start one worker per accelerator and describe the system as it is.

## Source
Bundle format, result.json and system.json.
"""

from collections import Counter
from collections.abc import Iterator

from rules.records import Evidence
from rules.rule import Bundle, Found, Rule, Severity
from rules.tables import RESULT, SAMPLES, SYSTEM

RULE = Rule("M102", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    result, system = bundle.result, bundle.system
    ranks, settings = result["ranks"], result["settings"]
    numbers = sorted(r["rank"] for r in ranks)
    if numbers != list(range(len(ranks))):
        yield _found(RESULT, "/ranks", f"ranks {numbers[:16]}", f"0 to {len(ranks) - 1}, each once")
    for uuid in _twice(r["accelerator"] for r in ranks):
        yield _found(RESULT, "/ranks", f"several ranks on {uuid}", "an accelerator for each rank")
    for uuid in _twice(a["uuid"] for node in system["nodes"] for a in node["accelerators"]):
        yield _found(SYSTEM, "/nodes", f"{uuid} is listed twice", "each accelerator once")
    for name, counted in (("accelerators", len(ranks)), ("nodes", len({r["node"] for r in ranks}))):
        if settings[name] != counted:
            yield _found(RESULT, f"/settings/{name}", f"{settings[name]}", f"{counted}, as /ranks has it")
    nodes_of = {(a["uuid"], node["name"]) for node in system["nodes"] for a in node["accelerators"]}
    for place, rank in enumerate(ranks):
        uuid, node = rank["accelerator"], rank["node"]
        if uuid in bundle.accelerators and (uuid, node) not in nodes_of:
            yield _found(RESULT, f"/ranks/{place}/node", node, f"the node that has {uuid} in system.json")
        if uuid in bundle.samples_of:
            sampled = bundle.samples_of[uuid]["node"].unique().tolist()
            if sampled != [node]:
                yield _found(SAMPLES, "", f"{uuid} sampled on {', '.join(sampled[:4])}", f"on {node}, as /ranks/{place} says")


def _twice(names: Iterator[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _found(file: str, pointer: str, found: str, expected: str) -> Found:
    message = "Who ran where is not told consistently, so figures per accelerator cannot be trusted. Correct it."
    return Found(file, pointer, found, expected, message)


@RULE.mutation()
def one_accelerator_too_few_declared(evidence: Evidence) -> None:
    evidence.result["settings"]["accelerators"] += 1


@RULE.mutation()
def another_number_of_nodes(evidence: Evidence) -> None:
    evidence.result["settings"]["nodes"] = 4


@RULE.mutation()
def rank_on_another_node(evidence: Evidence) -> None:
    evidence.result["ranks"][0]["node"] = "node9"


@RULE.mutation()
def accelerator_listed_twice(evidence: Evidence) -> None:
    accelerators = evidence.system["nodes"][0]["accelerators"]
    accelerators.append(dict(accelerators[0]))
