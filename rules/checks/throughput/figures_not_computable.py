"""Figures that the evidence does not give

## What it does
Recomputes all figures from samples and batches, and says why, where that is not possible.

## Why it is bad
A figure that cannot be recomputed is a claim.

## What to do
Read the reason. Most often another finding names the cause: batches of an unknown rank, samples out
of order or missing.

## Source
Protocol, sections "what counts" and "energy of record".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle_format.records import Evidence
from rules.bundle_format.table import POWER_COLUMNS, RESULT
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import last_epoch, of_first, under_load

RULE = Rule("T101", Severity.ERROR, waivable=False)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    if isinstance(bundle.computed, str):
        yield Found(
            RESULT,
            "/headline",
            bundle.computed,
            "samples and batches from which every figure follows",
            "The stated figures have no evidence. Remove the cause and run again.",
        )


def _power_unread(evidence: Evidence, where: np.ndarray) -> None:
    evidence.samples.loc[of_first(evidence) & where, list(POWER_COLUMNS)] = np.nan


@RULE.mutation()
def power_unread_at_the_end(evidence: Evidence) -> None:
    since = np.flatnonzero(under_load(evidence, last_epoch(evidence)))[-3]
    _power_unread(evidence, np.arange(len(evidence.samples)) >= since)


@RULE.mutation()
def power_unread_at_the_beginning(evidence: Evidence) -> None:
    until = np.flatnonzero(under_load(evidence, 0))[5]
    _power_unread(evidence, np.arange(len(evidence.samples)) <= until)
