"""The power of a window is below idle or above the cap

## What it does
Compares the mean power of each window with the idle power that the session states for the board,
and that of each long window with 102 % of the power cap. Power below idle is an error. Power above
the cap is a warning.

## Why it is bad
A board under load draws more than an idle one, so a lower reading failed. A board that exceeds its
cap was measured at another setting than the stated one.

## What to do
Below idle: look for failed readings in samples.csv.gz, and measure the model again. Above the cap:
nothing, if the board behaves so; otherwise set a cap that the board keeps.

## Source
Section "cap enforced" of the protocol. Published results have no samples and no idle power, so
their limits are half of the cap and 102 % of it. In the results that Yang, Adámek and Armour
released, 27 of 1 435 on the H100 with PyTorch are below half, 8 of 1 435 on the A100 with PyTorch,
and with TensorRT 4 and 6 of 1 405. Three on the A100 with TensorRT are above the cap. Four models
(efficientformerv2) are below half on both boards with PyTorch and seven (lambda_resnet,
lamhalobotnet, tf_efficientnet_cc) with TensorRT, so their low power may be true. The publication
alone does not decide, so these rows carry no mark.
"""

import math
from collections.abc import Iterator

from rules.bundle_format.study_records import LADDER, POINTS_FILE
from rules.finding import Severity, Violation
from rules.rule import StudyRule
from rules.studies.bundle import StudyBundle
from rules.studies.plausibility import CAP_TOLERANCE, POWER_OUTSIDE_LIMITS

RULE = StudyRule(__name__, POWER_OUTSIDE_LIMITS, Severity.ERROR, added="1.7.0")


@RULE.check
def check(bundle: StudyBundle) -> Iterator[Violation]:
    for windows in bundle.windows:
        idle_w = (windows.session.idle_w or {}).get(windows.accelerator.uuid)
        board, cap_w = windows.accelerator.board, windows.session.power.cap_w
        board_idle_w = board.idle_power_w if board else None
        lowest_w = max(idle_w or 0.0, board_idle_w or 0.0)
        for number in windows.rows.tolist():
            power_w = bundle.power_w.get(number, math.nan)
            point, place = bundle.points[number], f"row {number + 1}"
            found = f"{point}: {power_w:.1f} W on average"
            if power_w < lowest_w:
                yield Violation(POINTS_FILE, place, found, f"more than {lowest_w:.1f} W, idle")
            # A board enforces its cap on the average, so a second may exceed it.
            if point.kind != LADDER and cap_w is not None and power_w > CAP_TOLERANCE * cap_w:
                yield Violation(
                    POINTS_FILE,
                    place,
                    found,
                    f"at most {CAP_TOLERANCE * cap_w:.1f} W under a cap of {cap_w:g} W",
                    severity=Severity.WARNING,
                )
