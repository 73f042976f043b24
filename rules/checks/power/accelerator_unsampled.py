"""An accelerator that worked without being sampled

## What it does
Asks that every accelerator of every rank has samples.

## Why it is bad
Its work would count, and its energy would not.

## What to do
Sample all accelerators of the run. The harness matches ranks and meters by UUID; check that the
meter sees the same boards as the workers.

## Source
Protocol, sections "sampling" and "scope".
"""

from collections.abc import Iterator

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import RESULT
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import first_accelerator

RULE = Rule("W102", Severity.ERROR)

SPARE = "GPU-00000000-0000-0000-0000-00000000beef"


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    for place, rank in enumerate(bundle.result["ranks"]):
        for n, accelerator in enumerate(rank["accelerators"]):
            if accelerator not in bundle.samples_of:
                yield Found(
                    RESULT,
                    f"/ranks/{place}/accelerators/{n}",
                    f"{accelerator} has no samples",
                    f"one of the sampled: {', '.join(list(bundle.samples_of)[:4])}",
                    "The power of this accelerator was not measured. Sample every "
                    "accelerator of the run.",
                )


def _add_spare(evidence: Evidence) -> None:
    accelerators = evidence.system["nodes"][0]["accelerators"]
    accelerators.append({**accelerators[0], "uuid": SPARE})


@RULE.mutation("T101", "M102")
def another_board_sampled(evidence: Evidence) -> None:
    _add_spare(evidence)
    samples = evidence.samples
    samples["accelerator"] = samples["accelerator"].where(
        samples["accelerator"] != first_accelerator(evidence), SPARE
    )


@RULE.mutation("T101", "M102")
def work_attributed_to_an_unsampled_board(evidence: Evidence) -> None:
    _add_spare(evidence)
    first = first_accelerator(evidence)
    evidence.result["ranks"][0]["accelerators"][0] = SPARE
    for readback in evidence.result["readbacks"]:
        if readback["accelerator"] == first:
            readback["accelerator"] = SPARE
