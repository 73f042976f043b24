"""Control runs, made of the evidence of the good training run."""

from support.bundles import make_evidence, rederive

from rules.testing.frames import EvidenceFrames
from rules.workloads.burn import WORKLOAD

BATCH_TFLOP = 90


def make_control_run(precision: str = "bf16", size: str = "full") -> EvidenceFrames:
    """A control run on the boards of the good run and with its readings."""
    evidence = make_evidence()
    defined = WORKLOAD.size(size)
    evidence.batches["items"] = BATCH_TFLOP
    evidence.result.update(workload=WORKLOAD.id, size=size, standing="control")
    evidence.result["settings"]["batch_size"] = BATCH_TFLOP
    evidence.result["implementation"].update(
        name=WORKLOAD.implementation,
        variant=precision,
        precision=precision,
        parameters=defined.parameters,
        input_shape=list(defined.input_shape),
        settings={"blocks": 900, "compared": "sum of the bits of every result"},
    )
    for epoch in evidence.result["epochs"]:
        epoch.update(loss=None, losses=[])
    rederive(evidence)
    return evidence
