"""Mutations that the rule `readings-shared` must find."""

import json

import numpy as np

from rules.checks.across.readings_shared import RULE
from rules.testing.case import pairing
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import select_load


def _copy(
    target: EvidenceFrames, source: EvidenceFrames, share: float = 1.0, later: int = 0
) -> None:
    """Give the first `share` of the readings under load to the other run, `later` so many
    samples."""
    given, taken = (np.flatnonzero(select_load(evidence)) for evidence in (source, target))
    count = int(share * min(len(given), len(taken))) - later
    for column in ("power_mw", "power_avg_mw"):
        values = source.samples.loc[given[:count], column].to_numpy()
        target.samples.loc[taken[later : later + count], column] = values


@pairing(RULE, both=True)
def times_of_the_readings_kept_where_power_was_altered(
    run: EvidenceFrames, other: EvidenceFrames
) -> None:
    """Both begin at other times, as their batches do; how late each reading was is that of the
    other run."""
    count = min(len(run.samples), len(other.samples))
    late_ns = (other.samples["read_ns"] - other.samples["scheduled_ns"]).to_numpy()[:count]
    run.samples.loc[: count - 1, "read_ns"] = (
        run.samples["scheduled_ns"].to_numpy()[:count] + late_ns
    )


@pairing(RULE, "X112", both=True)
def readings_copied_from_another_run(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _copy(run, other)


@pairing(RULE, "X112", both=True)
def half_of_the_readings_copied_and_shifted_in_time(
    run: EvidenceFrames, other: EvidenceFrames
) -> None:
    _copy(run, other, share=0.5, later=7)


@pairing(RULE, "X112", both=True)
def readings_copied_under_another_uuid(run: EvidenceFrames, other: EvidenceFrames) -> None:
    _copy(run, other)
    own = run.result["ranks"][0]["accelerators"][0]
    renamed = own[:-1] + ("0" if own[-1] != "0" else "1")
    run.samples["accelerator"] = run.samples["accelerator"].replace(own, renamed)
    run.result, run.system = (
        json.loads(json.dumps(document).replace(own, renamed))
        for document in (run.result, run.system)
    )
