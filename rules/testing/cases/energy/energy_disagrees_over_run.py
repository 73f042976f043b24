"""Mutations that the rule `energy-disagrees-over-run` must find."""

from rules.checks.energy.energy_disagrees_over_run import RULE
from rules.metrics.run import agreement
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import get_protocol, select_first


def scale_counter(evidence: EvidenceFrames, sign: int) -> None:
    first_board = select_first(evidence)
    averaged = bool(evidence.samples.loc[first_board, "power_mw"].isna().all())
    limits = agreement(get_protocol(evidence), averaged)
    energy_mj = evidence.samples.loc[first_board, "energy_mj"]
    factor = 1 + sign * (limits.run + limits.epoch) / 2
    evidence.samples.loc[first_board, "energy_mj"] = (
        energy_mj.min() + (energy_mj - energy_mj.min()) * factor
    ).round()


@mutation(RULE)
def counter_runs_slow(evidence: EvidenceFrames) -> None:
    scale_counter(evidence, -1)


@mutation(RULE)
def counter_runs_fast(evidence: EvidenceFrames) -> None:
    scale_counter(evidence, 1)
