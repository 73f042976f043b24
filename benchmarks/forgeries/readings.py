"""Forgeries of power readings: readings that were scaled, invented, smoothed or taken from another
run. The mean power stays as it was, except where readings are scaled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rules.bundle import Bundle
from rules.testing.frames import EvidenceFrames

if TYPE_CHECKING:
    # Earlier checkouts, whose code runs with this module too, have it at another place.
    from rules.metrics.power.series import Series

Floats = NDArray[np.float64]
Power = Callable[["Series", "Series", np.random.Generator], Floats]
"""Makes the power under load in W of the first series. The second series is of another run."""
Forge = Callable[[EvidenceFrames, EvidenceFrames], None]
"""Alters the first evidence. The second one is of another run."""

STEP_W = 0.322


def make_bundle(evidence: EvidenceFrames) -> Bundle:
    """The evidence as rules see it, in a place of a center."""
    return Bundle(Path("center/system/run"), (), evidence.evidence())


# A forgery scales all columns by one factor, or replaces the power under load and derives average
# and counter from it.


def make_scaling(share: float) -> Forge:
    def forge(evidence: EvidenceFrames, other_run: EvidenceFrames) -> None:
        for column in ("power_mw", "power_avg_mw", "energy_mj"):
            evidence.samples[column] = (evidence.samples[column] * share).round()

    return forge


def make_derivation(power: Power, noise: float = 0.0, keep_counter: bool = False) -> Forge:
    """Make a forgery with the power of `power`, scaled to the real mean. Average and counter are
    derived from it with Gaussian noise of `noise` times its standard deviation."""

    def forge(evidence: EvidenceFrames, other_run: EvidenceFrames) -> None:
        random = np.random.default_rng(11)
        donors = make_bundle(other_run).series
        for number, series in enumerate(make_bundle(evidence).series):
            forged_w = power(series, donors[number % len(donors)], random)
            if power is not round_readings:
                forged_w += series.under_load_w.mean() - forged_w.mean()
            power_w = series.power_w.copy()
            power_w[series.load] = forged_w
            sd = noise * forged_w.std()
            mean_w = (
                np.convolve(power_w, np.ones(10) / 10)[: len(power_w)]
                + random.normal(0, sd, len(power_w)) / 3
            )
            steps_j = np.diff(series.read_s) * (
                (power_w[1:] + power_w[:-1]) / 2 + random.normal(0, sd, len(power_w) - 1)
            )
            rows = series.samples.places
            evidence.samples.loc[rows[series.load], "power_mw"] = np.round(
                power_w[series.load] * 1e3
            )
            inner = series.load & (np.arange(len(rows)) >= 10)
            evidence.samples.loc[rows[inner], "power_avg_mw"] = np.round(mean_w[inner] * 1e3)
            if not keep_counter:
                evidence.samples.loc[rows, "energy_mj"] = np.round(
                    1e3 * (series.counter_j[0] + np.concatenate(([0.0], np.cumsum(steps_j))))
                )

    return forge


def draw_gaussian(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return random.normal(0, series.under_load_w.std(), int(series.load.sum()))


def draw_gaussian_on_steps(
    series: Series, other_series: Series, random: np.random.Generator
) -> Floats:
    return np.round(draw_gaussian(series, other_series, random) / STEP_W) * STEP_W


def draw_autoregressive(
    series: Series, other_series: Series, random: np.random.Generator
) -> Floats:
    shocks, noise_w, value = draw_gaussian(series, other_series, random), [], 0.0
    for shock in shocks:
        value = 0.6 * value + 0.8 * shock
        noise_w.append(value)
    return np.array(noise_w)


def copy_other_run(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return np.resize(other_series.under_load_w, int(series.load.sum())).copy()


def scale_other_run(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return (
        copy_other_run(series, other_series, random)
        * series.under_load_w.std()
        / other_series.under_load_w.std()
    )


def stretch_readings(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    count = int(series.load.sum())
    return np.interp(np.arange(count) * 0.97, np.arange(count), series.under_load_w)


def splice_readings(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    spliced_w = series.under_load_w.copy()
    middle = len(spliced_w) // 2
    spliced_w[middle:] = np.resize(other_series.under_load_w, len(spliced_w) - middle)
    return spliced_w


def shuffle_readings(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return random.permutation(series.under_load_w)


def smooth_readings(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return np.convolve(np.pad(series.under_load_w, 2, mode="edge"), np.ones(5) / 5, mode="valid")


def interpolate_from_one_hertz(
    series: Series, other_series: Series, random: np.random.Generator
) -> Floats:
    places = np.arange(int(series.load.sum()))
    return np.interp(places, places[::10], series.under_load_w[::10])


def round_readings(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    return np.round(series.under_load_w)


def repeat_first_epoch(series: Series, other_series: Series, random: np.random.Generator) -> Floats:
    repeated_w = np.resize(series.under_load_w[:300], int(series.load.sum())).copy()
    return repeated_w + random.normal(0, 1, len(repeated_w))


READING_FORGERIES: dict[str, Forge] = {
    "all readings halved": make_scaling(0.5),
    "all readings 7 % lower": make_scaling(0.93),
    "mean with Gaussian noise": make_derivation(draw_gaussian),
    "the same with correlated noise": make_derivation(draw_autoregressive),
    "the same on the sensor's steps": make_derivation(draw_gaussian_on_steps),
    "the same, average and counter with noise of their own": make_derivation(
        draw_gaussian_on_steps, noise=0.7
    ),
    "of another run": make_derivation(copy_other_run, noise=0.7),
    "of another run, scaled": make_derivation(scale_other_run, noise=0.7),
    "own, stretched in time by 3 %": make_derivation(stretch_readings, noise=0.7),
    "half own, half of another run": make_derivation(splice_readings, noise=0.7),
    "own, shuffled, counter kept": make_derivation(shuffle_readings, noise=0.7, keep_counter=True),
    "own, smoothed over 5": make_derivation(smooth_readings, noise=0.7, keep_counter=True),
    "own, interpolated from 1 Hz": make_derivation(interpolate_from_one_hertz, noise=0.7),
    "own, rounded to watts": make_derivation(round_readings, noise=0.7),
    "first 30 s over and over, with 1 W of jitter": make_derivation(repeat_first_epoch, noise=0.7),
}
