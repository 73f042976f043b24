"""Turns the good bundle of a run into one that trains to a target."""

from rules.contract import TRAININGS_OF_A_SEED
from rules.testing.frames import EvidenceFrames
from rules.workloads import Target, workloads

WORKLOAD = workloads()["xception-transfer"]
assert WORKLOAD.full.target is not None
TARGET: Target = WORKLOAD.full.target


def train_to_target(evidence: EvidenceFrames) -> None:
    """Make each epoch of each rank one training to the target, with a seed of its own. The
    caller must derive figures and events again."""
    result, batches = evidence.result, evidence.batches
    result.update(workload=WORKLOAD.id, standing="open", size="full")
    result["implementation"].update(
        name=WORKLOAD.implementation,
        variant="tuned",
        precision="bf16",
        parameters=WORKLOAD.full.parameters,
        input_shape=list(WORKLOAD.full.input_shape),
        settings={"target_accuracy": TARGET.accuracy},
    )
    result["settings"].update(batch_size=64, batches_per_epoch=1, batch_search=None)
    windows = batches.groupby(["epoch", "rank"], as_index=False)
    evidence.batches = windows.agg(
        batch=("batch", "min"), start_ns=("start_ns", "min"), end_ns=("end_ns", "max")
    ).assign(items=1)[list(batches.columns)]
    ranks = [rank["rank"] for rank in result["ranks"]]
    for epoch in result["epochs"]:
        epoch["losses"] = [epoch["loss"]]
        epoch["trainings"] = [
            {
                "rank": rank,
                "seed": result["settings"]["seed"] * TRAININGS_OF_A_SEED
                + epoch["epoch"] * len(ranks)
                + place,
                "steps": TARGET.steps_between * (20 + (epoch["epoch"] + place) % 5),
                "accuracy": (TARGET.accuracy * TARGET.held_out + epoch["epoch"]) / TARGET.held_out,
            }
            for place, rank in enumerate(ranks)
        ]
