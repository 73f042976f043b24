"""Puts together what a run left in the directories of its nodes: tables, result, system,
environment and log."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np

from harness.power.sampler import SAMPLES_FILE
from harness.run.events import read_recorded
from harness.run.plan import Plan
from harness.run.run_directory import LOG_FILE
from harness.system import describe_environment, describe_node, describe_system
from rules import VERSION
from rules.bundle_format.csv_table import read_table
from rules.bundle_format.events import event_from_json, event_to_json
from rules.bundle_format.files import Refused
from rules.bundle_format.records import (
    BATCH_COLUMNS,
    REQUESTS_FILE,
    RESULT_FORMAT,
    Evidence,
    Json,
)
from rules.bundle_format.table import BATCHES, SAMPLES, Table
from rules.declarations import RunDeclaration, SystemDeclaration
from rules.metrics.energy import MetricsError
from rules.metrics.figures_json import figures_to_json
from rules.metrics.parts import split_into_parts
from rules.metrics.run import compute_figures
from rules.protocol import CURRENT

DATE = "%Y-%m-%dT%H:%M:%SZ"


@dataclass
class Measurements:
    """The data that the harness collects on one node during a run."""

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
    """The data of this node for the bundle, as JSON that can be sent to the head."""

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
        # Workers print what they like. Bytes that are not UTF-8 must not lose a complete run.
        "log": (directory / LOG_FILE).read_text(errors="replace"),
        "clocks": [{"node": plan.node_name, **pair} for pair in measurements.clocks],
        "started_at": measurements.started_at.strftime(DATE),
        "ended_at": measurements.ended_at.strftime(DATE),
        # The result states those of the head only.
        "batches_per_epoch": measurements.batches_per_epoch,
        "losses": list(measurements.losses.values()),
        "tally": measurements.tally,
    }


def gather(plan: Plan, shares: Sequence[Json], environment: Mapping[str, str]) -> Evidence:
    """The evidence of a finished run from the shares of its nodes, the head's first. `environment`
    is that of its workers.

    Raises rules.metrics.energy.MetricsError where figures cannot be computed from it.
    """
    samples = read_texts(SAMPLES, (share["samples"] for share in shares))
    batches = sort_batches(
        read_texts(BATCHES, (text for share in shares for text in share["batches"]))
    )
    requests = None
    if plan.requests:
        requests = read_texts(
            REQUESTS_FILE, (text for share in shares for text in share["requests"])
        )
    result = _result(plan, shares)
    system = describe_system(plan.system, [s["node"] for s in shares])
    parts = split_into_parts(result, samples, batches)
    computed = compute_figures(
        RunDeclaration.from_document(result),
        SystemDeclaration.from_document(system),
        parts,
        requests,
    )
    figures = figures_to_json(computed)
    for epoch, losses in zip(figures["epochs"], shares[0]["losses"], strict=False):
        epoch.update(loss=losses[-1] if losses else None, losses=losses)
    result.update(figures)
    log = "".join(
        s["log"] if len(shares) == 1 else f"== {s['node']['name']} ==\n{s['log']}" for s in shares
    )
    software = describe_environment(plan.driver, plan.source_sha256, environment)
    events = tuple(event_from_json(event) for share in shares for event in share["events"])
    return Evidence(result, system, software, samples, batches, log, requests, events)


def read_texts(name: str, texts: Iterable[str]) -> Table:
    """Read the table `name` of a bundle from the texts that samplers or workers have written, each
    with a header, one below the other. Raises rules.metrics.energy.MetricsError."""
    written = [text for text in texts if text]
    if not written:
        raise MetricsError(f"nothing has written {name}; did the implementation run any batch?")
    header = written[0].partition("\n")[0] + "\n"
    rows = "".join(text.removeprefix(header) for text in written)
    try:
        return read_table(name, (header + rows).encode())
    except Refused as refused:
        violation = refused.problems[0].violation
        raise MetricsError(
            f"{name}, {violation.pointer}: found {violation.found}, expected {violation.expected}"
        ) from None


def sort_batches(batches: Table) -> Table:
    """Return the batches ordered by epoch, rank and batch."""
    # `lexsort` sorts by its last key first.
    order = np.lexsort([batches.ints(name) for name in ("batch", "rank", "epoch")])
    return Table.of({name: batches.ints(name)[order] for name in BATCH_COLUMNS})


def _result(plan: Plan, shares: Sequence[Json]) -> Json:
    """Return result.json without the figures. Raises rules.metrics.energy.MetricsError if the ranks
    were built differently."""
    head = shares[0]
    ranks = [(share["node"]["name"], built) for share in shares for built in share["built"]]
    # Ranks report in the order in which they were built.
    ranks.sort(key=lambda node_and_built: node_and_built[1]["rank"])
    built = ranks[0][1]
    for fact in (
        "precision",
        "parameters",
        "input_shape",
        "settings",
        "corpus_sha256",
        "weights_sha256",
    ):
        # result.json has one value for the whole run, so all ranks must agree on it.
        if different := [b["rank"] for _, b in ranks if b[fact] != built[fact]]:
            raise MetricsError(f"rank {different[0]} was built with another {fact} than rank 0")
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
        "settings": _settings(
            plan,
            built,
            accelerators=sum(len(b["accelerators"]) for _, b in ranks),
            batches_per_epoch=head["batches_per_epoch"],
        ),
        "ranks": [
            {"rank": b["rank"], "node": node, "accelerators": b["accelerators"]}
            for node, b in ranks
        ],
        "power": _power(plan, shares),
        "sampling": {"meter": plan.meter, "interval_ms": CURRENT.sample_interval_ms, **sampling},
        "readbacks": [readback for share in shares for readback in share["readbacks"]],
        "clocks": [pair for share in shares for pair in share["clocks"]],
    }
    if plan.sweep is not None:
        result["sweep"] = plan.sweep
    return result if head["tally"] is None else {**result, "tally": head["tally"]}


def _settings(plan: Plan, built: Json, accelerators: int, batches_per_epoch: int) -> Json:
    """Return `settings` of result.json; `built` is what rank 0 has built."""
    return {
        "accelerators": accelerators,
        "nodes": plan.nodes,
        "batch_size": plan.batch_size,
        "batches_per_epoch": batches_per_epoch,
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
    }


def dates(shares: Sequence[Json]) -> Json:
    """The earliest start and the latest end over all nodes. All samples lie between them."""
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
    # A node that found the planned cap in force has no `found_mw`. Its former limit is that cap.
    in_force_mw = round(1e3 * plan.cap_w)
    found_mw: Json = {}
    for share in shares:
        found_mw |= share["found_mw"] or {
            a["uuid"]: in_force_mw for a in share["node"]["accelerators"]
        }
    return {"mode": "set", "cap_w": plan.cap_w, **states, "found_mw": found_mw}
