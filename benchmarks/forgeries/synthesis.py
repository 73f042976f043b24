"""A run whose readings, batch times, delays and losses are all drawn anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from forgeries.claims import BOOST_MHZ, Runs, invent_losses
from forgeries.folding import Batches
from forgeries.readings import STEP_W, make_bundle

from rules.testing.frames import EvidenceFrames

if TYPE_CHECKING:
    # Earlier checkouts, whose code runs with this module too, have it at another place.
    from rules.metrics.power.series import Series


def synthesize(evidence: EvidenceFrames, runs: Runs) -> None:
    """Everything drawn anew: readings that follow batches and clock on the steps of the sensor,
    average and counter with a scatter of their own, batch times, delays and losses."""
    random = np.random.default_rng(13)
    batches = evidence.batches
    length_ns = (batches["end_ns"] - batches["start_ns"]).to_numpy()
    drawn_ns = random.normal(length_ns.mean(), length_ns.std(), len(length_ns)).astype("int64")
    for _, rows in batches.groupby(["epoch", "rank"]):
        epoch_ns = rows["end_ns"].iloc[-1] - rows["start_ns"].iloc[0]
        shares = np.cumsum(drawn_ns[rows.index]) / drawn_ns[rows.index].sum()
        ends_ns = rows["start_ns"].iloc[0] + (shares * epoch_ns).astype("int64")
        batches.loc[rows.index, "end_ns"] = ends_ns - 1000
        batches.loc[rows.index[1:], "start_ns"] = ends_ns[:-1]
    samples = evidence.samples
    delay_ns = (samples["read_ns"] - samples["scheduled_ns"]).to_numpy()
    samples["read_ns"] = samples["scheduled_ns"] + random.permutation(delay_ns)
    for series in make_bundle(evidence).series:
        _synthesize_readings(evidence, series, random)
    invent_losses(evidence, runs)


def _synthesize_readings(
    evidence: EvidenceFrames, series: Series, random: np.random.Generator
) -> None:
    samples, rows, load = evidence.samples, series.samples.places, series.load
    batches = Batches.of(make_bundle(evidence), series.accelerator)
    phases = batches.compute_phases(samples.loc[rows[load], "read_ns"].to_numpy() / 1e9)
    bins = (16 * phases).astype(int)
    real_w, real_mhz = series.under_load_w, series.sm_mhz[load]
    profile_w = np.array([real_w[bins == place].mean() for place in range(16)])[bins]
    drawn_w = profile_w + random.normal(0, (real_w - profile_w).std(), len(bins))
    drawn_w = np.round(drawn_w / STEP_W) * STEP_W
    # The clock falls where the power rises, as under a cap.
    slope = -0.35 * real_mhz.std() / real_w.std()
    noise_mhz = random.normal(0, 0.93 * real_mhz.std(), len(bins))
    clock_mhz = real_mhz.mean() + slope * (drawn_w - drawn_w.mean()) + noise_mhz
    samples.loc[rows[load], "sm_mhz"] = np.minimum(15 * np.round(clock_mhz / 15), BOOST_MHZ)
    samples.loc[rows[load], "power_mw"] = np.round(1e3 * drawn_w)
    power_w = series.power_w.copy()
    power_w[load] = drawn_w
    scatter_w = random.normal(0, 0.5 * drawn_w.std(), len(power_w))
    moving_w = np.convolve(power_w, np.ones(10) / 10)[: len(power_w)]
    average_w = drawn_w.mean() + 0.3 * (moving_w - drawn_w.mean()) + 0.1 * scatter_w
    inner = load & (np.arange(len(rows)) >= 10)
    samples.loc[rows[inner], "power_avg_mw"] = np.round(1e3 * average_w[inner])
    read_s = samples.loc[rows, "read_ns"].to_numpy() / 1e9
    interval_w = (power_w[1:] + power_w[:-1]) / 2 + scatter_w[1:]
    steps_j = np.diff(read_s) * np.maximum(interval_w, 0.0)
    counter_j = series.counter_j[0] + np.concatenate(([0.0], np.cumsum(steps_j)))
    samples.loc[rows, "energy_mj"] = np.round(1e3 * counter_j)
