"""The JSON documents of a good study: study.json without figures, system and environment."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rules import VERSION
from rules.bundle_format.records import ENVIRONMENT_FORMAT, SYSTEM_FORMAT, Json
from rules.bundle_format.study_records import STUDY_FORMAT
from rules.protocol import STUDY_V1_1
from rules.studies.accuracy import read_shipped_table

ANCHOR_EVERY = 20
"""Models between two anchors."""
CAP_MW = 700_000
MEMORY_BYTES = 150_754_820_096
VERSIONS = {"torch": "2.11.0", "timm": "1.0.29", "cuda": "13.0", "driver": "580.159.04"}
FIRST_WALL_NS = 1_767_225_600 * 10**9
"""Wall time at monotonic time 0 of the clock pairs."""


def make_study(seed: int, work: Sequence[Json], sessions: Sequence[Json]) -> Json:
    """The declarations of a study of these entries in these sessions."""
    return {
        "format": STUDY_FORMAT,
        "rules_version": VERSION,
        "study": "image-inference",
        "method": STUDY_V1_1.version,
        "standing": "study",
        "study_id": "20260101T000000Z-image-inference-good",
        "seed": seed,
        "started_at": sessions[0]["started_at"],
        "ended_at": sessions[-1]["ended_at"],
        "settings": {
            "models": "curated",
            "engines": list(dict.fromkeys(entry["engine"] for entry in work)),
            "precisions": list(dict.fromkeys(entry["precision"] for entry in work)),
            "like": None,
            "full": False,
            "channels_last": True,
            "autograd": False,
            "cudnn_benchmark": False,
            "max_batch": 8192,
            "early_stop_sizes": 3,
            "early_stop_share": 0.03,
            "ladder_s": 1.0,
            "long_s": 10.0,
            "long_batches": 13,
            "parts": 10,
            "burn_in_s": 30.0,
            "anchor": {"architecture": "resnet50", "size": 224, "every": ANCHOR_EVERY},
            "input": "synthetic",
        },
        "implementation": {
            "name": "reference.image_inference:open_model",
            "sha256": "0" * 64,
        },
        "accuracy": {"sha256": read_shipped_table().sha256},
        "work": list(work),
        "sessions": list(sessions),
        "figures": {},
    }


def make_session(
    number: int,
    board: str,
    monotonic_ns: tuple[int, int],
    ticks: int,
    moments: Sequence[str],
) -> Json:
    """A session on one board, from its first to its last sample, with readbacks at `moments`."""
    start_ns, end_ns = monotonic_ns
    return {
        "session": number,
        "node": f"session{number}",
        "started_at": _format_time(start_ns),
        "ended_at": _format_time(end_ns),
        "accelerators": [board],
        "method": STUDY_V1_1.version,
        "power": {"mode": "as-found", "cap_w": CAP_MW / 1e3, "state": "P0"},
        "sampling": {"meter": "nvidia", "interval_ms": 100, "ticks": ticks, "missed": 0},
        "clocks": [
            {
                "node": f"session{number}",
                "when": when,
                "monotonic_ns": at_ns,
                "wall_ns": at_ns + FIRST_WALL_NS,
            }
            for when, at_ns in (("before", start_ns - 10**6), ("after", end_ns + 10**6))
        ],
        "readbacks": [_make_readback(when, board) for when in moments],
        "idle_w": {board: 120.0},
        "commit": "0" * 40,
        "versions": dict(VERSIONS),
    }


def _format_time(monotonic_ns: int) -> str:
    time = datetime.fromtimestamp((monotonic_ns + FIRST_WALL_NS) // 10**9, UTC)
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def _make_readback(when: str, board: str) -> Json:
    return {
        "when": when,
        "accelerator": board,
        "min_mw": 200_000,
        "max_mw": CAP_MW,
        "default_mw": CAP_MW,
        "requested_mw": CAP_MW,
        "enforced_mw": CAP_MW,
        "foreign_processes": 0,
        "mig": False,
        "ecc_uncorrected": 0,
        "ecc_corrected": 0,
    }


def make_system(boards: Mapping[str, str]) -> Json:
    """A system of one H200 per session. `boards` has the UUID by the node name of the session."""
    return {
        "format": SYSTEM_FORMAT,
        "name": "example-h200",
        "site": "Example Center",
        "category": "available",
        "cooling": "air",
        "interconnect": "NVLink",
        "nodes": [
            {
                "name": node,
                "cpu": "Example CPU",
                "cpu_cores": 32,
                "memory_bytes": 2**38,
                "accelerators": [
                    {
                        "uuid": uuid,
                        "name": "NVIDIA H200",
                        "vendor": "NVIDIA",
                        "memory_bytes": MEMORY_BYTES,
                        "vbios": "96.00.BC.00.01",
                        "pci": "00000000:01:00.0",
                        "max_power_w": CAP_MW / 1e3,
                    }
                ],
            }
            for node, uuid in boards.items()
        ],
    }


def make_environment() -> Json:
    """The environment of the first session."""
    return {
        "format": ENVIRONMENT_FORMAT,
        "wattmark": "0.1.0",
        "source_sha256": "0" * 64,
        "python": "3.12.3",
        "os": "Linux",
        "kernel": "6.8.0",
        "driver": VERSIONS["driver"],
        "packages": {"torch": VERSIONS["torch"], "timm": VERSIONS["timm"]},
        "container": f"sha256:{'0123456789abcdef' * 4}",
        "git": {"commit": "0" * 40, "dirty": False},
        "variables": {},
    }
