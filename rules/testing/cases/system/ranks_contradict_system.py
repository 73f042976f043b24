"""Mutations that the rule `ranks-contradict-system` must find."""

from rules.checks.system.ranks_contradict_system import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import concatenate, select_first


@mutation(RULE)
def one_accelerator_too_few_declared(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["accelerators"] += 1


@mutation(RULE)
def another_number_of_nodes(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["nodes"] = 4


@mutation(RULE, may_report=("P118",))
def rank_on_another_node(evidence: EvidenceFrames) -> None:
    evidence.result["ranks"][0]["node"] = "node9"


@mutation(RULE)
def accelerator_listed_twice(evidence: EvidenceFrames) -> None:
    accelerators = evidence.system["nodes"][0]["accelerators"]
    accelerators.append(dict(accelerators[0]))


SPARE = "GPU-00000000-0000-0000-0000-00000000beef"


@mutation(RULE)
def accelerator_of_no_rank_listed(evidence: EvidenceFrames) -> None:
    accelerators = evidence.system["nodes"][0]["accelerators"]
    accelerators.append({**accelerators[0], "uuid": SPARE})


@mutation(RULE)
def accelerator_of_no_rank_sampled(evidence: EvidenceFrames) -> None:
    accelerator_of_no_rank_listed(evidence)
    spare_samples = evidence.samples[select_first(evidence)].assign(accelerator=SPARE)
    evidence.samples = concatenate(evidence.samples, spare_samples)


@mutation(RULE, "W111", may_report=("P120", "P122"))
def accelerator_twice_in_a_rank(evidence: EvidenceFrames) -> None:
    accelerators = evidence.result["ranks"][0]["accelerators"]
    accelerators.append(accelerators[0])
