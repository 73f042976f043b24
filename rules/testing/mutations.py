"""What mutations need: where the load is in a good bundle, and alterations that several of them
make."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rules.bundle_format.table import Mask
from rules.protocol import PROTOCOLS, Protocol
from rules.testing.frames import EvidenceFrames

if TYPE_CHECKING:  # to judge takes no data frames, and loading them takes as long as all the rest
    import pandas as pd

READINGS = ("power_mw", "power_avg_mw", "energy_mj")
STIRRED = 0.25
"""Which share of the pairs of neighbours change places."""


def protocol(evidence: EvidenceFrames) -> Protocol:
    return PROTOCOLS[evidence.result["protocol"]]


def first_accelerator(evidence: EvidenceFrames) -> str:
    """The first accelerator of the first declared rank."""
    return str(evidence.result["ranks"][0]["accelerators"][0])


def last_epoch(evidence: EvidenceFrames) -> int:
    return int(evidence.batches["epoch"].max())


def under_load(evidence: EvidenceFrames, *epochs: int) -> Mask:
    """Which samples of the first accelerator lie in the given epochs of its rank (all scored ones
    where none is given)."""
    chosen = epochs or range(protocol(evidence).discarded_epochs, last_epoch(evidence) + 1)
    read_ns = evidence.samples["read_ns"].to_numpy()
    found = np.zeros(len(read_ns), dtype=bool)
    windows = evidence.batches[evidence.batches["rank"] == evidence.result["ranks"][0]["rank"]]
    for epoch in chosen:
        own = windows[windows["epoch"] == epoch]
        found |= (read_ns >= int(own["start_ns"].min())) & (read_ns <= int(own["end_ns"].max()))
    return found & of_first(evidence)


def of_first(evidence: EvidenceFrames) -> Mask:
    """Which samples are those of the first accelerator."""
    found: Mask = (evidence.samples["accelerator"] == first_accelerator(evidence)).to_numpy(bool)
    return found


def every(count: int, mask: Mask) -> Mask:
    """Of the rows where `mask` holds every `count`-th, beginning with the `count`-th."""
    kept = np.zeros(len(mask), dtype=bool)
    kept[np.flatnonzero(mask)[count - 1 :: count]] = True
    return kept


def drop_ticks(evidence: EvidenceFrames, scheduled_ns: NDArray[np.int64]) -> None:
    """Leave out the samples of these ticks, and count as a sampler would: missed are the ticks
    between those that are left."""
    gone = np.isin(evidence.samples["scheduled_ns"].to_numpy(), scheduled_ns)
    evidence.samples = evidence.samples[~gone].reset_index(drop=True)
    left_ns = np.unique(evidence.samples["scheduled_ns"].to_numpy())
    due = (
        round(int(left_ns[-1] - left_ns[0]) / (protocol(evidence).sample_interval_ms * 1_000_000))
        + 1
    )
    evidence.result["sampling"].update(ticks=len(left_ns), missed=due - len(left_ns))


def shorten_batches(evidence: EvidenceFrames, share: float, *epochs: int) -> None:
    """Let the batches of the given epochs (all where none is given) end early, after `share` of
    their time."""
    batches = evidence.batches
    chosen = (
        batches["epoch"].isin(epochs).to_numpy() if epochs else np.ones(len(batches), dtype=bool)
    )
    length = batches["end_ns"].to_numpy() - batches["start_ns"].to_numpy()
    shorter = np.where(chosen, (length * share).astype(np.int64), length)
    batches["end_ns"] = batches["start_ns"].to_numpy() + shorter


def slow_down(evidence: EvidenceFrames, share: float) -> None:
    """Leave out the last batches of each epoch, and stretch the others, `share` of them, over its
    whole time."""
    batches = evidence.batches
    count = int(evidence.result["settings"]["batches_per_epoch"] * share)
    kept = batches[batches["batch"] < count].reset_index(drop=True)
    of = kept.groupby(["epoch", "rank"])
    begin_ns, last_ns = (
        of["start_ns"].transform("min").to_numpy(),
        of["end_ns"].transform("max").to_numpy(),
    )
    end_ns = batches.groupby(["epoch", "rank"])["end_ns"].max()
    until_ns = end_ns.loc[list(zip(kept["epoch"], kept["rank"], strict=True))].to_numpy()
    for column in ("start_ns", "end_ns"):
        kept[column] = begin_ns + (
            (kept[column] - begin_ns) * ((until_ns - begin_ns) / (last_ns - begin_ns))
        ).astype("int64")
    evidence.batches = kept
    evidence.result["settings"]["batches_per_epoch"] = count


def scale_readings(evidence: EvidenceFrames, share: float, chosen: Mask | None = None) -> None:
    """Power, averaged power and counter times `share`, where `chosen` or everywhere, as a cheat
    would who knows all three."""
    at = np.ones(len(evidence.samples), dtype=bool) if chosen is None else chosen
    for column in READINGS:
        evidence.samples.loc[at, column] = (evidence.samples.loc[at, column] * share).round()


def shuffle_readings(evidence: EvidenceFrames, seed: int) -> None:
    """Put the power readings of the first accelerator under load in another order."""
    load = np.flatnonzero(under_load(evidence))
    order = np.random.default_rng(seed).permutation(len(load))
    evidence.samples.loc[load, "power_mw"] = evidence.samples.loc[load, "power_mw"].to_numpy()[
        order
    ]


def stir(samples: "pd.DataFrame", seed: int) -> None:
    """Make of a table of samples that of another run like it: some neighbouring power readings
    under load change places, and each reading was made some nanoseconds later. Values, mean and
    steps of the sensor stay."""
    random = np.random.default_rng(seed)
    samples["read_ns"] += random.integers(0, 1000, len(samples))
    for _, own in samples.groupby("accelerator", sort=False):
        power = own["power_mw"].to_numpy(np.float64, copy=True)
        first = np.flatnonzero(random.random(len(power) // 2) < STIRRED) * 2
        high = power > np.nanmax(power, initial=0) / 2
        first = first[high[first] & high[first + 1]]
        power[first], power[first + 1] = power[first + 1], power[first].copy()
        samples.loc[own.index, "power_mw"] = power


def declare_cap(evidence: EvidenceFrames, cap_w: float) -> None:
    """Declare this cap, and let the board say that it is in force; nothing else changes."""
    evidence.result["power"]["cap_w"] = cap_w
    evidence.samples["cap_mw"] = float(round(1e3 * cap_w))
    for readback in evidence.result["readbacks"]:
        readback["enforced_mw"] = readback["requested_mw"] = round(1e3 * cap_w)


def add_twin(evidence: EvidenceFrames, node: str | None = None) -> int:
    """Let a copy of the first rank run beside it, on a board of its own, of this node or of one of
    its own; the copy's number.

    Its readings are stirred and shifted by 11 mW, and its batches some microseconds shorter, so
    that nothing is there twice.
    """
    result, first, uuid = evidence.result, evidence.result["ranks"][0], first_accelerator(evidence)
    twin, rank = f"{uuid}-twin", len(result["ranks"])
    home = next(n for n in evidence.system["nodes"] if n["name"] == first["node"])
    board = {**next(a for a in home["accelerators"] if a["uuid"] == uuid), "uuid": twin}
    if node is None:
        home["accelerators"].append(board)
    else:
        evidence.system["nodes"].append({**home, "name": node, "accelerators": [board]})
    result["ranks"].append({"rank": rank, "node": node or first["node"], "accelerators": [twin]})
    result["settings"].update(
        accelerators=result["settings"]["accelerators"] + 1, nodes=len(evidence.system["nodes"])
    )
    result["readbacks"] += [
        {**r, "accelerator": twin} for r in result["readbacks"] if r["accelerator"] == uuid
    ]
    samples = evidence.samples[of_first(evidence)].assign(
        accelerator=twin, node=node or first["node"]
    )
    for column in ("power_mw", "power_avg_mw"):
        samples[column] += 11
    stir(samples, rank)
    if node is not None:
        result.get("clocks", []).extend(
            [{**p, "node": node} for p in result.get("clocks", []) if p["node"] == first["node"]]
        )
        for name in ("ticks", "missed"):
            result["sampling"][name] *= 2
    batches = evidence.batches[evidence.batches["rank"] == first["rank"]].assign(rank=rank)
    batches["end_ns"] -= batches["batch"] * 7919 % 97 * 100
    evidence.samples = joined(evidence.samples, samples)
    evidence.batches = joined(evidence.batches, batches)
    return rank


def joined(*tables: "pd.DataFrame") -> "pd.DataFrame":
    """One table with the rows of several, one after the other."""
    import pandas as pd

    return pd.concat(tables, ignore_index=True)
