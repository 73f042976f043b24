"""Mutations that the rule `energy-disagrees-in-epoch` must find."""

from rules.bundle_format.table import POWER_COLUMNS
from rules.checks.energy.energy_disagrees_in_epoch import RULE
from rules.metrics.run import agreement
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_protocol, select_load


def scale_power(evidence: EvidenceFrames, epoch: int) -> None:
    load = select_load(evidence, epoch)
    averaged = bool(evidence.samples.loc[load, "power_mw"].isna().all())
    factor = 1 - 2 * agreement(get_protocol(evidence), averaged).epoch
    evidence.samples.loc[load, list(POWER_COLUMNS)] = (
        evidence.samples.loc[load, list(POWER_COLUMNS)] * factor
    ).round()


@mutation(RULE)
def power_of_one_epoch_lowered(evidence: EvidenceFrames) -> None:
    scale_power(evidence, 3)


@mutation(RULE)
def power_of_two_epochs_lowered(evidence: EvidenceFrames) -> None:
    scale_power(evidence, 2)
    scale_power(evidence, 9)
