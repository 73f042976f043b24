"""Mutations that the rule `figures-not-computable` must find."""

import numpy as np

from rules.bundle_format.table import POWER_COLUMNS
from rules.checks.throughput.figures_not_computable import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_last_epoch, select_first, select_load


def clear_power(evidence: EvidenceFrames, mask: np.ndarray) -> None:
    evidence.samples.loc[select_first(evidence) & mask, list(POWER_COLUMNS)] = np.nan


@mutation(RULE)
def power_unread_at_the_end(evidence: EvidenceFrames) -> None:
    first_row = np.flatnonzero(select_load(evidence, get_last_epoch(evidence)))[-3]
    clear_power(evidence, np.arange(len(evidence.samples)) >= first_row)


@mutation(RULE)
def power_unread_at_the_beginning(evidence: EvidenceFrames) -> None:
    last_row = np.flatnonzero(select_load(evidence, 0))[5]
    clear_power(evidence, np.arange(len(evidence.samples)) <= last_row)
