"""Helpers for mutations of studies: which rows belong to which windows, and alterations that
several mutations share."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rules.bundle_format.table import Mask
from rules.testing.frames import StudyFrames

LARGEST = "vit_base_patch16_224"
"""The model of the good study with the highest rate of computation."""
ANCHOR_MODEL = "resnet50"
MODEL = "swin_tiny_patch4_window7_224"
OTHER_MODEL = "convnext_base"


def find_points(
    study: StudyFrames, architecture: str | None = None, kind: str | None = None
) -> NDArray[np.intp]:
    """The numbers of the points that ran, of a model and of a kind."""
    selected = (study.points["outcome"] == "ok").to_numpy()
    if architecture is not None:
        selected = selected & (study.points["architecture"] == architecture).to_numpy()
    if kind is not None:
        selected = selected & (study.points["kind"] == kind).to_numpy()
    return np.flatnonzero(selected)


def select_samples(study: StudyFrames, numbers: Iterable[int]) -> Mask:
    """Mask of the samples in the windows of these points, shape (n,)."""
    read_ns = study.samples["read_ns"].to_numpy()
    nodes = study.samples["node"].to_numpy()
    mask = np.zeros(len(read_ns), dtype=bool)
    for number in numbers:
        point = study.points.iloc[number]
        mask |= (
            (nodes == f"session{point['session']}")
            & (read_ns >= point["start_ns"])
            & (read_ns <= point["end_ns"])
        )
    return mask


def scale_readings(study: StudyFrames, mask: Mask, share: float) -> None:
    """Multiply power, averaged power and the steps of the counter by `share` in the rows of `mask`,
    as a forger would who knows all three."""
    samples = study.samples
    for column in ("power_mw", "power_avg_mw"):
        samples.loc[mask, column] = (samples.loc[mask, column] * share).round()
    for _, rows in samples.groupby("node", sort=False):
        energy_mj = rows["energy_mj"].to_numpy()
        steps_mj = np.diff(energy_mj, prepend=energy_mj[0])
        steps_mj[mask[rows.index]] *= share
        samples.loc[rows.index, "energy_mj"] = np.round(energy_mj[0] + np.cumsum(steps_mj))


def copy_readings(study: StudyFrames, source: StudyFrames, architecture: str) -> None:
    """Replace the power readings in the long windows of a model by those of another study."""
    rows, source_rows = (
        select_samples(each, find_points(each, architecture, "long")).nonzero()[0]
        for each in (study, source)
    )
    count = min(len(rows), len(source_rows))
    for column in ("power_mw", "power_avg_mw"):
        readings = source.samples.loc[source_rows[:count], column].to_numpy()
        study.samples.loc[rows[:count], column] = readings


def drop_points(study: StudyFrames, numbers: Iterable[int]) -> None:
    """Remove points and their parts, and number the parts of the others anew."""
    kept = np.setdiff1d(np.arange(len(study.points)), np.fromiter(numbers, dtype=np.int64))
    places = np.full(len(study.points), -1)
    places[kept] = np.arange(len(kept))
    study.points = study.points.iloc[kept].reset_index(drop=True)
    parts = study.batches.assign(point=places[study.batches["point"]])
    study.batches = parts[parts["point"] >= 0].reset_index(drop=True)


def count_batches(study: StudyFrames, number: int, share: float) -> None:
    """Multiply the batches of a point and its parts by `share`. The times stay."""
    parts = study.batches["point"] == number
    study.batches.loc[parts, "batches"] = (
        (study.batches.loc[parts, "batches"] * share).round().clip(lower=1).astype("int64")
    )
    batches = int(study.batches.loc[parts, "batches"].sum())
    study.points.loc[number, "items"] = batches * study.points["batch"].iloc[number]


def exchange_models(study: StudyFrames, first: str, second: str) -> None:
    """Exchange two models with all that follows from their names, in points and work."""
    points, columns = study.points, ["architecture", "size", "flops", "params", "activations"]
    rows = [points["architecture"] == name for name in (first, second)]
    values = [points.loc[selected, columns].iloc[0].to_list() for selected in rows]
    for selected, other in zip(rows, reversed(values), strict=True):
        points.loc[selected, columns] = other
    entries = [e for e in study.study["work"] if e["architecture"] in (first, second)]
    names = [(entry["architecture"], entry["size"]) for entry in entries]
    for entry, name in zip(entries, reversed(names), strict=True):
        entry["architecture"], entry["size"] = name


def keep_sessions(study: StudyFrames, count: int) -> None:
    """Remove all but the first `count` sessions, as if the study had ended there."""
    drop_points(study, np.flatnonzero(study.points["session"] >= count))
    nodes = [f"session{number}" for number in range(count)]
    study.samples = study.samples[study.samples["node"].isin(nodes)].reset_index(drop=True)
    study.study["sessions"] = study.study["sessions"][:count]
    study.study["ended_at"] = study.study["sessions"][-1]["ended_at"]
    study.system["nodes"] = study.system["nodes"][:count]
    for entry in study.study["work"]:
        if entry["session"] >= count:
            entry.update(status="not-reached", session=None, accelerator=None)
