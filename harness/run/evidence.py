"""Puts together what a run left in the directories of its nodes: tables, result, system,
environment and log."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

import pandas as pd

from harness.power.sampler import SAMPLES_FILE
from harness.run.events import read_recorded
from harness.run.plan import Plan
from harness.run.run_directory import LOG_FILE
from harness.system import describe_environment, describe_node, describe_system
from rules import VERSION
from rules.bundle_format.events import event_from_json, event_to_json
from rules.bundle_format.records import (
    BATCH_COLUMNS,
    REQUEST_COLUMNS,
    RESULT_FORMAT,
    SAMPLE_COLUMNS,
    TEXT_COLUMNS,
    Evidence,
    Json,
)
from rules.metrics.energy import MetricsError
from rules.metrics.figures_json import figures_to_json
from rules.metrics.parts import split_into_parts
from rules.metrics.run import compute_figures
from rules.protocol import CURRENT

DATE = "%Y-%m-%dT%H:%M:%SZ"


@dataclass
class Measurements:
    """What the harness learns on one node while a run goes on."""

    started_at: datetime = datetime.max
    ended_at: datetime = datetime.max
    built: dict[int, Json] = field(default_factory=dict)
    """By rank."""
    batches_per_epoch: int = 0
    losses: dict[int, list[float | None]] = field(default_factory=dict)
    """Of every step of the node's first rank, by epoch; None where not finite."""
    readbacks: list[Json] = field(default_factory=list)
    sampling: Json = field(default_factory=dict)
    tally: Json | None = None
    clocks: list[Json] = field(default_factory=list)
    """Pairs of monotonic and wall clock, before the first and after the last sample."""


def share_of(plan: Plan, directory: Path, measurements: Measurements) -> Json:
    """What this node has to add to the bundle, as an object that can be sent to the head."""

    def texts(name: str) -> list[str]:
        return [path.read_text() for path in sorted(directory.glob(f"{name}.*.csv"))]

    return {
        "node": describe_node(plan.node_name, plan.devices),
        "built": list(measurements.built.values()),
        "readbacks": measurements.readbacks,
        "found_mw": None if plan.found_mw is None else dict(plan.found_mw),
        "found_state": dict(plan.found_state or {}),
        "sampling": measurements.sampling,
        "samples": (directory / SAMPLES_FILE).read_text(),
        "batches": texts("batches"),
        "requests": texts("requests"),
        "events": [event_to_json(event) for event in read_recorded(directory)],
        "log": (directory / LOG_FILE).read_text(errors="replace"),
        "clocks": [{"node": plan.node_name, **pair} for pair in measurements.clocks],
        "started_at": measurements.started_at.strftime(DATE),
        "ended_at": measurements.ended_at.strftime(DATE),
        # of these, the head's are told
        "batches_per_epoch": measurements.batches_per_epoch,
        "losses": list(measurements.losses.values()),
        "tally": measurements.tally,
    }


def gather(plan: Plan, shares: Sequence[Json], environment: Mapping[str, str]) -> Evidence:
    """The evidence of a finished run from the shares of its nodes, the head's first. `environment`
    is that of its workers.

    Raises rules.metrics.energy.MetricsError where figures cannot be computed from it.
    """
    samples = pd.concat([read_samples(s["samples"]) for s in shares], ignore_index=True)
    batches = read_tables((t for s in shares for t in s["batches"]), BATCH_COLUMNS)
    batches = batches.sort_values(["epoch", "rank", "batch"], ignore_index=True)
    requests = (
        read_tables((t for s in shares for t in s["requests"]), REQUEST_COLUMNS)
        if plan.requests
        else None
    )
    result = _result(plan, shares)
    system = describe_system(plan.system, [s["node"] for s in shares])
    parts = split_into_parts(result, samples, batches)
    figures = figures_to_json(compute_figures(result, system, parts, requests))
    for epoch, losses in zip(figures["epochs"], shares[0]["losses"], strict=False):
        epoch.update(loss=losses[-1] if losses else None, losses=losses)
    result.update(figures)
    log = "".join(
        s["log"] if len(shares) == 1 else f"== {s['node']['name']} ==\n{s['log']}" for s in shares
    )
    software = describe_environment(plan.driver, plan.source_sha256, environment)
    events = tuple(event_from_json(event) for share in shares for event in share["events"])
    return Evidence(result, system, software, samples, batches, log, requests, events)


def read_samples(text: str) -> pd.DataFrame:
    """A sampler's table with the types that `rules.bundle_format.records.Evidence` asks for."""
    kinds = {c: "str" if c in TEXT_COLUMNS else "float64" for c in SAMPLE_COLUMNS}
    kinds |= {"scheduled_ns": "int64", "read_ns": "int64"}
    numbers = {c: [""] for c in SAMPLE_COLUMNS if c not in TEXT_COLUMNS}
    return pd.read_csv(io.StringIO(text), dtype=kinds, keep_default_na=False, na_values=numbers)


def read_tables(texts: Iterable[str], columns: tuple[str, ...]) -> pd.DataFrame:
    """The tables that the workers have written, one below the other. Raises
    rules.metrics.energy.MetricsError where there is none."""
    texts = [text for text in texts if text]
    if not texts:
        raise MetricsError(
            "the workers have written no table of it; did the implementation run any batch?"
        )
    return pd.concat(
        [pd.read_csv(io.StringIO(t), dtype="int64") for t in texts], ignore_index=True
    )[list(columns)]


def _result(plan: Plan, shares: Sequence[Json]) -> Json:
    """result.json without the figures."""
    head = shares[0]
    ranks = [(share["node"]["name"], built) for share in shares for built in share["built"]]
    ranks.sort(key=lambda found: found[1]["rank"])
    built = ranks[0][1]
    for fact in (
        "precision",
        "parameters",
        "input_shape",
        "settings",
        "corpus_sha256",
        "weights_sha256",
    ):
        if other := [b["rank"] for _, b in ranks if b[fact] != built[fact]]:
            raise MetricsError(f"rank {other[0]} was built with another {fact} than rank 0")
    sampling = {
        name: sum(share["sampling"][name] for share in shares) for name in ("ticks", "missed")
    }
    result = {
        "format": RESULT_FORMAT,
        "protocol": CURRENT.version,
        "rules_version": VERSION,
        "run_id": plan.run_id,
        "workload": plan.workload,
        "size": plan.size,
        "standing": plan.standing,
        **dates(shares),
        "attempt": plan.attempt,
        "implementation": {
            "name": plan.implementation,
            "variant": plan.variant,
            "sha256": plan.implementation_sha256,
            **{k: built[k] for k in ("precision", "parameters", "input_shape", "settings")},
        },
        "settings": {
            "accelerators": sum(len(b["accelerators"]) for _, b in ranks),
            "nodes": plan.nodes,
            "batch_size": plan.batch_size,
            "batches_per_epoch": head["batches_per_epoch"],
            "epoch_target_s": plan.epoch_s,
            "seed": plan.seed,
            "input": "synthetic" if built["corpus_sha256"] is None else "real",
            "corpus_sha256": built["corpus_sha256"],
            "weights": "seeded"
            if built["weights_sha256"] is None
            else f"sha256:{built['weights_sha256']}",
            "options": dict(plan.options),
            "requests": None if plan.requests is None else asdict(plan.requests),
            "batch_search": None if plan.batch_search is None else list(plan.batch_search),
        },
        "ranks": [
            {"rank": b["rank"], "node": node, "accelerators": b["accelerators"]}
            for node, b in ranks
        ],
        "power": _power(plan, shares),
        "sampling": {"meter": plan.meter, "interval_ms": CURRENT.sample_interval_ms, **sampling},
        "readbacks": [r for share in shares for r in share["readbacks"]],
        "clocks": [pair for share in shares for pair in share["clocks"]],
    }
    if plan.sweep is not None:
        result["sweep"] = plan.sweep
    return result if head["tally"] is None else {**result, "tally": head["tally"]}


def dates(shares: Sequence[Json]) -> Json:
    """When a run began on the first of its nodes and ended on the last: the samples of all of them
    lie between."""
    return {
        "started_at": min(s["started_at"] for s in shares),
        "ended_at": max(s["ended_at"] for s in shares),
    }


def _power(plan: Plan, shares: Sequence[Json]) -> Json:
    """The declared power setting; where a node set it for the run, with the limits that all
    accelerators were found with.

    With the states too of those that were found in another one than the declared.
    """
    found_state = {uuid: state for share in shares for uuid, state in share["found_state"].items()}
    states = {"state": plan.state, **({"found_state": found_state} if found_state else {})}
    if all(share["found_mw"] is None for share in shares):
        return {"mode": "as-found", "cap_w": plan.cap_w, **states}
    assert plan.cap_w is not None
    in_force_mw = round(1e3 * plan.cap_w)  # where a node found the cap as it should be
    found_mw: Json = {}
    for share in shares:
        found_mw |= share["found_mw"] or {
            a["uuid"]: in_force_mw for a in share["node"]["accelerators"]
        }
    return {"mode": "set", "cap_w": plan.cap_w, **states, "found_mw": found_mw}
