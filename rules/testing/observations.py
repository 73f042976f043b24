"""A good observed job made from nothing: an hour of training on one node of eight H200s with two
supplies, whose meter is read once a second into a table."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from rules import VERSION
from rules.bundle_format.observation_records import OBSERVATION_FORMAT, POWER_COLUMNS
from rules.json_record import to_json
from rules.observations.bundle import ObservationBundle
from rules.testing.frames import ObservationFrames

START_NS = 1_767_225_600 * 10**9
"""2026-01-01T00:00:00Z."""
WINDOW_S = 3600
MARGIN_S = 60
DAY_S = 86_400
FEEDS = ("psu1", "psu2")
LOG_MAP = {
    "interval": "mean-before",
    "time": {"column": "time", "format": "unix", "unit": "ns"},
    "power": {"column": "power", "unit": "mW"},
    "key": {"column": "outlet"},
}


def make_observation_frames(seed: int = 1) -> ObservationFrames:
    """Return the evidence of a good observed job."""
    random = np.random.default_rng(seed)
    seconds = np.arange(-MARGIN_S, WINDOW_S + MARGIN_S + 1)
    is_busy = (seconds >= 0) & (seconds <= WINDOW_S)
    tables = [
        pd.DataFrame(
            {
                "time_ns": START_NS + seconds * 10**9,
                "feed": feed,
                "power_mw": np.round(
                    np.where(is_busy, 3_400_000.0, 1_000_000.0)
                    + random.normal(0, 40_000, len(seconds))
                ),
            }
        )
        for feed in FEEDS
    ]
    power = pd.concat(tables).sort_values(["time_ns", "feed"], ignore_index=True)
    frames = ObservationFrames(_make_document(), power[list(POWER_COLUMNS)], "")
    rederive_observation(frames)
    return frames


def shift_observation(frames: ObservationFrames, seconds: int) -> None:
    """Move a job and its readings in time."""
    frames.power["time_ns"] += seconds * 10**9
    for name in ("started_at", "ended_at"):
        moment = datetime.fromisoformat(frames.observation[name]) + timedelta(seconds=seconds)
        frames.observation[name] = f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def make_later_observation(seed: int = 2) -> ObservationFrames:
    """Return the evidence of another good job on the same node, a day later."""
    frames = make_observation_frames(seed)
    shift_observation(frames, DAY_S)
    frames.observation["observation_id"] = "20260102T000000Z-training-good"
    return frames


def rederive_observation(frames: ObservationFrames) -> None:
    """Write the log and state the figures that fit the readings, as a careful cheat would do. The
    old figures stay if there are none."""
    write_node_log(frames)
    bundle = ObservationBundle(Path(), (), frames.evidence())
    if not isinstance(figures := bundle.figures_or_reason, str):
        frames.observation["figures"] = to_json(figures)


def write_node_log(frames: ObservationFrames) -> None:
    """Write the log whose readings those of the table are."""
    power = frames.power[frames.power["power_mw"].notna()]
    columns = {"time_ns": "time", "feed": "outlet", "power_mw": "power"}
    frames.node_log = power.rename(columns=columns).to_csv(index=False)
    frames.observation["meter"]["reading"]["logs"][0]["lines"] = frames.node_log.count("\n")


def _make_document() -> dict[str, object]:
    return {
        "format": OBSERVATION_FORMAT,
        "rules_version": VERSION,
        "standing": "observed",
        "observation_id": "20260101T000000Z-training-good",
        "started_at": "2026-01-01T00:00:00Z",
        "ended_at": "2026-01-01T01:00:00Z",
        "job": {
            "what": "training of a language model",
            "items": {"count": 1_000_000, "name": "sample", "source": "the log of the training"},
        },
        "node": {
            "system": "example",
            "count": 1,
            "accelerator": "NVIDIA H200",
            "accelerators": 8,
            "rated_w": 10_200,
        },
        "meter": {
            "model": "example meter",
            "scope": "node",
            "format": "csv",
            "time_zone": "UTC",
            "interval": "mean-before",
            "feeds": list(FEEDS),
            "left_out": 0,
            "reading": {
                "logs": [{"name": "power.csv", "lines": 0, "format": "csv"}],
                "map": LOG_MAP,
            },
        },
        "figures": {},
    }
