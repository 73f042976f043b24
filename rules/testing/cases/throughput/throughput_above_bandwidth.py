"""Mutations that the rule `throughput-above-bandwidth` must find."""

import numpy as np

from rules.checks.throughput.throughput_above_bandwidth import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames

IN_FLIGHT = 8


@mutation(RULE, "P116", serving=True)
def fewer_declared_than_were_in_flight(evidence: EvidenceFrames) -> None:
    evidence.result["settings"]["requests"]["concurrency"] = evidence.result["settings"][
        "batch_size"
    ] = IN_FLIGHT


@mutation(RULE, serving=True)
def answers_sooner_than_memory_can_give(evidence: EvidenceFrames) -> None:
    """The same answers at the same times, each sent when the eighth before it had ended."""
    assert evidence.requests is not None
    evidence.requests = requests = evidence.requests.sort_values(
        ["end_ns", "request"], ignore_index=True
    )
    end_ns = requests["end_ns"].to_numpy()
    sent_ns = np.concatenate(
        (end_ns[0] - 300 * 10**6 + np.arange(IN_FLIGHT), end_ns[:-IN_FLIGHT] + 1)
    )
    requests["sent_ns"], requests["first_ns"] = (
        sent_ns,
        sent_ns + np.maximum((end_ns - sent_ns) // 10, 1),
    )
    requests["request"] = np.arange(len(requests))
    begins_ns = requests.groupby("epoch")["end_ns"].max().shift(fill_value=0)
    start_ns = np.maximum(sent_ns, begins_ns.reindex(requests["epoch"]).to_numpy(np.int64))
    batches = requests[["epoch"]].assign(
        batch=requests.groupby("epoch").cumcount(), rank=0, start_ns=start_ns, end_ns=end_ns
    )
    evidence.batches = batches.assign(items=requests["output_tokens"]).astype("int64")
    evidence.result["settings"]["requests"]["concurrency"] = evidence.result["settings"][
        "batch_size"
    ] = IN_FLIGHT
