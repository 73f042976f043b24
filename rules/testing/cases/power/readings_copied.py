"""Mutations that the rule `readings-copied` must find."""

import numpy as np

from rules.checks.power.readings_copied import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


@mutation(RULE)
def epoch_copied(evidence: EvidenceFrames) -> None:
    source, target = (np.flatnonzero(select_load(evidence, e)) for e in (2, 5))
    length = min(len(source), len(target))
    evidence.samples.loc[target[:length], "power_mw"] = evidence.samples.loc[
        source[:length], "power_mw"
    ].to_numpy()


@mutation(RULE)
def four_seconds_copied(evidence: EvidenceFrames) -> None:
    load_rows = np.flatnonzero(select_load(evidence, 4))
    evidence.samples.loc[load_rows[100:140], "power_mw"] = evidence.samples.loc[
        load_rows[20:60], "power_mw"
    ].to_numpy()
