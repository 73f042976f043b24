"""The throughput of a model is above the peak of the declared precision

## What it does
Multiplies the throughput of each window by the FLOPs of the model, and compares the product with
the dense peak of the declared precision in the data sheet of the board. `tf32-conv`, the default of
PyTorch, has the peak of TF32.

## Why it is bad
No board computes faster than its peak. The model ran in a lower precision than the declared one, or
its windows leave out work, or items were counted twice.

## What to do
Declare the precision that ran, and measure again. PyTorch computes the convolutions of `float32`
models in TF32 unless `torch.backends.cudnn.allow_tf32` is off.

## Source
Section "bounds" of the protocol. In the results that Yang, Adámek and Armour released, 422 of 1 435
on the A100 and 72 of 1 435 on the H100 with PyTorch are above the FP32 peak, and none is above the
TF32 peak. The paper names no precision, and the released code has `torch.float32`, so the rule
doubts none of them. A claim of a lower precision than the true one stays below its peak: this rule
does not find it. The rule doubts published rows only by a claim that their file quotes.
"""

from collections.abc import Iterator

from rules.bundle_format.study_records import POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle
from rules.studies.plausibility import THROUGHPUT_ABOVE_PEAK, share_of_peak

RULE = StudyRule(__name__, THROUGHPUT_ABOVE_PEAK, Severity.ERROR, added="1.7.0", waivable=False)


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for number, point in enumerate(bundle.points):
        board = bundle.accelerator_of(point).board
        if board is None or point.outcome != "ok":
            continue
        share = share_of_peak(board, point.precision, point.flops, point.images_per_s)
        if share is not None and share > 1:
            yield Violation(
                POINTS_FILE,
                f"row {number + 1}",
                f"{point}: {point.images_per_s:.6g} images/s of {point.flops / 1e9:.4g} GFLOP, "
                f"{100 * share:.0f} % of the {point.precision} peak of the {board.id}",
                "at most 100 %",
            )
