"""Good bundles made from nothing, deterministic and within every rule: two H200s that train
ResNet-50 for eleven epochs, and two H200s with one server of LLaMA 3 8B.
"""

import copy
import gzip
import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from isal import igzip
from support.good_documents import (
    BATCH_SIZE,
    CAP_MW,
    UUIDS,
    make_environment,
    make_result,
    make_system,
)

from rules.bundle_format import study_write as study_writer
from rules.bundle_format import write as writer
from rules.bundle_format.records import (
    BATCH_COLUMNS,
    REQUEST_COLUMNS,
    SAMPLE_COLUMNS,
)
from rules.bundle_format.table import Table
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.metrics.figures_json import figures_to_json
from rules.metrics.headline import apply_rule_book
from rules.metrics.parts import split_into_parts
from rules.metrics.run import compute_figures
from rules.protocol import CURRENT
from rules.testing.cases.protocol.events_contradict_result import record_events
from rules.testing.cases.protocol.node_clocks_disagree import note_clocks
from rules.testing.frames import EvidenceFrames, StudyFrames
from rules.testing.mutations import renew_measurements
from rules.testing.node_power import state_node_figures
from rules.workloads import workloads

MS = 1_000_000
ZERO_NS = 5_000_000_000_000
BATCHES = 220
STEPS = 10
"""How many losses an epoch lists."""
BATCH_MS = 140.0
PAUSE_MS = 500.0
LOAD_W = 685.0
CLOCK_MHZ = 1770.0
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
    with _quick_writing(writer):
        writer.write(evidence.evidence(), directory)


def write_study_bundle(study: StudyFrames, directory: Path) -> None:
    """Write the bundle of a study as `rules.bundle_format.study_write` does, as quickly."""
    with _quick_writing(study_writer):
        study_writer.write_study(study.evidence(), directory)


@contextmanager
def _quick_writing(module: Any) -> Iterator[None]:
    with (
        mock.patch.object(module, "pack_table", _cache_encoding(writer.pack_table)),
        mock.patch.object(gzip, "compress", partial(igzip.compress, compresslevel=1)),
        mock.patch.object(os, "fsync"),
    ):
        yield


_TABLES: dict[bytes, bytes] = {}
"""Encoded tables by the digest of what they hold."""
MAX_TABLES = 100


def _cache_encoding(encode: Callable[..., bytes]) -> Callable[..., bytes]:
    """Wrap `encode`, which takes a table and its columns, in a cache of the last tables."""

    def encode_once(table: Table, columns: tuple[str, ...]) -> bytes:
        content = (dict(table.columns), table.places, columns)
        digest = hashlib.blake2b(pickle.dumps(content, protocol=5)).digest()
        if digest not in _TABLES:
            if len(_TABLES) == MAX_TABLES:
                del _TABLES[next(iter(_TABLES))]  # the oldest
            _TABLES[digest] = encode(table, columns)
        return _TABLES[digest]

    return encode_once


def make_evidence(seed: int = 7, rate: float = 1.0) -> EvidenceFrames:
    """The evidence of a good training run on two boards. `rate` multiplies the usual throughput:
    epochs keep their length and have more batches or fewer."""
    return copy.deepcopy(_make_training_run(seed, rate))


@cache
def _make_training_run(seed: int, rate: float) -> EvidenceFrames:
    random = np.random.default_rng(seed)
    batches = _make_batches(random, round(BATCHES * rate))
    samples = pd.concat(
        [_make_samples(batches[batches["rank"] == r], UUIDS[r], random) for r in (0, 1)]
    )
    samples = samples.sort_values(["scheduled_ns", "accelerator"], ignore_index=True)
    evidence = EvidenceFrames(
        make_result(round(BATCHES * rate)),
        make_system(),
        make_environment(),
        samples,
        batches,
        "11 epochs done\n",
    )
    note_clocks(evidence)
    evidence.result["sampling"]["ticks"] = samples["scheduled_ns"].nunique()
    rederive(evidence)
    random = np.random.default_rng(seed)
    for epoch in evidence.result["epochs"]:
        epoch["losses"] = list_losses(epoch["epoch"], random)
        epoch["loss"] = epoch["losses"][-1]
    for rank in evidence.result["ranks"]:
        rank["inputs_sha256"] = hashlib.sha256(f"input of {rank['rank']}".encode()).hexdigest()
    record_events(evidence)
    return evidence


def list_losses(epoch: int, random: np.random.Generator) -> list[float]:
    """Losses of the steps of an epoch that fall from epoch to epoch."""
    return [6.9 - 0.1 * epoch + 0.01 * random.random() for _ in range(STEPS)]


def make_other_run(evidence: EvidenceFrames, number: int = 1) -> EvidenceFrames:
    """Turn the evidence of a run into that of a similar run, `number` days later, with other
    readings and batch times.

    Readings change places with others nearby, so that those of a real sensor stay on its steps,
    and so do batches. The caller must derive the figures again.
    """
    result, batches, random = evidence.result, evidence.batches, np.random.default_rng(number)
    for name in ("started_at", "ended_at"):
        result[name] = (datetime.fromisoformat(result[name]) + timedelta(days=number)).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )
    result["settings"]["seed"] += number
    for column in ("power_mw", "power_avg_mw"):
        evidence.samples[column] += 7.0 * number
    renew_measurements(evidence, number)
    share = (1 - 0.003 * random.random(int(batches["epoch"].max()) + 1))[batches["epoch"]]
    length_ns = (batches["end_ns"] - batches["start_ns"]) * share - 1
    batches["end_ns"] = batches["start_ns"] + length_ns.astype("int64")
    for epoch in result["epochs"]:
        # Another seed gives other losses and another input.
        factor = 1 + 0.01 * random.random()
        if epoch["loss"] is not None:
            epoch["loss"] *= factor
        if epoch.get("losses"):
            epoch["losses"] = [None if x is None else x * factor for x in epoch["losses"]]
    for rank in result["ranks"]:
        if sha256 := rank.get("inputs_sha256"):
            rank["inputs_sha256"] = hashlib.sha256(f"{sha256} {number}".encode()).hexdigest()
    return evidence


def make_serving_evidence(seed: int = 7) -> EvidenceFrames:
    """The evidence of a good run of one server on two boards."""
    random = np.random.default_rng(seed)
    requests, begin_ns = _make_requests(random)
    batches = _make_windows(requests, begin_ns)
    samples = pd.concat([_make_samples(batches, uuid, random) for uuid in UUIDS])
    samples = samples.sort_values(["scheduled_ns", "accelerator"], ignore_index=True)
    evidence = EvidenceFrames(
        make_result(REQUESTS),
        make_system(),
        make_environment(),
        samples,
        batches,
        "11 epochs done\n",
        requests,
    )
    note_clocks(evidence)
    workload, result = workloads()["llama3-8b-serve"], evidence.result
    request_set = workload.full.request_set(CONCURRENCY)
    request_count = len(requests) + 2 * CONCURRENCY
    result.update(
        run_id="20260101T000000Z-llama3-8b-serve-tuned-good",
        workload=workload.id,
        ranks=[{"rank": 0, "node": "node0", "accelerators": list(UUIDS)}],
        tally={
            "requests": request_count,
            "client_output_tokens": request_count * request_set.output_tokens,
            "server_output_tokens": request_count * request_set.output_tokens,
        },
    )
    result["implementation"].update(
        name=workload.implementation,
        parameters=workload.full.parameters,
        input_shape=[request_set.prompt_tokens],
        settings={name: choice[0] for name, choice in workload.fixed["tuned"].items()},
    )
    result["settings"].update(batch_size=CONCURRENCY, requests=asdict(request_set))
    result["sampling"]["ticks"] = samples["scheduled_ns"].nunique()
    rederive(evidence)
    for epoch in result["epochs"]:
        epoch["loss"] = None
    record_events(evidence)
    return evidence


def _make_requests(random: np.random.Generator) -> tuple[pd.DataFrame, int]:
    """The requests of a closed loop of `CONCURRENCY` in flight with evenly spread ends, and the
    start of the first epoch in ns."""
    answers = int(np.ceil(CURRENT.epochs * REQUESTS / CONCURRENCY)) + 2
    latency_ns = ((LATENCY_MS + random.normal(0, 20, (CONCURRENCY, answers))) * MS).astype(np.int64)
    # The warm-up staggers the requests.
    latency_ns[:, 0] = latency_ns[:, 0] * (np.arange(CONCURRENCY) + 1) // CONCURRENCY
    end_ns = ZERO_NS + 2000 * MS + np.cumsum(latency_ns + MS, axis=1)
    sent_ns = end_ns - latency_ns
    scored = np.argsort(end_ns, axis=None)[
        CONCURRENCY : CONCURRENCY + CURRENT.epochs * REQUESTS + 1
    ]
    end_ns, sent_ns = end_ns.ravel()[scored], sent_ns.ravel()[scored]
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


def _make_windows(requests: pd.DataFrame, begin_ns: int) -> pd.DataFrame:
    """The windows of the requests: each begins when its request was sent, but not before its
    epoch."""
    rows = []
    for epoch, epoch_requests in requests.groupby("epoch"):
        start_ns = np.maximum(epoch_requests["sent_ns"], begin_ns)
        rows += zip(
            [epoch] * len(epoch_requests),
            range(len(epoch_requests)),
            epoch_requests["rank"],
            start_ns,
            epoch_requests["end_ns"],
            epoch_requests["output_tokens"],
            strict=True,
        )
        begin_ns = int(epoch_requests["end_ns"].max())
    return pd.DataFrame(rows, columns=list(BATCH_COLUMNS)).astype("int64")


def rederive(evidence: EvidenceFrames) -> None:
    """Write the figures that follow from the tables into the result. Losses and trainings stay.

    The events of the run, if there are any, are recorded anew, as a careful forger would do.
    """
    result = evidence.result
    if evidence.events is not None:
        record_events(evidence)
    tables = evidence.evidence()
    parts = split_into_parts(result, tables.samples, tables.batches)
    run, system = (
        RunDeclaration.from_document(result),
        SystemDeclaration.from_document(evidence.system),
    )
    computed = compute_figures(run, system, parts, tables.requests)
    figures = figures_to_json(apply_rule_book(computed, run.rules_version))
    losses = {
        e["epoch"]: {name: e[name] for name in ("loss", "losses", "trainings") if name in e}
        for e in result["epochs"]
    }
    for epoch in figures["epochs"]:
        epoch.update(losses.get(epoch["epoch"], {"loss": 6.9 - 0.1 * epoch["epoch"]}))
    result.update(figures)
    if evidence.node_samples is not None:
        state_node_figures(evidence)


def _make_batches(random: np.random.Generator, count: int) -> pd.DataFrame:
    rows = []
    batch_ms = BATCH_MS * BATCHES / count
    for rank in (0, 1):
        start_ns = ZERO_NS + 2000 * MS
        for epoch in range(CURRENT.epochs):
            for batch in range(count):
                end_ns = start_ns + int((batch_ms + random.normal(0, 0.3)) * MS)
                rows.append((epoch, batch, rank, start_ns, end_ns, BATCH_SIZE))
                start_ns = end_ns + 20_000
            start_ns = ZERO_NS + int(
                (2000 + (epoch + 1) * (BATCHES * (BATCH_MS + 0.1) + PAUSE_MS)) * MS
            )
    return pd.DataFrame(rows, columns=list(BATCH_COLUMNS)).astype("int64")


def _make_power(
    windows: pd.DataFrame, read_ns: np.ndarray, active: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Power in W with the properties of docs/forensics.md: the readings of a sensor, on its steps,
    and the mean power since the previous reading.

    A reading is instantaneous. It depends on the phase of its batch, and half of its other
    variation is over before the next reading.
    """
    starts, ends = np.sort(windows["start_ns"].to_numpy()), np.sort(windows["end_ns"].to_numpy())
    window = np.clip(np.searchsorted(starts, read_ns, side="right") - 1, 0, None)
    phase = np.clip((read_ns - starts[window]) / (ends[window] - starts[window]), 0, 1)
    swing_w = 4 * np.sin(2 * np.pi * phase) + random.normal(0, 5, len(read_ns))
    power_w = np.where(active, LOAD_W + swing_w, 120.0 + random.normal(0, 1, len(read_ns)))
    interval_mean_w = np.where(
        active, LOAD_W + swing_w / 2 + random.normal(0, 2, len(read_ns)), power_w
    )
    return np.round(power_w / STEP_W) * STEP_W, interval_mean_w


def _make_samples(windows: pd.DataFrame, uuid: str, random: np.random.Generator) -> pd.DataFrame:
    end_ns = int(windows["end_ns"].max()) + 2000 * MS
    scheduled_ns = np.arange(ZERO_NS, end_ns, 100 * MS, dtype=np.int64)
    read_ns = scheduled_ns + random.integers(20_000, 90_000, len(scheduled_ns))
    active = np.zeros(len(scheduled_ns), dtype=bool)
    for _, epoch_windows in windows.groupby("epoch"):
        active |= (read_ns >= epoch_windows["start_ns"].min()) & (
            read_ns <= epoch_windows["end_ns"].max()
        )
    power_w, interval_mean_w = _make_power(windows, read_ns, active, random)
    energy_j = 3.0e6 + np.concatenate(
        ([0.0], np.cumsum(np.diff(read_ns) / 1e9 * interval_mean_w[1:]))
    )
    average_w = pd.Series(interval_mean_w).rolling(10, min_periods=1).mean().to_numpy()
    table = {
        "scheduled_ns": scheduled_ns,
        "read_ns": read_ns,
        "node": "node0",
        "accelerator": uuid,
        "power_mw": np.round(power_w * 1e3),
        "power_avg_mw": np.round(average_w * 1e3),
        "energy_mj": np.round(energy_j * 1e3),
        "sm_mhz": np.where(
            active,
            CLOCK_MHZ - 15 * np.round((power_w - LOAD_W) / 4 + random.normal(0, 1, len(read_ns))),
            345.0,
        ),
        "mem_mhz": 3201.0,
        "temp_c": np.where(active, 60.0 + np.arange(len(read_ns)) // 600 % 4, 38.0),
        "mem_temp_c": np.where(active, 70.0, 40.0),
        "power_state": "P0",
        "slowdown": np.where(active, 4.0, 1.0),
        "util_pct": np.where(active, 100.0, 0.0),
        "cap_mw": float(CAP_MW),
        "status": "ok",
    }
    return pd.DataFrame(table)[list(SAMPLE_COLUMNS)]
