"""Mutations that the rule `unit-slip` must find."""

from rules.bundle_format.table import POWER_COLUMNS
from rules.checks.power.unit_slip import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_every, select_first, select_load


def scale_columns(evidence: EvidenceFrames, factor: float, *columns: str) -> None:
    first_board = select_first(evidence)
    for column in columns:
        evidence.samples.loc[first_board, column] = (
            evidence.samples.loc[first_board, column] * factor
        ).round()


@mutation(RULE, "W107", "E103", "E104", may_report=("W119",))
def power_in_watts(evidence: EvidenceFrames) -> None:
    scale_columns(evidence, 1e-3, *POWER_COLUMNS)


@mutation(RULE, "W106", "E103", "E104", "C102")
def power_in_microwatts(evidence: EvidenceFrames) -> None:
    scale_columns(evidence, 1e3, *POWER_COLUMNS)


@mutation(RULE, "W107")
def averaged_power_in_watts(evidence: EvidenceFrames) -> None:
    scale_columns(evidence, 1e-3, "power_avg_mw")
    # A few readings in the right unit do not hide the others.
    evidence.samples.loc[select_every(50, select_load(evidence)), "power_avg_mw"] *= 1e3


@mutation(RULE, "E103", "E104", "E108")
def energy_in_microjoules(evidence: EvidenceFrames) -> None:
    scale_columns(evidence, 1e3, "energy_mj")


@mutation(RULE, "E103", "E104")
def energy_in_milliwatt_hours(evidence: EvidenceFrames) -> None:
    scale_columns(evidence, 1 / 3600, "energy_mj")


@mutation(RULE, "E103", "E104", "E108")
def energy_in_nanojoules(evidence: EvidenceFrames) -> None:
    scale_columns(evidence, 1e6, "energy_mj")


@mutation(RULE, "T101", "W110")
def batches_in_microseconds(evidence: EvidenceFrames) -> None:
    for column in ("start_ns", "end_ns"):
        evidence.batches[column] //= 1000


@mutation(RULE, "P103", "P104", "P106", "P107", "T104", "E103", "E104", may_report=("P118",))
def samples_and_batches_in_microseconds(evidence: EvidenceFrames) -> None:
    for column in ("scheduled_ns", "read_ns"):
        evidence.samples[column] //= 1000
    batches_in_microseconds(evidence)
