"""Mutations that the rule `anchors-beyond-known` must find."""

import numpy as np

from rules.checks.study.anchors_beyond_known import RULE
from rules.testing.case import study_mutation
from rules.testing.frames import StudyFrames
from rules.testing.study_mutations import scale_readings


@study_mutation(RULE)
def all_energies_six_percent_lower(study: StudyFrames) -> None:
    scale_readings(study, np.ones(len(study.samples), dtype=bool), 0.94)


@study_mutation(RULE)
def boards_of_another_name(study: StudyFrames) -> None:
    for session in study.system["nodes"]:
        for accelerator in session["accelerators"]:
            accelerator["name"] = "NVIDIA H100 80GB HBM3"
