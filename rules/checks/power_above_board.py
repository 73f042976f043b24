"""More power than the board can draw

## What it does
Compares power in the scored epochs with the highest power that the board may be set to: averaged readings, and means of
instantaneous ones over a second, with a small tolerance, single instantaneous readings with a larger one. For a board that
the rule book does not know, `max_power_w` of system.json serves.

A board holds its limit over about a second, not in every instant: at its cap of 700 W an H200 that trained ResNet-50
with batches of 140 ms was read at 490 to 831 W, while its one-second average stayed below 697 W.

## Why it is bad
The reading is not that board's power: another board, another unit, or a broken sensor.

## What to do
Check that the meter and system.json name the same board, and the unit of the readings.

## Source
Protocol, section "bounds"; the makers' data sheets, see `rules/boards.py`.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rules.boards import board
from rules.records import Evidence, Json
from rules.rule import Bundle, Found, Rule, Severity
from rules.spoil import every, first_accelerator, of_first, protocol, under_load
from rules.tables import POWER_COLUMNS, SAMPLES, floats, implausible, offenders

RULE = Rule("W106", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    samples, protocol = bundle.scored_samples, bundle.protocol
    highest_mw = {uuid: _highest_mw(accelerator) for uuid, accelerator in bundle.accelerators.items()}
    limits_mw = samples["accelerator"].map(highest_mw).to_numpy(np.float64)
    instantaneous = floats(samples, "power_mw")
    for what, power, tolerance in (
        ("instantaneous power", instantaneous, protocol.transient_tolerance),
        ("a mean over one second", _second_means(bundle), protocol.board_power_tolerance),
        ("averaged power", floats(samples, "power_avg_mw"), protocol.board_power_tolerance),
    ):
        wrong = (power > limits_mw * tolerance) & ~implausible(power)
        for uuid, where, count in offenders(samples, wrong):
            yield Found(
                SAMPLES,
                where,
                f"{uuid}: {what} above its limit {count} times, such as {power[wrong][0] / 1e3:.1f} W",
                f"at most {highest_mw[uuid] * tolerance / 1e3:g} W, the board's maximum and the tolerance",
                "This board cannot draw that much. Check which board was read, and the unit.",
            )


def _second_means(bundle: Bundle) -> NDArray[np.float64]:
    """Instantaneous power averaged over the last second, in mW, for each scored sample; NaN where it is not complete."""
    width = 1000 // bundle.protocol.sample_interval_ms
    plausible = bundle.scored_samples["power_mw"].where(~implausible(floats(bundle.scored_samples, "power_mw")))
    means = plausible.groupby(bundle.scored_samples["accelerator"], sort=False).rolling(width).mean()
    return means.droplevel(0).reindex(plausible.index).to_numpy(np.float64)


def _highest_mw(accelerator: Json) -> float:
    """The highest power that a board may be set to; NaN where nobody says."""
    known = board(accelerator["name"])
    max_w = known.max_power_w if known else accelerator["max_power_w"]
    return np.nan if max_w is None else float(1e3 * max_w)


def _highest_of_first(evidence: Evidence) -> float:
    accelerators = {a["uuid"]: a for node in evidence.system["nodes"] for a in node["accelerators"]}
    return _highest_mw(accelerators[first_accelerator(evidence)])


@RULE.mutation()
def spikes(evidence: Evidence) -> None:
    too_much = 1.1 * protocol(evidence).transient_tolerance * _highest_of_first(evidence)
    evidence.samples.loc[every(150, under_load(evidence)), "power_mw"] = round(too_much)


@RULE.mutation()
def one_second_of_too_much(evidence: Evidence) -> None:
    rows = np.flatnonzero(under_load(evidence))[:12]
    too_much = 1.1 * protocol(evidence).board_power_tolerance * _highest_of_first(evidence)
    evidence.samples.loc[rows, "power_mw"] = np.round(too_much + 1e3 * np.arange(12))


@RULE.mutation("C102")
def twice_the_board(evidence: Evidence) -> None:
    mean_mw = evidence.samples.loc[under_load(evidence), "power_mw"].mean()
    factor = 1.2 * protocol(evidence).board_power_tolerance * _highest_of_first(evidence) / mean_mw
    columns = [*POWER_COLUMNS, "energy_mj"]
    evidence.samples.loc[of_first(evidence), columns] = (evidence.samples.loc[of_first(evidence), columns] * factor).round()
