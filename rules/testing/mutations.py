"""Helpers for mutations: which rows of a good bundle are under load, and alterations that several
mutations share."""

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rules.bundle_format.table import Mask
from rules.protocol import PROTOCOLS, Protocol
from rules.testing.frames import EvidenceFrames

if TYPE_CHECKING:  # to judge takes no data frames, and loading them takes as long as all the rest
    import pandas as pd

READINGS = ("power_mw", "power_avg_mw", "energy_mj")
POWER = ("power_mw",)
SENSOR_STEP_MW = 322
"""The step of an H200's power sensor."""
EIGHTHS = 8
"""Parts of a batch whose readings `exchange_readings` keeps apart."""
NEARBY = 64
"""Readings in a row among which it exchanges them."""


def get_protocol(evidence: EvidenceFrames) -> Protocol:
    return PROTOCOLS[evidence.result["protocol"]]


def get_first_accelerator(evidence: EvidenceFrames) -> str:
    """The first accelerator of the first declared rank."""
    return str(evidence.result["ranks"][0]["accelerators"][0])


def get_last_epoch(evidence: EvidenceFrames) -> int:
    return int(evidence.batches["epoch"].max())


def select_load(evidence: EvidenceFrames, *epochs: int) -> Mask:
    """Mask of the samples of the first accelerator that lie in the epochs of its rank, shape (n,).
    Without epochs: in all scored epochs."""
    last_epoch = get_last_epoch(evidence)
    selected = epochs or range(get_protocol(evidence).discarded_epochs, last_epoch + 1)
    read_ns = evidence.samples["read_ns"].to_numpy()
    mask = np.zeros(len(read_ns), dtype=bool)
    windows = evidence.batches[evidence.batches["rank"] == evidence.result["ranks"][0]["rank"]]
    for epoch in selected:
        batches = windows[windows["epoch"] == epoch]
        begin_ns, end_ns = int(batches["start_ns"].min()), int(batches["end_ns"].max())
        mask |= (read_ns >= begin_ns) & (read_ns <= end_ns)
    return mask & select_first(evidence)


def select_first(evidence: EvidenceFrames) -> Mask:
    """Mask of the samples of the first accelerator, shape (n,)."""
    mask: Mask = (evidence.samples["accelerator"] == get_first_accelerator(evidence)).to_numpy(bool)
    return mask


def select_every(count: int, mask: Mask) -> Mask:
    """Mask of every `count`-th row of those in `mask`, from the `count`-th on, shape (n,)."""
    selected = np.zeros(len(mask), dtype=bool)
    selected[np.flatnonzero(mask)[count - 1 :: count]] = True
    return selected


def drop_ticks(evidence: EvidenceFrames, scheduled_ns: NDArray[np.int64]) -> None:
    """Remove the samples of these ticks, and update the counts as a sampler would: the ticks
    between the remaining ones are missed."""
    dropped = np.isin(evidence.samples["scheduled_ns"].to_numpy(), scheduled_ns)
    evidence.samples = evidence.samples[~dropped].reset_index(drop=True)
    remaining_ns = np.unique(evidence.samples["scheduled_ns"].to_numpy())
    interval_ns = get_protocol(evidence).sample_interval_ms * 1_000_000
    due = round(int(remaining_ns[-1] - remaining_ns[0]) / interval_ns) + 1
    evidence.result["sampling"].update(ticks=len(remaining_ns), missed=due - len(remaining_ns))


def shorten_batches(evidence: EvidenceFrames, share: float, *epochs: int) -> None:
    """Let the batches of the epochs end after `share` of their time. Without epochs: all."""
    batches = evidence.batches
    selected = (
        batches["epoch"].isin(epochs).to_numpy() if epochs else np.ones(len(batches), dtype=bool)
    )
    length = batches["end_ns"].to_numpy() - batches["start_ns"].to_numpy()
    shorter = np.where(selected, (length * share).astype(np.int64), length)
    batches["end_ns"] = batches["start_ns"].to_numpy() + shorter


def slow_down(evidence: EvidenceFrames, share: float) -> None:
    """Remove the last batches of each epoch, and stretch the remaining `share` of them over the
    whole time of the epoch."""
    batches = evidence.batches
    count = int(evidence.result["settings"]["batches_per_epoch"] * share)
    remaining = batches[batches["batch"] < count].reset_index(drop=True)
    groups = remaining.groupby(["epoch", "rank"])
    begin_ns = groups["start_ns"].transform("min").to_numpy()
    last_ns = groups["end_ns"].transform("max").to_numpy()
    end_ns = batches.groupby(["epoch", "rank"])["end_ns"].max()
    until_ns = end_ns.loc[list(zip(remaining["epoch"], remaining["rank"], strict=True))].to_numpy()
    for column in ("start_ns", "end_ns"):
        remaining[column] = begin_ns + (
            (remaining[column] - begin_ns) * ((until_ns - begin_ns) / (last_ns - begin_ns))
        ).astype("int64")
    evidence.batches = remaining
    evidence.result["settings"]["batches_per_epoch"] = count


def scale_readings(evidence: EvidenceFrames, share: float, mask: Mask | None = None) -> None:
    """Multiply power, averaged power and counter by `share`, in the rows of `mask` or in all, as a
    forger would who knows all three."""
    rows = np.ones(len(evidence.samples), dtype=bool) if mask is None else mask
    for column in READINGS:
        evidence.samples.loc[rows, column] = (evidence.samples.loc[rows, column] * share).round()


def lock_sm_clock(evidence: EvidenceFrames, locked_mhz: int) -> None:
    """Declare an open run whose SM clocks are locked, and give the samples under load of all
    accelerators this clock without a slowdown reason."""
    evidence.result["standing"] = "open"
    evidence.result["power"]["sm_clock_mhz"] = locked_mhz
    idle = evidence.samples["slowdown"] == 1.0
    evidence.samples.loc[~idle, ["sm_mhz", "slowdown"]] = (float(locked_mhz), 0.0)


def shuffle_readings(evidence: EvidenceFrames, seed: int) -> None:
    """Shuffle the power readings of the first accelerator under load."""
    load = np.flatnonzero(select_load(evidence))
    order = np.random.default_rng(seed).permutation(len(load))
    evidence.samples.loc[load, "power_mw"] = evidence.samples.loc[load, "power_mw"].to_numpy()[
        order
    ]


def exchange_readings(
    evidence: EvidenceFrames,
    seed: int,
    accelerator: str | None = None,
    columns: tuple[str, ...] = POWER,
) -> None:
    """Turn samples into those of a similar run: readings under load change places with others
    nearby of the same eighth of a batch, and each is delayed by some nanoseconds. Values, mean,
    steps of the sensor and the course of a batch stay the same. All accelerators, or one."""
    random, samples = np.random.default_rng(seed), evidence.samples
    ranks = {uuid: r["rank"] for r in evidence.result["ranks"] for uuid in r["accelerators"]}
    # Arrays in place of data frames: a similar run is made in a quarter of the time.
    names = {"read_ns": np.int64} | {n: np.float64 for n in columns if n in samples}
    tables = {name: samples[name].to_numpy(kind, copy=True) for name, kind in names.items()}
    codes, uuids = samples["accelerator"].factorize()
    for code, uuid in enumerate(uuids):
        if accelerator not in (None, uuid):
            continue
        rows = np.flatnonzero(codes == code)
        read_ns = tables["read_ns"][rows] + random.integers(0, 1000, len(rows))
        power_mw = samples["power_mw"].to_numpy(np.float64)[rows]
        high = np.flatnonzero(power_mw > np.nanmax(power_mw, initial=0) / 2)
        eighth = np.zeros(len(high))
        if evidence.requests is None:
            batches = evidence.batches[evidence.batches["rank"] == ranks[uuid]]
            start_ns, end_ns = batches["start_ns"].to_numpy(), batches["end_ns"].to_numpy()
            batch = np.maximum(np.searchsorted(start_ns, read_ns[high], side="right") - 1, 0)
            eighth = (read_ns[high] - start_ns[batch]) * EIGHTHS // (end_ns - start_ns)[batch]
        block = np.arange(len(high)) // NEARBY
        places = high[np.lexsort((high, eighth, block))]
        sources = high[np.lexsort((random.random(len(high)), eighth, block))]
        tables["read_ns"][rows] = read_ns
        for name in tables.keys() - {"read_ns"}:
            tables[name][rows[places]] = tables[name][rows[sources]]
    for name, values in tables.items():
        samples[name] = values


def renew_noise(evidence: EvidenceFrames, seed: int, columns: tuple[str, ...] = POWER) -> None:
    """Turn evidence into that of a similar run, as far as its noise goes: other readings and delays
    (`exchange_readings` of the columns), other steps of the energy counter, and for training the
    batches of each epoch in another order. Means and the ends of epochs stay almost the same."""
    random = np.random.default_rng(seed)
    exchange_readings(evidence, seed, columns=columns)
    evidence.samples["energy_mj"] += np.cumsum(random.integers(0, 20, len(evidence.samples)))
    if evidence.requests is not None:
        return
    batches = evidence.batches
    epochs, ranks = batches["epoch"].to_numpy(), batches["rank"].to_numpy()
    start_ns, end_ns = (batches[name].to_numpy(copy=True) for name in ("start_ns", "end_ns"))
    for epoch in dict.fromkeys(epochs.tolist()):
        inside = epochs == epoch
        # The ranks wait for each other, so their batches keep one order.
        order = random.permutation(batches["batch"][inside].nunique())
        for rank in dict.fromkeys(ranks[inside].tolist()):
            rows = np.flatnonzero(inside & (ranks == rank))
            lengths_ns = (end_ns[rows] - start_ns[rows])[order]
            gaps_ns = start_ns[rows][1:] - end_ns[rows][:-1]
            offsets_ns = np.concatenate([[0], np.cumsum(lengths_ns[:-1] + gaps_ns)])
            start_ns[rows] = start_ns[rows[0]] + offsets_ns
            end_ns[rows] = start_ns[rows] + lengths_ns
    batches["start_ns"], batches["end_ns"] = start_ns, end_ns


def renew_measurements(evidence: EvidenceFrames, seed: int) -> None:
    """Turn evidence into that of a similar run: other noise (`renew_noise`), also in
    clocks, and epochs whose length and power differ by some hundredths of a percent. No rule on
    copies reports it."""
    renew_noise(evidence, seed, (*POWER, "sm_mhz", "mem_power_mw"))
    random, samples = np.random.default_rng(seed), evidence.samples
    read_ns, (codes, _) = samples["read_ns"].to_numpy(), samples["accelerator"].factorize()
    readings = {name: samples[name].to_numpy(np.float64, copy=True) for name in READINGS}
    epochs = evidence.batches["epoch"].to_numpy()
    windows = {n: evidence.batches[n].to_numpy(copy=True) for n in ("start_ns", "end_ns")}
    for epoch in np.unique(epochs):
        batches = epochs == epoch
        begin_ns = windows["start_ns"][batches].min()
        added_mw = SENSOR_STEP_MW * int(random.integers(-2, 3))
        inside = (read_ns >= begin_ns) & (read_ns <= windows["end_ns"][batches].max())
        for name in ("power_mw", "power_avg_mw"):
            readings[name][inside] += added_mw
        for code in np.unique(codes[inside]):
            rows = np.flatnonzero(inside & (codes == code))
            elapsed_s = (read_ns[rows] - read_ns[rows[0]]) / 1e9
            after = (codes == code) & (read_ns > read_ns[rows[-1]])
            readings["energy_mj"][rows] += (elapsed_s * added_mw).round()
            readings["energy_mj"][after] += round(float(elapsed_s[-1]) * added_mw)
        if evidence.requests is None:
            share = 1 - 1e-3 * random.random()
            for times_ns in windows.values():
                offsets_ns = ((times_ns[batches] - begin_ns) * share).astype("int64")
                times_ns[batches] = begin_ns + offsets_ns
    for name, values in readings.items():
        samples[name] = values
    for name, times_ns in windows.items():
        evidence.batches[name] = times_ns


def move_after(run: EvidenceFrames, other_run: EvidenceFrames) -> None:
    """Let the run begin and end a day after the other run."""
    for name in ("started_at", "ended_at"):
        date = datetime.fromisoformat(other_run.result[name]) + timedelta(days=1)
        run.result[name] = date.strftime("%Y-%m-%dT%H:%M:%SZ")


def declare_cap(evidence: EvidenceFrames, cap_w: float) -> None:
    """Declare a cap in W, in readbacks and samples too. Nothing else changes."""
    evidence.result["power"]["cap_w"] = cap_w
    evidence.samples["cap_mw"] = float(round(1e3 * cap_w))
    for readback in evidence.result["readbacks"]:
        readback["enforced_mw"] = readback["requested_mw"] = round(1e3 * cap_w)


def use_other_boards(evidence: EvidenceFrames) -> None:
    """Give the accelerators other UUIDs, as if the run had used other boards of the same kind."""
    renamed = {
        uuid: f"{uuid}-other" for rank in evidence.result["ranks"] for uuid in rank["accelerators"]
    }
    for document in (evidence.result, evidence.system):
        text = json.dumps(document)
        for uuid, other_uuid in renamed.items():
            text = text.replace(json.dumps(uuid), json.dumps(other_uuid))
        document.update(json.loads(text))
    evidence.samples["accelerator"] = evidence.samples["accelerator"].replace(renamed)


def add_twin(evidence: EvidenceFrames, node: str | None = None) -> int:
    """Add a copy of the first rank with a board of its own, on the same node or on a new one.
    Returns the number of the new rank.

    Its readings are exchanged and 11 mW higher, and its batches are some microseconds shorter, so
    that no rule on copies reports it.
    """
    result, first_rank, uuid = (
        evidence.result,
        evidence.result["ranks"][0],
        get_first_accelerator(evidence),
    )
    twin, rank = f"{uuid}-twin", len(result["ranks"])
    twin_node = next(n for n in evidence.system["nodes"] if n["name"] == first_rank["node"])
    board = {**next(a for a in twin_node["accelerators"] if a["uuid"] == uuid), "uuid": twin}
    if node is None:
        twin_node["accelerators"].append(board)
    else:
        evidence.system["nodes"].append({**twin_node, "name": node, "accelerators": [board]})
    result["ranks"].append(
        {**first_rank, "rank": rank, "node": node or first_rank["node"], "accelerators": [twin]}
    )
    result["settings"].update(
        accelerators=result["settings"]["accelerators"] + 1, nodes=len(evidence.system["nodes"])
    )
    result["readbacks"] += [
        {**r, "accelerator": twin} for r in result["readbacks"] if r["accelerator"] == uuid
    ]
    samples = evidence.samples[select_first(evidence)].assign(
        accelerator=twin, node=node or first_rank["node"]
    )
    for column in ("power_mw", "power_avg_mw"):
        samples[column] += 11
    if node is not None:
        result.get("clocks", []).extend(
            [
                {**p, "node": node}
                for p in result.get("clocks", [])
                if p["node"] == first_rank["node"]
            ]
        )
        for name in ("ticks", "missed"):
            result["sampling"][name] *= 2
    batches = evidence.batches[evidence.batches["rank"] == first_rank["rank"]].assign(rank=rank)
    batches["end_ns"] -= batches["batch"] * 7919 % 97 * 100
    evidence.samples = concatenate(evidence.samples, samples)
    evidence.batches = concatenate(evidence.batches, batches)
    exchange_readings(evidence, rank, twin)
    return rank


def concatenate(*tables: "pd.DataFrame") -> "pd.DataFrame":
    """One table with the rows of all tables, in their order."""
    import pandas as pd

    return pd.concat(tables, ignore_index=True)
