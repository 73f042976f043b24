"""Good bundles made from nothing, deterministic and within every rule: two H200s that train
ResNet-50 for eleven epochs, and two H200s with one server of LLaMA 3 8B.
"""

import gzip
import hashlib
import os
import pickle
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from isal import igzip

from rules import VERSION
from rules.bundle_format import write as writer
from rules.bundle_format.records import (
    BATCH_COLUMNS,
    ENVIRONMENT_FORMAT,
    REQUEST_COLUMNS,
    RESULT_FORMAT,
    SAMPLE_COLUMNS,
    SYSTEM_FORMAT,
)
from rules.bundle_format.table import Table
from rules.declarations import RunDeclaration, SystemDeclaration
from rules.metrics.figures_json import figures_to_json
from rules.metrics.parts import split_into_parts
from rules.metrics.run import compute_figures
from rules.protocol import CURRENT
from rules.testing.cases.protocol.node_clocks_disagree import note_clocks
from rules.testing.frames import EvidenceFrames
from rules.testing.mutations import swap_neighbours
from rules.workloads import workloads

UUIDS = ("GPU-11111111-aaaa-bbbb-cccc-000000000001", "GPU-22222222-aaaa-bbbb-cccc-000000000002")
MS = 1_000_000
ZERO_NS = 5_000_000_000_000
BATCH_SIZE = 1024
BATCHES = 220
BATCH_MS = 140.0
PAUSE_MS = 500.0
CAP_MW = 700_000
LOAD_W = 685.0
STEP_W = 0.322
"""The steps of an H200's power sensor."""
CONCURRENCY = 400
REQUESTS = 500
LATENCY_MS = 25_000.0


def write_bundle(evidence: EvidenceFrames, directory: Path) -> None:
    """Write a bundle as `rules.bundle_format.write` does, in a fraction of the time.

    Compression is weaker, a table that was written before is not encoded again, and nothing waits
    for the disk. The files hold the same content.
    """
    with (
        mock.patch.object(writer, "_pack_table", _written_once(writer._pack_table)),
        mock.patch.object(gzip, "compress", partial(igzip.compress, compresslevel=1)),
        mock.patch.object(os, "fsync"),
    ):
        writer.write(evidence.evidence(), directory)


_TABLES: dict[bytes, bytes] = {}
"""Encoded tables by the digest of what they hold."""
MOST_TABLES = 100


def _written_once(encode: Callable[..., bytes]) -> Callable[..., bytes]:
    """`encode`, which takes a table and its columns, with a memory of the last tables."""

    def encode_once(table: Table, columns: tuple[str, ...]) -> bytes:
        content = (dict(table.columns), table.places, columns)
        digest = hashlib.blake2b(pickle.dumps(content, protocol=5)).digest()
        if digest not in _TABLES:
            if len(_TABLES) == MOST_TABLES:
                del _TABLES[next(iter(_TABLES))]  # the oldest
            _TABLES[digest] = encode(table, columns)
        return _TABLES[digest]

    return encode_once


def good_evidence(seed: int = 7, rate: float = 1.0) -> EvidenceFrames:
    """At `rate`, a multiple of the usual throughput, epochs are as long and have as many more
    batches or fewer."""
    random = np.random.default_rng(seed)
    batches = _batches(random, round(BATCHES * rate))
    samples = pd.concat([_samples(batches[batches["rank"] == r], UUIDS[r], random) for r in (0, 1)])
    samples = samples.sort_values(["scheduled_ns", "accelerator"], ignore_index=True)
    evidence = EvidenceFrames(
        _result(), _system(), _environment(), samples, batches, "11 epochs done\n"
    )
    note_clocks(evidence)
    evidence.result["settings"]["batches_per_epoch"] = round(BATCHES * rate)
    evidence.result["sampling"]["ticks"] = samples["scheduled_ns"].nunique()
    rederive(evidence)
    return evidence


def another_run(evidence: EvidenceFrames, number: int = 1) -> EvidenceFrames:
    """Make of the evidence of a run that of another like it, `number` days later, with readings and
    batch times of its own.

    Readings change places with their neighbours, so that those of a real sensor stay on its steps.
    Figures must be derived anew.
    """
    result, batches, random = evidence.result, evidence.batches, np.random.default_rng(number)
    for name in ("started_at", "ended_at"):
        result[name] = (datetime.fromisoformat(result[name]) + timedelta(days=number)).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )
    result["settings"]["seed"] += number
    for column in ("power_mw", "power_avg_mw"):
        evidence.samples[column] += 7.0 * number
    swap_neighbours(evidence.samples, number)
    share = (1 - 0.003 * random.random(int(batches["epoch"].max()) + 1))[batches["epoch"]]
    length_ns = (batches["end_ns"] - batches["start_ns"]) * share - 1
    batches["end_ns"] = batches["start_ns"] + length_ns.astype("int64")
    return evidence


def good_serving_evidence(seed: int = 7) -> EvidenceFrames:
    random = np.random.default_rng(seed)
    requests, begin_ns = _requests(random)
    batches = _windows(requests, begin_ns)
    samples = pd.concat([_samples(batches, uuid, random) for uuid in UUIDS])
    samples = samples.sort_values(["scheduled_ns", "accelerator"], ignore_index=True)
    evidence = EvidenceFrames(
        _result(), _system(), _environment(), samples, batches, "11 epochs done\n", requests
    )
    note_clocks(evidence)
    workload, result = workloads()["llama3-8b-serve"], evidence.result
    wanted = workload.full.request_set(CONCURRENCY)
    sent = len(requests) + 2 * CONCURRENCY
    result.update(
        run_id="20260101T000000Z-llama3-8b-serve-tuned-good",
        workload=workload.id,
        ranks=[{"rank": 0, "node": "node0", "accelerators": list(UUIDS)}],
        tally={
            "requests": sent,
            "client_output_tokens": sent * wanted.output_tokens,
            "server_output_tokens": sent * wanted.output_tokens,
        },
    )
    result["implementation"].update(
        name=workload.implementation,
        parameters=workload.full.parameters,
        input_shape=[wanted.prompt_tokens],
        settings={name: choice[0] for name, choice in workload.fixed["tuned"].items()},
    )
    result["settings"].update(
        batch_size=CONCURRENCY, batches_per_epoch=REQUESTS, requests=asdict(wanted)
    )
    result["sampling"]["ticks"] = samples["scheduled_ns"].nunique()
    rederive(evidence)
    for epoch in result["epochs"]:
        epoch["loss"] = None
    return evidence


def _requests(random: np.random.Generator) -> tuple[pd.DataFrame, int]:
    """A closed loop of `CONCURRENCY` in flight with evenly spread ends, and when its first epoch
    began."""
    answers = int(np.ceil(CURRENT.epochs * REQUESTS / CONCURRENCY)) + 2
    latency_ns = ((LATENCY_MS + random.normal(0, 20, (CONCURRENCY, answers))) * MS).astype(np.int64)
    latency_ns[:, 0] = (
        latency_ns[:, 0] * (np.arange(CONCURRENCY) + 1) // CONCURRENCY
    )  # the warm-up staggers them
    end_ns = ZERO_NS + 2000 * MS + np.cumsum(latency_ns + MS, axis=1)
    sent_ns = end_ns - latency_ns
    kept = np.argsort(end_ns, axis=None)[CONCURRENCY : CONCURRENCY + CURRENT.epochs * REQUESTS + 1]
    end_ns, sent_ns = end_ns.ravel()[kept], sent_ns.ravel()[kept]
    begin_ns, end_ns, sent_ns = int(end_ns[0]), end_ns[1:], sent_ns[1:]
    table = {
        "epoch": np.repeat(np.arange(CURRENT.epochs), REQUESTS),
        "request": np.argsort(np.argsort(sent_ns, kind="stable"), kind="stable"),
        "rank": 0,
        "sent_ns": sent_ns,
        "first_ns": sent_ns + 400 * MS + random.integers(0, 50 * MS, len(sent_ns)),
        "end_ns": end_ns,
        "prompt_tokens": 1024,
        "output_tokens": 512,
    }
    return pd.DataFrame(table)[list(REQUEST_COLUMNS)].astype("int64"), begin_ns


def _windows(requests: pd.DataFrame, begin_ns: int) -> pd.DataFrame:
    rows = []
    for epoch, own in requests.groupby("epoch"):
        start_ns = np.maximum(own["sent_ns"], begin_ns)
        rows += zip(
            [epoch] * len(own),
            range(len(own)),
            own["rank"],
            start_ns,
            own["end_ns"],
            own["output_tokens"],
            strict=True,
        )
        begin_ns = int(own["end_ns"].max())
    return pd.DataFrame(rows, columns=list(BATCH_COLUMNS)).astype("int64")


def rederive(evidence: EvidenceFrames) -> None:
    """Write the figures that follow from the tables into the result, keeping what a computation
    does not give.

    The events of the run are left out, as a careful cheat would.
    """
    result = evidence.result
    evidence.events = None
    tables = evidence.evidence()
    parts = split_into_parts(result, tables.samples, tables.batches)
    run, system = (
        RunDeclaration.from_document(result),
        SystemDeclaration.from_document(evidence.system),
    )
    computed = compute_figures(run, system, parts, tables.requests)
    figures = figures_to_json(computed)
    losses = {e["epoch"]: e["loss"] for e in result["epochs"]}
    for epoch in figures["epochs"]:
        epoch["loss"] = losses.get(epoch["epoch"], 6.9 - 0.1 * epoch["epoch"])
    result.update(figures)


def _batches(random: np.random.Generator, count: int) -> pd.DataFrame:
    rows = []
    batch_ms = BATCH_MS * BATCHES / count
    for rank in (0, 1):
        at = ZERO_NS + 2000 * MS
        for epoch in range(CURRENT.epochs):
            for batch in range(count):
                end = at + int((batch_ms + random.normal(0, 0.3)) * MS)
                rows.append((epoch, batch, rank, at, end, BATCH_SIZE))
                at = end + 20_000
            at = ZERO_NS + int((2000 + (epoch + 1) * (BATCHES * (BATCH_MS + 0.1) + PAUSE_MS)) * MS)
    return pd.DataFrame(rows, columns=list(BATCH_COLUMNS)).astype("int64")


def _power(
    windows: pd.DataFrame, read: np.ndarray, active: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Power in W as docs/forensics.md has it: what a sensor reads, on its steps, and the mean since
    the reading before.

    A reading is an instant: it knows in which part of its batch it is, and half of what else moves
    it is over before the next.
    """
    starts, ends = np.sort(windows["start_ns"].to_numpy()), np.sort(windows["end_ns"].to_numpy())
    of = np.clip(np.searchsorted(starts, read, side="right") - 1, 0, None)
    part = np.clip((read - starts[of]) / (ends[of] - starts[of]), 0, 1)
    swing_w = 4 * np.sin(2 * np.pi * part) + random.normal(0, 5, len(read))
    power_w = np.where(active, LOAD_W + swing_w, 120.0 + random.normal(0, 1, len(read)))
    meant_w = np.where(active, LOAD_W + swing_w / 2 + random.normal(0, 2, len(read)), power_w)
    return np.round(power_w / STEP_W) * STEP_W, meant_w


def _samples(windows: pd.DataFrame, uuid: str, random: np.random.Generator) -> pd.DataFrame:
    last = int(windows["end_ns"].max()) + 2000 * MS
    scheduled = np.arange(ZERO_NS, last, 100 * MS, dtype=np.int64)
    read = scheduled + random.integers(20_000, 90_000, len(scheduled))
    active = np.zeros(len(scheduled), dtype=bool)
    for _, own in windows.groupby("epoch"):
        active |= (read >= own["start_ns"].min()) & (read <= own["end_ns"].max())
    power_w, meant_w = _power(windows, read, active, random)
    energy_j = 3.0e6 + np.concatenate(([0.0], np.cumsum(np.diff(read) / 1e9 * meant_w[1:])))
    average_w = pd.Series(meant_w).rolling(10, min_periods=1).mean().to_numpy()
    table = {
        "scheduled_ns": scheduled,
        "read_ns": read,
        "node": "node0",
        "accelerator": uuid,
        "power_mw": np.round(power_w * 1e3),
        "power_avg_mw": np.round(average_w * 1e3),
        "energy_mj": np.round(energy_j * 1e3),
        "sm_mhz": np.where(
            active,
            1500.0 - 15 * np.round((power_w - LOAD_W) / 4 + random.normal(0, 1, len(read))),
            345.0,
        ),
        "mem_mhz": 3201.0,
        "temp_c": np.where(active, 62.0, 38.0),
        "mem_temp_c": np.where(active, 70.0, 40.0),
        "power_state": "P0",
        "slowdown": np.where(active, 4.0, 1.0),
        "util_pct": np.where(active, 100.0, 0.0),
        "cap_mw": float(CAP_MW),
        "status": "ok",
    }
    return pd.DataFrame(table)[list(SAMPLE_COLUMNS)]


def _result() -> dict:
    workload = workloads()["resnet50-train"]
    whens = ["before", *(f"epoch-{e}" for e in range(CURRENT.epochs)), "after"]
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
            "batches_per_epoch": BATCHES,
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
            for when in whens
            for uuid in UUIDS
        ],
        "epochs": [],
    }


def _system() -> dict:
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


def _environment() -> dict:
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
