"""False claims: more work, less time, less energy or another configuration than was measured.

Each function alters the evidence of an honest run. Everything that follows from the altered values
is derived again afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from forgeries.readings import STEP_W, Floats

from rules.boards import BOARDS
from rules.bundle_format.table import Mask
from rules.testing.cases.throughput.beyond_the_usual import scale_items
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import (
    READINGS,
    add_twin,
    declare_cap,
    select_every,
    shorten_batches,
)

if TYPE_CHECKING:
    # Earlier checkouts, whose code runs with this module too, have it at another place.
    pass

Runs = Callable[[str], EvidenceFrames]
"""Returns the evidence of the committed run whose name ends so."""
Claim = Callable[[EvidenceFrames, Runs], None]

BOOST_MHZ = next(board.boost_mhz for board in BOARDS if board.id == "H200")
MIN_LOAD_MW = 250_000
"""Averaged power from which a sample counts as under load."""


def select_under_load(evidence: EvidenceFrames) -> Mask:
    """Mask of the samples under load, shape (n,)."""
    mask: Mask = (evidence.samples["power_avg_mw"] > MIN_LOAD_MW).to_numpy()
    return mask


def round_to_sensor(values_mw: Floats, sensor_mw: Floats) -> Floats:
    """Each value, shape (n,), as the nearest value that the sensor gave in this run, or on the grid
    of its steps where the sensor gave none near it."""
    known_mw = np.unique(sensor_mw[np.isfinite(sensor_mw)])
    places = np.clip(np.searchsorted(known_mw, values_mw), 1, len(known_mw) - 1)
    low_mw, high_mw = known_mw[places - 1], known_mw[places]
    nearest_mw = np.where(values_mw - low_mw < high_mw - values_mw, low_mw, high_mw)
    step_mw = 1e3 * STEP_W
    on_grid_mw = np.round(low_mw + np.round((values_mw - low_mw) / step_mw) * step_mw)
    return np.where(np.abs(nearest_mw - values_mw) <= 2 * step_mw, nearest_mw, on_grid_mw)


def scale_readings(share: float, on_steps: bool = True) -> Claim:
    """All readings times `share`; `on_steps` keeps the values that the sensor gives."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        sensor_mw = evidence.samples["power_mw"].to_numpy(np.float64)
        for column in READINGS:
            evidence.samples[column] = (evidence.samples[column] * share).round()
        if on_steps:
            evidence.samples["power_mw"] = round_to_sensor(sensor_mw * share, sensor_mw)

    return forge


def subtract_power(offset_w: float) -> Claim:
    """The same offset from all readings under load, on the values of the sensor."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        samples, load = evidence.samples, select_under_load(evidence)
        sensor_mw = samples["power_mw"].to_numpy(np.float64)
        lower_mw = round_to_sensor(sensor_mw - 1e3 * offset_w, sensor_mw)
        samples["power_mw"] = np.where(load, lower_mw, sensor_mw)
        samples["power_avg_mw"] -= np.where(load, 1e3 * offset_w, 0.0)
        for _, rows in samples.groupby("accelerator", sort=False):
            elapsed_s = np.diff(rows["read_ns"].to_numpy(), prepend=rows["read_ns"].iloc[0]) / 1e9
            saved_mj = elapsed_s * load[rows.index] * 1e3 * offset_w
            counted_mj = np.diff(rows["energy_mj"], prepend=rows["energy_mj"].iloc[0])
            # The counter must not fall while the power rises or falls.
            counted_mj -= np.minimum(saved_mj, counted_mj / 2)
            samples.loc[rows.index, "energy_mj"] = (
                rows["energy_mj"].iloc[0] + np.cumsum(counted_mj)
            ).round()

    return forge


def set_slowdown(value: float, every: int = 1) -> Claim:
    """The slowdown reasons of every n-th sample under load."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        rows = select_every(every, select_under_load(evidence))
        evidence.samples.loc[rows, "slowdown"] = value

    return forge


def scale_counter(share: float) -> Claim:
    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        evidence.samples["energy_mj"] = (evidence.samples["energy_mj"] * share).round()

    return forge


def leave_out_high_readings(evidence: EvidenceFrames, runs: Runs) -> None:
    """No counter, and no reading above 740 W."""
    evidence.samples["energy_mj"] = np.nan
    evidence.samples.loc[evidence.samples["power_mw"] > 740_000, "power_mw"] = np.nan


def claim_cap(cap_w: float, clock_share: float = 1.0) -> Claim:
    """A run at 700 W as one at another cap: cap, readings and, if asked for, clocks."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        scale_readings(cap_w / 700.0)(evidence, runs)
        declare_cap(evidence, cap_w)
        evidence.samples["sm_mhz"] = 15 * (evidence.samples["sm_mhz"] * clock_share / 15).round()

    return forge


def multiply_items(factor: float, declared: bool = True) -> Claim:
    """More items in every batch; `declared` states the batch size that gives them."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        batch_size = evidence.result["settings"]["batch_size"]
        scale_items(evidence, factor)
        if not declared:
            evidence.result["settings"]["batch_size"] = batch_size

    return forge


def shave_windows(share: float) -> Claim:
    return lambda evidence, runs: shorten_batches(evidence, share)


def drop_slow_batches(evidence: EvidenceFrames, runs: Runs) -> None:
    """The slowest twentieth of the batches of each epoch; the others are counted anew."""
    batches = evidence.batches
    batches["length"] = batches["end_ns"] - batches["start_ns"]
    groups = batches.groupby(["epoch", "rank"])
    count = int(groups.size().min() * 0.95)
    fast = batches[groups["length"].rank(method="first") <= count]
    fast = fast.drop(columns="length").reset_index(drop=True)
    fast["batch"] = fast.groupby(["epoch", "rank"]).cumcount()
    evidence.batches = fast
    evidence.result["settings"]["batches_per_epoch"] = count


def shorten_epochs(share: float) -> Claim:
    """The batches of each epoch, compressed towards its start. The readings stay."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        batches = evidence.batches
        begin_ns = batches.groupby(["epoch", "rank"])["start_ns"].transform("min")
        for column in ("start_ns", "end_ns"):
            batches[column] = begin_ns + ((batches[column] - begin_ns) * share).astype("int64")

    return forge


def dilate_time(factor: float, clock_share: float = 1.0) -> Claim:
    """The whole run in less time: batches are compressed, and one of many ticks is left out, so
    that the others keep their interval. The counter runs slower, so that the power stays."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        samples, batches = evidence.samples, evidence.batches
        ticks_ns = np.sort(samples["scheduled_ns"].unique())
        zero_ns, interval_ns = int(ticks_ns[0]), 100_000_000
        kept = np.unique(np.round(np.arange(int(len(ticks_ns) / factor)) * factor).astype(int))
        kept_ns = ticks_ns[kept[kept < len(ticks_ns)]]
        saved_ns = int(ticks_ns[-1]) - zero_ns - (len(kept_ns) - 1) * interval_ns
        samples = samples[samples["scheduled_ns"].isin(kept_ns)].reset_index(drop=True)
        delay_ns = samples["read_ns"] - samples["scheduled_ns"]
        places = np.searchsorted(kept_ns, samples["scheduled_ns"].to_numpy())
        samples["scheduled_ns"] = zero_ns + places * interval_ns
        samples["read_ns"] = samples["scheduled_ns"] + delay_ns
        first_mj = samples.groupby("accelerator")["energy_mj"].transform("first")
        samples["energy_mj"] = (first_mj + (samples["energy_mj"] - first_mj) / factor).round()
        raised_mhz = 15 * (samples["sm_mhz"] * clock_share / 15).round()
        samples["sm_mhz"] = np.minimum(raised_mhz, BOOST_MHZ)
        for column in ("start_ns", "end_ns"):
            batches[column] = zero_ns + ((batches[column] - zero_ns) / factor).astype("int64")
        evidence.samples = samples
        evidence.result["sampling"].update(ticks=len(kept_ns), missed=0)
        for pair in evidence.result.get("clocks", []):
            if pair["when"] == "after":
                pair["monotonic_ns"] -= saved_ns
                pair["wall_ns"] -= saved_ns

    return forge


def claim_configuration_of(name: str) -> Claim:
    """The variant, precision, settings and standing of another run."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        other = runs(name).result
        evidence.result.update(implementation=other["implementation"], standing=other["standing"])

    return forge


def claim_open_standing(evidence: EvidenceFrames, runs: Runs) -> None:
    evidence.result["standing"] = "open"


def claim_board(name: str) -> Claim:
    """The run as one on boards of another name."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        for node in evidence.system["nodes"]:
            for accelerator in node["accelerators"]:
                accelerator["name"] = name

    return forge


def claim_one_of_several_boards(evidence: EvidenceFrames, runs: Runs) -> None:
    """The items of all ranks on the first board, and nothing of the others."""
    result, batches = evidence.result, evidence.batches
    rank, uuid = result["ranks"][0], result["ranks"][0]["accelerators"][0]
    count = len(result["ranks"])
    result["ranks"] = [rank]
    result["settings"]["accelerators"] = 1
    result["readbacks"] = [r for r in result["readbacks"] if r["accelerator"] == uuid]
    for node in evidence.system["nodes"]:
        node["accelerators"] = [a for a in node["accelerators"] if a["uuid"] == uuid]
    evidence.samples = evidence.samples[evidence.samples["accelerator"] == uuid].reset_index(
        drop=True
    )
    evidence.batches = batches[batches["rank"] == rank["rank"]].reset_index(drop=True)
    scale_items(evidence, count)


def repeat_best_epoch(evidence: EvidenceFrames, runs: Runs) -> None:
    """The fastest epoch over seven others, batches and readings, with some jitter."""
    random, batches, samples = np.random.default_rng(5), evidence.batches, evidence.samples
    length_ns = batches["end_ns"] - batches["start_ns"]
    by_epoch = length_ns.groupby(batches["epoch"]).sum()
    best = int(by_epoch[by_epoch.index > 0].idxmin())
    begin_ns = batches.groupby("epoch")["start_ns"].min()
    source = batches[batches["epoch"] == best]
    source_rows = samples.index[samples["read_ns"].between(*_span(source))]
    for epoch in [e for e in range(1, 11) if e != best][:7]:
        rows = batches.index[batches["epoch"] == epoch]
        target_rows = samples.index[samples["read_ns"].between(*_span(batches.loc[rows]))]
        for column in ("start_ns", "end_ns"):
            offset_ns = source[column].to_numpy() - begin_ns[best]
            batches.loc[rows, column] = begin_ns[epoch] + offset_ns
        batches.loc[rows, "end_ns"] -= random.integers(1, 20_000, len(rows))
        count = min(len(source_rows), len(target_rows))
        steps_mw = np.round(1e3 * STEP_W * random.integers(-1, 2, count))
        values_mw = samples.loc[source_rows[:count], "power_mw"].to_numpy() + steps_mw
        samples.loc[target_rows[:count], "power_mw"] = values_mw


def _span(batches: pd.DataFrame) -> tuple[int, int]:
    return int(batches["start_ns"].min()), int(batches["end_ns"].max())


def divide_first_token_time(evidence: EvidenceFrames, runs: Runs) -> None:
    assert evidence.requests is not None
    requests = evidence.requests
    requests["first_ns"] = requests["sent_ns"] + (requests["first_ns"] - requests["sent_ns"]) // 5


def take_losses_of(name: str) -> Claim:
    """The losses of another run, as long as this one has epochs."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        for epoch, other in zip(
            evidence.result["epochs"], runs(name).result["epochs"], strict=True
        ):
            epoch.update({key: other[key] for key in ("loss", "losses") if key in other})

    return forge


def invent_losses(evidence: EvidenceFrames, runs: Runs) -> None:
    """A plausible decline with noise."""
    random = np.random.default_rng(7)
    for epoch in evidence.result["epochs"]:
        count = len(epoch.get("losses") or [1])
        level = 6.7 * 0.93 ** epoch["epoch"]
        losses = (level * (1 + 0.002 * random.normal(size=count))).tolist()
        epoch["loss"] = losses[-1]
        if epoch.get("losses"):
            epoch["losses"] = losses


def fix_temperature(evidence: EvidenceFrames, runs: Runs) -> None:
    evidence.samples["temp_c"] = 55.0


def raise_clock(factor: float, highest_mhz: float = np.inf) -> Claim:
    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        raised_mhz = 15 * (evidence.samples["sm_mhz"] * factor / 15).round()
        evidence.samples["sm_mhz"] = np.minimum(raised_mhz, highest_mhz)

    return forge


def hold_clock(clock_mhz: float) -> Claim:
    """One SM clock under load, and the power cap as its reason."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        rows = select_under_load(evidence)
        evidence.samples.loc[rows, "sm_mhz"] = clock_mhz
        evidence.samples.loc[rows, "slowdown"] = 4.0

    return forge


def claim_own_implementation(evidence: EvidenceFrames, runs: Runs) -> None:
    """The run as an open one of code of the submitter."""
    evidence.result["standing"] = "open"
    evidence.result["implementation"]["sha256"] = "5e" * 32


def state_old_rule_book(day: str | None = None) -> Claim:
    """The first rule book and protocol, without what they did not ask for; on another day, if
    given."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        result = evidence.result
        result.update(rules_version="1.0.0", protocol="1.0")
        for key in ("clocks", "idle", "phases"):
            result.pop(key, None)
        for rank in result["ranks"]:
            rank.pop("inputs_sha256", None)
        for epoch in result["epochs"]:
            epoch.pop("losses", None)
        evidence.events = None
        if day is not None:
            for name in ("started_at", "ended_at"):
                result[name] = day + result[name][len(day) :]

    return forge


def add_idle_rank(evidence: EvidenceFrames, runs: Runs) -> None:
    """A second rank with the batches of the first, on a board that idles with its model; its
    utilisation is that of the first."""
    rank = add_twin(evidence)
    (twin,) = evidence.result["ranks"][rank]["accelerators"]
    uuid = "GPU-fedcba98" + twin.removesuffix("-twin")[12:]
    for document in (evidence.result, evidence.system):
        document.update(json.loads(json.dumps(document).replace(twin, uuid)))
    evidence.samples["accelerator"] = evidence.samples["accelerator"].replace(twin, uuid)
    random, samples = np.random.default_rng(31), evidence.samples
    rows = (samples["accelerator"] == uuid).to_numpy() & select_under_load(evidence)
    idle_w = 124.0 + random.normal(0, 0.4, int(rows.sum()))
    samples.loc[rows, "power_mw"] = np.round(1e3 * np.round(idle_w / STEP_W) * STEP_W)
    samples.loc[rows, "power_avg_mw"] = np.round(1e3 * idle_w)
    of_board = samples[samples["accelerator"] == uuid]
    elapsed_s = np.diff(of_board["read_ns"].to_numpy(), prepend=of_board["read_ns"].iloc[0]) / 1e9
    steps_mj = elapsed_s * of_board["power_avg_mw"].to_numpy()
    first_mj = of_board["energy_mj"].iloc[0]
    samples.loc[of_board.index, "energy_mj"] = np.round(first_mj + np.cumsum(steps_mj))


def chain(*claims: Claim) -> Claim:
    """Several claims, one after the other."""

    def forge(evidence: EvidenceFrames, runs: Runs) -> None:
        for claim in claims:
            claim(evidence, runs)

    return forge
