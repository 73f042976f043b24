"""Mutations that the rule `requests-contradict-settings` must find."""

import numpy as np
import pandas as pd

from rules.checks.protocol.requests_contradict_settings import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


def get_requests(evidence: EvidenceFrames) -> pd.DataFrame:
    assert evidence.requests is not None
    return evidence.requests


@mutation(RULE, serving=True)
def shorter_prompts(evidence: EvidenceFrames) -> None:
    get_requests(evidence)["prompt_tokens"] = 128


@mutation(RULE, "T107", serving=True)
def lengths_declared_uniform(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["requests"]["uniform"] = True


@mutation(RULE, serving=True)
def fewer_in_flight_declared(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["requests"]["concurrency"] //= 2
    evidence.result["settings"]["batch_size"] //= 2


@mutation(RULE, "T107", serving=True)
def more_in_flight_declared(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["requests"]["concurrency"] *= 2


@mutation(RULE, "T107", serving=True)
def arrivals_at_another_rate(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["requests"]["rate_per_s"] = 0.001


@mutation(RULE, serving=True)
def first_token_before_the_request(evidence: EvidenceFrames) -> None:
    first_request = get_requests(evidence)["request"] == get_requests(evidence)["request"].min()
    get_requests(evidence).loc[first_request, "first_ns"] = (
        get_requests(evidence)["sent_ns"].min() - 1000
    )


@mutation(RULE, serving=True)
def request_twice(evidence: EvidenceFrames) -> None:
    get_requests(evidence).loc[7, "request"] = get_requests(evidence)["request"].iloc[8]


@mutation(RULE, "P109", serving=True)
def answers_cut_short(evidence: EvidenceFrames) -> None:
    for table, column in ((get_requests(evidence), "output_tokens"), (evidence.batches, "items")):
        table[column] //= 2


@mutation(RULE, "P109", serving=True)
def warm_up_counted(evidence: EvidenceFrames) -> None:
    """The requests of staggered lengths that fill the server stand among those of the first
    epoch."""
    requests, batches = get_requests(evidence), evidence.batches
    staggered = np.linspace(8, 512, evidence.result["settings"]["requests"]["concurrency"]).astype(
        np.int64
    )
    for table, column in ((requests, "output_tokens"), (batches, "items")):
        order = table.sort_values("end_ns", kind="stable").index[: len(staggered)]
        table.loc[order, column] = staggered[: len(order)]
