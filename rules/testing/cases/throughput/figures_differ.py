"""Mutations that the rule `figures-differ` must find."""

from rules.checks.throughput.figures_differ import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE, rederive=False)
def headline_rounded_up(evidence: EvidenceFrames) -> None:
    evidence.result["headline"]["items_per_s_per_accelerator"]["mean"] *= 1.00001


@mutation(RULE, rederive=False)
def energy_of_one_epoch_lowered(evidence: EvidenceFrames) -> None:
    evidence.result["epochs"][5]["figures"]["joules_per_item"] *= 0.97


@mutation(RULE, rederive=False)
def items_added_on_one_accelerator(evidence: EvidenceFrames) -> None:
    evidence.result["epochs"][2]["accelerators"][0]["items"] += 1


@mutation(RULE, rederive=False)
def cap_said_to_be_broken(evidence: EvidenceFrames) -> None:
    evidence.result["observed"][0]["cap_enforced"] = not evidence.result["observed"][0][
        "cap_enforced"
    ]


@mutation(RULE, rederive=False)
def mfu_left_out(evidence: EvidenceFrames) -> None:
    evidence.result["headline"]["mfu"] = None


@mutation(RULE, rederive=False, serving=True)
def first_token_sooner_than_measured(evidence: EvidenceFrames) -> None:
    evidence.result["serving"]["ttft_s"]["p99"] /= 2


@mutation(RULE, rederive=False)
def total_not_the_sum_of_the_accelerators(evidence: EvidenceFrames) -> None:
    evidence.result["headline"]["items_per_s"]["mean"] *= 1.02


@mutation(RULE, rederive=False)
def joules_times_rate_not_the_power(evidence: EvidenceFrames) -> None:
    for figures in (*(e["figures"] for e in evidence.result["epochs"]), None):
        if figures is None:
            evidence.result["headline"]["mean_power_w_per_accelerator"]["mean"] *= 0.9
        else:
            figures["mean_power_w_per_accelerator"] *= 0.9


@mutation(RULE, rederive=False)
def flops_per_item_altered(evidence: EvidenceFrames) -> None:
    """A workload of a fifth more arithmetic shows in the share of the peak alone: it is the rule
    book that has the FLOPs."""
    for figures in (e["figures"] for e in evidence.result["epochs"]):
        figures["mfu"] *= 1.2
    evidence.result["headline"]["mfu"]["mean"] *= 1.2
