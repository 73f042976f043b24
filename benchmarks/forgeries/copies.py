"""Copies of another center's run, as they are or disguised."""

import json
from datetime import datetime, timedelta

import numpy as np
from forgeries.claims import Claim, Runs, chain, round_to_sensor, scale_readings, select_under_load
from forgeries.readings import STEP_W

from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import renew_noise

EVERY = 31
"""An alteration of every 31st value leaves no 32 values in a row as they were."""


def rename(evidence: EvidenceFrames, number: int) -> None:
    """Give the run other boards, another name and a later day."""
    result = evidence.result
    for rank in list(result["ranks"]):
        for uuid in rank["accelerators"]:
            digits = f"{number:04x}"
            new_uuid = uuid[:-4] + (digits if uuid[-4:] != digits else "ffff")
            evidence.samples["accelerator"] = evidence.samples["accelerator"].replace(
                uuid, new_uuid
            )
            evidence.result, evidence.system = (
                json.loads(json.dumps(document).replace(uuid, new_uuid))
                for document in (evidence.result, evidence.system)
            )
    result = evidence.result
    result["run_id"] = f"forged-{number}"
    for name in ("started_at", "ended_at"):
        day = datetime.fromisoformat(result[name]) + timedelta(days=1)
        result[name] = f"{day:%Y-%m-%dT%H:%M:%SZ}"
    for pair in result.get("clocks", []):
        pair["wall_ns"] += 86_400 * 10**9


def add_jitter(sd_w: float) -> Claim:
    """Gaussian jitter on the readings, rounded to the steps of the sensor; new delays, and windows
    and losses with a little jitter."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        random, samples = np.random.default_rng(17), evidence.samples
        sensor_mw = samples["power_mw"].to_numpy(np.float64)
        jitter_mw = np.where(
            select_under_load(evidence), random.normal(0, 1e3 * sd_w, len(samples)), 0.0
        )
        samples["power_mw"] = round_to_sensor(sensor_mw + jitter_mw, sensor_mw)
        delay_ns = (samples["read_ns"] - samples["scheduled_ns"]).to_numpy()
        samples["read_ns"] = samples["scheduled_ns"] + random.permutation(delay_ns)
        evidence.batches["end_ns"] -= random.integers(1, 1000, len(evidence.batches))
        jitter_losses(evidence, runs)

    return forge


def jitter_losses(evidence: EvidenceFrames, runs: Runs) -> None:
    """Losses that differ in the fourth digit, as those of another board do."""
    random = np.random.default_rng(19)
    for epoch in evidence.result["epochs"]:
        losses = epoch.get("losses") or [epoch["loss"]]
        losses = [loss * (1 + 1e-4 * random.normal()) for loss in losses]
        epoch["loss"] = losses[-1]
        if epoch.get("losses"):
            epoch["losses"] = losses


def alter_few_values(evidence: EvidenceFrames, runs: Runs) -> None:
    """One value in 31 by the smallest amount: readings by a step, delays and windows by 1 ns; one
    pair of neighbours in 60 swapped."""
    samples, batches = evidence.samples, evidence.batches
    load = np.flatnonzero(select_under_load(evidence))
    samples.loc[load[::EVERY], "power_mw"] += round(1e3 * STEP_W)
    samples.loc[::EVERY, "read_ns"] += 1
    batches.loc[::EVERY, "end_ns"] -= 1
    power_mw = samples["power_mw"].to_numpy(np.float64, copy=True)
    firsts = load[30:-1:60]
    power_mw[firsts], power_mw[firsts + 1] = power_mw[firsts + 1], power_mw[firsts].copy()
    samples["power_mw"] = power_mw
    jitter_losses(evidence, runs)


def leave_as_it_is(evidence: EvidenceFrames, runs: Runs) -> None:
    """The copy under another name."""


copy_lower = chain(scale_readings(0.99), alter_few_values)


def renew_all_noise(clocks_too: bool) -> Claim:
    """Other noise in readings, delays, counter and batches, and losses that differ in the fourth
    digit; `clocks_too` lets clocks change places with others nearby."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        renew_noise(evidence, 23)
        jitter_losses(evidence, runs)
        if not clocks_too:
            return
        random, samples = np.random.default_rng(29), evidence.samples
        rows = np.flatnonzero(select_under_load(evidence))
        places = rows[np.lexsort((random.random(len(rows)), np.arange(len(rows)) // 64))]
        for column in ("sm_mhz", "mem_power_mw"):
            if column in samples:
                samples.loc[rows, column] = samples[column].to_numpy()[places]

    return forge
