"""Mutations that the rule `workload-altered` must find."""

from rules.checks.throughput.workload_altered import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


@mutation(RULE)
def smaller_model(evidence: EvidenceFrames) -> None:
    evidence.result["implementation"]["parameters"] //= 2


@mutation(RULE)
def smaller_images(evidence: EvidenceFrames) -> None:
    evidence.result["implementation"]["input_shape"][-1] = 160


@mutation(RULE)
def precision_not_allowed(evidence: EvidenceFrames) -> None:
    evidence.result["implementation"]["precision"] = "int4"


@mutation(RULE)
def another_variant_than_was_run(evidence: EvidenceFrames) -> None:
    implementation = evidence.result["implementation"]
    implementation["variant"] = next(
        v for v in ("baseline", "tuned") if v != implementation["variant"]
    )


@mutation(RULE)
def precision_of_another_variant(evidence: EvidenceFrames) -> None:
    implementation = evidence.result["implementation"]
    implementation["precision"] = next(
        p for p in ("tf32", "bf16") if p != implementation["precision"]
    )


@mutation(RULE)
def fewer_bits_in_the_settings_alone(evidence: EvidenceFrames) -> None:
    evidence.result["implementation"]["settings"]["autocast"] = "fp16"


@mutation(RULE, serving=True)
def quantised_model_served(evidence: EvidenceFrames) -> None:
    evidence.result["implementation"]["settings"]["quantization"] = "fp8"


@mutation(RULE)
def settings_left_out(evidence: EvidenceFrames) -> None:
    evidence.result["implementation"]["settings"] = {}


@mutation(RULE)
def variant_of_their_own(evidence: EvidenceFrames) -> None:
    evidence.result["implementation"]["variant"] = "turbo"


@mutation(RULE)
def open_variant(evidence: EvidenceFrames) -> None:
    implementation = evidence.result["implementation"]
    implementation["variant"], implementation["precision"] = "mayr", "tf32"


@mutation(RULE)
def code_of_their_own(evidence: EvidenceFrames) -> None:
    evidence.result["implementation"]["name"] = "faster.kernels:build"


@mutation(RULE, "P109", "P116", serving=True)
def shorter_answers(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["requests"]["output_tokens"] = 128


@mutation(RULE, "T112")
def synthetic_with_a_corpus(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["corpus_sha256"] = "0" * 64
