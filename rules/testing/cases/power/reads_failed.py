"""Mutations that the rule `reads-failed` must find."""

import numpy as np

from rules.bundle_format.table import POWER_COLUMNS
from rules.checks.power.reads_failed import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_load


@mutation(RULE)
def every_thirtieth_read_fails(evidence: EvidenceFrames) -> None:
    rows = select_every(30, select_load(evidence))
    evidence.samples.loc[rows, [*POWER_COLUMNS, "energy_mj", "cap_mw", "slowdown", "util_pct"]] = (
        np.nan
    )
    evidence.samples.loc[rows, "power_state"] = ""
    evidence.samples.loc[rows, "status"] = "timeout"


@mutation(RULE)
def power_empty_with_status_ok(evidence: EvidenceFrames) -> None:
    evidence.samples.loc[select_every(25, select_load(evidence)), list(POWER_COLUMNS)] = np.nan
