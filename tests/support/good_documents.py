"""The JSON documents of the good bundles: declarations of a training run, its system and its
environment.
"""

from rules import VERSION
from rules.bundle_format.records import ENVIRONMENT_FORMAT, RESULT_FORMAT, SYSTEM_FORMAT, Json
from rules.protocol import CURRENT
from rules.workloads import workloads

UUIDS = ("GPU-11111111-aaaa-bbbb-cccc-000000000001", "GPU-22222222-aaaa-bbbb-cccc-000000000002")
BATCH_SIZE = 1024
CAP_MW = 700_000


def make_result(batches_per_epoch: int) -> Json:
    """The declarations of the training run. Its figures are not in it yet."""
    workload = workloads()["resnet50-train"]
    moments = ["before", *(f"epoch-{e}" for e in range(CURRENT.epochs)), "after"]
    return {
        "format": RESULT_FORMAT,
        "protocol": CURRENT.version,
        "rules_version": VERSION,
        "run_id": "20260101T000000Z-resnet50-train-tuned-good",
        "workload": workload.id,
        "size": "full",
        "standing": "closed",
        "started_at": "2026-01-01T00:00:00Z",
        "ended_at": "2026-01-01T00:07:00Z",
        "attempt": 1,
        "implementation": {
            "name": workload.implementation,
            "variant": "tuned",
            "precision": "bf16",
            "parameters": workload.full.parameters,
            "input_shape": list(workload.full.input_shape),
            "settings": {name: choice[0] for name, choice in workload.fixed["tuned"].items()},
        },
        "settings": {
            "accelerators": 2,
            "nodes": 1,
            "batch_size": BATCH_SIZE,
            "batches_per_epoch": batches_per_epoch,
            "epoch_target_s": 30.5,
            "seed": 1,
            "input": "synthetic",
            "weights": "seeded",
            "batch_search": None,
        },
        "ranks": [{"rank": r, "node": "node0", "accelerators": [UUIDS[r]]} for r in (0, 1)],
        "power": {"mode": "as-found", "cap_w": CAP_MW / 1e3, "state": "P0"},
        "sampling": {"meter": "nvidia", "interval_ms": 100, "ticks": 0, "missed": 0},
        "readbacks": [
            {
                "when": when,
                "accelerator": uuid,
                "min_mw": 200_000,
                "max_mw": 700_000,
                "default_mw": 700_000,
                "requested_mw": 700_000,
                "enforced_mw": CAP_MW,
                "foreign_processes": 0,
                "mig": False,
                "ecc_uncorrected": 0,
                "ecc_corrected": 0,
            }
            for when in moments
            for uuid in UUIDS
        ],
        "epochs": [],
    }


def make_system() -> Json:
    accelerators = [
        {
            "uuid": uuid,
            "name": "NVIDIA H200",
            "vendor": "NVIDIA",
            "memory_bytes": 150_754_820_096,
            "vbios": "96.00.BC.00.01",
            "pci": "00000000:01:00.0",
            "max_power_w": 700.0,
        }
        for uuid in UUIDS
    ]
    return {
        "format": SYSTEM_FORMAT,
        "name": "example-h200x2",
        "site": "Example Center",
        "category": "available",
        "cooling": "air",
        "interconnect": "NVLink",
        "nodes": [
            {
                "name": "node0",
                "cpu": "Example CPU",
                "cpu_cores": 32,
                "memory_bytes": 2**38,
                "accelerators": accelerators,
            }
        ],
    }


def make_environment() -> Json:
    return {
        "format": ENVIRONMENT_FORMAT,
        "wattmark": "0.1.0",
        "source_sha256": "0" * 64,
        "python": "3.12.3",
        "os": "Linux",
        "kernel": "6.8.0",
        "driver": "580.159.04",
        "packages": {"torch": "2.11.0", "timm": "1.0.31"},
        "container": f"sha256:{'0123456789abcdef' * 4}",
        "git": {"commit": "0" * 40, "dirty": False},
        "variables": {},
    }
