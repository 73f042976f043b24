"""Mutations that the rule `readings-shared` must find."""

import json

import numpy as np

from rules.checks.across.readings_shared import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import move_after, select_load


def copy_readings(
    target: EvidenceFrames, source: EvidenceFrames, share: float = 1.0, shift: int = 0
) -> None:
    """Give the first `share` of the readings under load to the other run, shifted by `shift`
    samples."""
    source_rows, target_rows = (
        np.flatnonzero(select_load(evidence)) for evidence in (source, target)
    )
    count = int(share * min(len(source_rows), len(target_rows))) - shift
    for column in ("power_mw", "power_avg_mw"):
        values = source.samples.loc[source_rows[:count], column].to_numpy()
        target.samples.loc[target_rows[shift : shift + count], column] = values


@pairing(RULE)
def times_of_the_readings_kept_where_power_was_altered(
    run: EvidenceFrames, other_run: EvidenceFrames
) -> None:
    """Both begin at other times, as their batches do; how late each reading was is that of the
    other run."""
    move_after(run, other_run)
    count = min(len(run.samples), len(other_run.samples))
    late_ns = (other_run.samples["read_ns"] - other_run.samples["scheduled_ns"]).to_numpy()[:count]
    run.samples.loc[: count - 1, "read_ns"] = (
        run.samples["scheduled_ns"].to_numpy()[:count] + late_ns
    )


@pairing(RULE, "X112")
def readings_copied_from_another_run(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    move_after(run, other_run)
    copy_readings(run, other_run)


@pairing(RULE, "X112")
def half_of_the_readings_copied_and_shifted_in_time(
    run: EvidenceFrames, other_run: EvidenceFrames
) -> None:
    move_after(run, other_run)
    copy_readings(run, other_run, share=0.5, shift=7)


@pairing(RULE, "X112")
def readings_copied_under_another_uuid(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    move_after(run, other_run)
    copy_readings(run, other_run)
    uuid = run.result["ranks"][0]["accelerators"][0]
    other_uuid = uuid[:-1] + ("0" if uuid[-1] != "0" else "1")
    run.samples["accelerator"] = run.samples["accelerator"].replace(uuid, other_uuid)
    run.result, run.system = (
        json.loads(json.dumps(document).replace(uuid, other_uuid))
        for document in (run.result, run.system)
    )


@pairing(RULE)
def steps_of_the_energy_counter_copied(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    move_after(run, other_run)
    count = min(len(run.samples), len(other_run.samples))
    run.samples.loc[: count - 1, "energy_mj"] = other_run.samples["energy_mj"].to_numpy()[:count]
