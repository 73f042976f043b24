"""Mutations that the rule `node-clocks-disagree` must find."""

from rules.bundle_format.records import Json
from rules.checks.protocol.node_clocks_disagree import FIRST_WITH_CLOCKS, RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import add_twin


def note_clocks(evidence: EvidenceFrames) -> list[Json]:
    """Give the evidence the pairs of clocks that its nodes would have noted; they are handed back,
    in order of nodes."""
    evidence.result["clocks"] = []
    for node, read_ns in evidence.samples.groupby("node", sort=False)["read_ns"]:
        for when, at_ns in (
            ("before", int(read_ns.min()) - 10**6),
            ("after", int(read_ns.max()) + 10**6),
        ):
            pair = {
                "node": str(node),
                "when": when,
                "monotonic_ns": at_ns,
                "wall_ns": at_ns + 1_767_225_600 * 10**9,
            }
            evidence.result["clocks"].append(pair)
    clocks: list[Json] = evidence.result["clocks"]
    return clocks


@mutation(RULE)
def runs_of_two_days_joined(evidence: EvidenceFrames) -> None:
    add_twin(evidence, "node7")
    for pair in note_clocks(evidence):
        pair["wall_ns"] += 86_400 * 10**9 * (pair["node"] == "node7")


@mutation(RULE)
def one_node_a_minute_late(evidence: EvidenceFrames) -> None:
    add_twin(evidence, "node7")
    for pair in note_clocks(evidence):
        pair["wall_ns"] += 60 * 10**9 * (pair["node"] == "node7")


@mutation(RULE)
def samples_before_the_clocks_were_noted(evidence: EvidenceFrames) -> None:
    pair = note_clocks(evidence)[0]
    for name in ("monotonic_ns", "wall_ns"):
        pair[name] += 5 * 10**9


@mutation(RULE)
def clocks_left_out(evidence: EvidenceFrames) -> None:
    evidence.result["rules_version"] = FIRST_WITH_CLOCKS
    evidence.result.pop("clocks", None)


@mutation(RULE)
def clocks_of_one_node_left_out(evidence: EvidenceFrames) -> None:
    add_twin(evidence, "node7")
    note_clocks(evidence)
    evidence.result["clocks"] = evidence.result["clocks"][:2]
