"""Puts together what a run left in its directory: the tables, the result, the system, the environment and the log."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from harness.plan import NODE, Plan
from harness.rundir import LOG_FILE
from harness.sampler import SAMPLES_FILE
from harness.system import describe_environment, describe_system
from rules import VERSION, metrics
from rules.protocol import CURRENT
from rules.records import BATCH_COLUMNS, RESULT_FORMAT, SAMPLE_COLUMNS, TEXT_COLUMNS, Evidence, Json


def gather(plan: Plan, directory: Path, taken: "Taken", environment: Mapping[str, str]) -> Evidence:
    """The evidence of a finished run whose workers had this `environment`.

    Raises rules.metrics.MetricsError where figures cannot be computed from it.
    """
    samples, batches = read_samples(directory / SAMPLES_FILE), read_batches(directory)
    result = _result(plan, taken)
    system = describe_system(plan.system, plan.devices)
    figures = metrics.figures(result, system, metrics.parts(result, samples, batches))
    for epoch in figures["epochs"]:
        epoch["loss"] = taken.losses.get(epoch["epoch"])
    result.update(figures)
    log = (directory / LOG_FILE).read_text(errors="replace")
    software = describe_environment(plan.driver, plan.source_sha256, environment)
    return Evidence(result, system, software, samples, batches, log)


def read_samples(path: Path) -> pd.DataFrame:
    """The sampler's table with the types that `rules.records.Evidence` asks for."""
    kinds = {c: "str" if c in TEXT_COLUMNS else "float64" for c in SAMPLE_COLUMNS}
    kinds |= {"scheduled_ns": "int64", "read_ns": "int64"}
    numbers = {c: [""] for c in SAMPLE_COLUMNS if c not in TEXT_COLUMNS}
    return pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=numbers)


def read_batches(directory: Path) -> pd.DataFrame:
    """The batch windows of all ranks, by epoch, rank and batch."""
    tables = [pd.read_csv(p, dtype="int64") for p in sorted(directory.glob("batches.*.csv"))]
    return pd.concat(tables)[list(BATCH_COLUMNS)].sort_values(["epoch", "rank", "batch"], ignore_index=True)


class Taken:
    """What the harness learns while a run goes on."""

    def __init__(self) -> None:
        self.started_at = ""
        self.ended_at = ""
        self.built: dict[int, Json] = {}
        self.batches_per_epoch = 0
        self.losses: dict[int, float | None] = {}
        self.readbacks: list[Json] = []
        self.sampling: Json = {}


def _result(plan: Plan, taken: Taken) -> Json:
    """result.json without the figures."""
    built = taken.built[0]
    return {
        "format": RESULT_FORMAT,
        "protocol": CURRENT.version,
        "rules_version": VERSION,
        "run_id": plan.run_id,
        "workload": plan.workload,
        "size": plan.size,
        "standing": plan.standing,
        "started_at": taken.started_at,
        "ended_at": taken.ended_at,
        "attempt": plan.attempt,
        "implementation": {
            "name": plan.implementation,
            "variant": plan.variant,
            **{k: built[k] for k in ("precision", "parameters", "input_shape", "settings")},
        },
        "settings": {
            "accelerators": len(plan.devices),
            "nodes": 1,
            "batch_size": plan.batch_size,
            "batches_per_epoch": taken.batches_per_epoch,
            "epoch_target_s": plan.epoch_s,
            "seed": plan.seed,
            "input": "synthetic",
            "weights": "seeded",
            "batch_search": None if plan.batch_search is None else list(plan.batch_search),
        },
        "ranks": [
            {"rank": rank, "node": NODE, "accelerators": [facts["accelerator"]]} for rank, facts in sorted(taken.built.items())
        ],
        "power": {"mode": "as-found", "cap_w": plan.cap_w, "state": plan.state},
        "sampling": {"meter": plan.meter, "interval_ms": CURRENT.sample_interval_ms, **taken.sampling},
        "readbacks": taken.readbacks,
    }
