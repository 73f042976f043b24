"""Mutations that the rule `log-contradicts-result` must find."""

import re

from rules.bundle_format.records import Evidence
from rules.checks.protocol.log_contradicts_result import RULE
from rules.testing.case import mutation


def tell(evidence: Evidence) -> None:
    """Give the evidence the lines that a harness would have written of it."""
    result, batches = evidence.result, evidence.batches
    implementation, settings = result["implementation"], result["settings"]
    cap = f"cap {result['power']['cap_w']:g} W as found"
    lines = [
        f"{result['workload']} {implementation['variant']}, full size, "
        f"{settings['accelerators']} x Board, {cap}, meter nvidia",
        f"rank 0: built in 9 s on {result['ranks'][0]['accelerators'][0]}, "
        f"{implementation['precision']}",
        f"{settings['batches_per_epoch']} batches of {settings['batch_size']} an epoch, "
        "1.0 ms each",
    ]
    for epoch, own in batches.groupby("epoch"):
        seconds = (own["end_ns"].max() - own["start_ns"].min()) / 1e9
        lines.append(
            f"epoch {epoch:2d}  {seconds:6.2f} s  {own['items'].sum() / seconds:10.2f} "
            "images/s    700 W  loss 1.5"
        )
    evidence.log = "".join(f"12:00:00 {line}\n" for line in lines)


@mutation(RULE, "T107", rederive=False)
def log_of_another_variant(evidence: Evidence) -> None:
    tell(evidence)
    implementation = evidence.result["implementation"]
    implementation["variant"] = next(
        v for v in ("baseline", "tuned") if v != implementation["variant"]
    )


@mutation(RULE, rederive=False)
def log_of_a_run_at_another_cap(evidence: Evidence) -> None:
    tell(evidence)
    evidence.log = evidence.log.replace("cap 700 W", "cap 300 W")


@mutation(RULE, rederive=False)
def epoch_of_a_better_run(evidence: Evidence) -> None:
    tell(evidence)
    head, _, rest = evidence.log.partition("epoch  7")
    evidence.log = head + "epoch  7" + re.sub(r"[\d.]+ images/s", "1234.50 images/s", rest, count=1)


@mutation(RULE, rederive=False)
def log_of_another_workload(evidence: Evidence) -> None:
    tell(evidence)
    evidence.log = evidence.log.replace("resnet50-train", "vitl16-train")
