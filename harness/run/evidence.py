"""Puts together what the nodes of a run share: tables, result, system, environment and log."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from harness.power.request_clock import place_clocks
from harness.run.export import parse_target
from harness.run.node_share import DATE, NodeShare
from harness.run.plan import Plan
from harness.run.run_directory import read_texts, sort_batches
from harness.run.settings import declare_settings
from harness.run.workers.worker_events import WorkloadBuilt
from harness.system import describe_environment, describe_system
from rules import VERSION
from rules.bundle_format.evidence import Evidence
from rules.bundle_format.records import NODE_SAMPLES_FILE, REQUESTS_FILE, RESULT_FORMAT, Json
from rules.bundle_format.table import BATCHES, SAMPLES
from rules.declarations.run import RunDeclaration
from rules.declarations.system import SystemDeclaration
from rules.json_record import to_json
from rules.metrics.energy import MetricsError
from rules.metrics.figures_json import figures_to_json, idle_to_json
from rules.metrics.idle import compute_idle_figures
from rules.metrics.node.figures import add_node_figures, compute_node_figures
from rules.metrics.parts import split_into_parts
from rules.metrics.run import compute_figures
from rules.protocol import CURRENT


def gather(plan: Plan, shares: Sequence[NodeShare], environment: Mapping[str, str]) -> Evidence:
    """Put together the evidence of a finished run from the shares of its nodes, the head's first.
    `environment` has the environment variables of the workers.

    Raises rules.metrics.energy.MetricsError if figures cannot be computed from it.
    """
    head = shares[0]
    samples = read_texts(SAMPLES, (share.samples for share in shares))
    batches = sort_batches(
        read_texts(BATCHES, (text for share in shares for text in share.batches))
    )
    requests = None
    if plan.configuration.requests:
        requests = read_texts(REQUESTS_FILE, (text for share in shares for text in share.requests))
    result = _make_result(plan, shares)
    system = describe_system(plan.system, [share.node for share in shares])
    node_samples = None
    if plan.node_meters:
        result["node_sampling"] = [to_json(s) for share in shares for s in share.node_sampling]
        # A reader that was killed early has written nothing.
        if texts := [text for share in shares for text in share.node_samples if text]:
            node_samples = read_texts(NODE_SAMPLES_FILE, texts)
            result["node_clocks"] = place_clocks(plan.node_meters, node_samples)
    parts = split_into_parts(result, samples, batches)
    run, declared = RunDeclaration.from_document(result), SystemDeclaration.from_document(system)
    run_figures = compute_figures(run, declared, parts, requests)
    figures = figures_to_json(run_figures)
    if node_samples is not None:
        # Without readings of a node, the figures of the accelerators are complete all the same.
        with suppress(MetricsError):
            inputs = run, declared, node_samples, batches, parts, run_figures
            add_node_figures(figures, compute_node_figures(*inputs))
    for epoch, losses in zip(figures["epochs"], head.losses, strict=False):
        epoch.update(loss=losses[-1] if losses else None, losses=losses)
    for epoch, *trainings in zip(figures["epochs"], *(s.trainings for s in shares), strict=False):
        if any(trainings):
            epoch["trainings"] = to_json([t for of_node in trainings for t in of_node])
    result.update(figures)
    events = tuple(event for share in shares for event in share.events)
    unused = {
        s.node.name: read_texts(SAMPLES, [s.unused_samples]) for s in shares if s.unused_samples
    }
    # A run whose idle phases were disturbed is complete without their figures.
    with suppress(MetricsError):
        energy_of_record = run_figures.energy_of_record
        idle = compute_idle_figures(run, events, parts, batches, energy_of_record, unused)
        result.update(idle_to_json(idle))
    # One log for the bundle: a heading separates the nodes.
    log = (
        head.log
        if len(shares) == 1
        else "".join(f"== {share.node.name} ==\n{share.log}" for share in shares)
    )
    software = describe_environment(plan.machine.driver, plan.source_sha256, environment)
    return Evidence(result, system, software, samples, batches, log, requests, events, node_samples)


def _make_result(plan: Plan, shares: Sequence[NodeShare]) -> Json:
    """Return result.json without the figures. Raises rules.metrics.energy.MetricsError if the ranks
    were built differently."""
    head = shares[0]
    ranks = [(share.node.name, built) for share in shares for built in share.built]
    # Ranks report in the order in which they were built.
    ranks.sort(key=lambda node_and_built: node_and_built[1].rank)
    _check_ranks_equal([rank for _, rank in ranks])
    built = ranks[0][1]
    declared = declare_settings(plan)
    result: Json = {
        **declared,
        "format": RESULT_FORMAT,
        "protocol": CURRENT.version,
        "rules_version": VERSION,
        "run_id": plan.run_id,
        "standing": plan.standing,
        **make_dates(shares),
        "attempt": plan.attempt,
        "implementation": {
            **declared["implementation"],
            "precision": built.precision,
            "parameters": built.parameters,
            "input_shape": list(built.input_shape),
            "settings": dict(built.settings),
        },
        "settings": {
            **declared["settings"],
            **_make_settings(plan, built),
            "accelerators": sum(len(rank.accelerators) for _, rank in ranks),
            "batches_per_epoch": head.batches_per_epoch,
        },
        "ranks": [_describe_rank(node, rank) for node, rank in ranks],
        "power": {**declared["power"], **_make_power(plan, shares)},
        "sampling": {
            **declared["sampling"],
            "interval_ms": CURRENT.sample_interval_ms,
            "ticks": sum(share.sampling.ticks for share in shares),
            "missed": sum(share.sampling.missed for share in shares),
        },
        "readbacks": [readback.to_entry() for share in shares for readback in share.readbacks],
        "clocks": [to_json(reading) for share in shares for reading in share.clocks],
    }
    if plan.machine.power_reading is not None:
        result["sampling"]["power_reading"] = plan.machine.power_reading
    if plan.sweep is not None:
        result["sweep"] = plan.sweep
    if plan.reproduces is not None:
        original = to_json(plan.reproduces)
        result["reproduces"] = {k: v for k, v in original.items() if k != "boards"}
    if plan.job is not None:
        result["slurm_job"] = to_json(plan.job)
    if head.tally is not None:
        result["tally"] = to_json(head.tally)
    return result


def _describe_rank(node: str, built: WorkloadBuilt) -> Json:
    rank: Json = {"rank": built.rank, "node": node, "accelerators": list(built.accelerators)}
    if built.inputs_sha256:
        rank["inputs_sha256"] = built.inputs_sha256
    return rank


def _check_ranks_equal(ranks: Sequence[WorkloadBuilt]) -> None:
    """Raise rules.metrics.energy.MetricsError if a rank was built differently from the first."""
    # result.json has one value of each for the whole run.
    build = ("precision", "parameters", "input_shape", "settings")
    for name in (*build, "corpus_sha256", "weights_sha256"):
        value = getattr(ranks[0], name)
        if deviating := [rank.rank for rank in ranks if getattr(rank, name) != value]:
            raise MetricsError(f"rank {deviating[0]} was built with another {name} than rank 0")


def _make_settings(plan: Plan, built: WorkloadBuilt) -> Json:
    """Return the part of `settings` of result.json that the plan does not decide alone; `built` is
    the event of rank 0."""
    return {
        "input": "synthetic" if built.corpus_sha256 is None else "real",
        "corpus_sha256": built.corpus_sha256,
        "weights": "seeded" if built.weights_sha256 is None else f"sha256:{built.weights_sha256}",
        "batch_search": to_json(plan.batch_search),
        **({"host_load": plan.configuration.host_load} if plan.configuration.host_load else {}),
        **({"export": parse_target(plan.export).kind} if plan.export else {}),
    }


def make_dates(shares: Sequence[NodeShare]) -> Json:
    """Return `started_at` and `ended_at` of result.json: the earliest start and the latest end over
    all nodes. All samples lie between them."""
    return {
        "started_at": min(share.started_at for share in shares).strftime(DATE),
        "ended_at": max(share.ended_at for share in shares).strftime(DATE),
    }


def _make_power(plan: Plan, shares: Sequence[NodeShare]) -> Json:
    """Return `power` of result.json without the declared settings.

    If a node set the cap for the run, the former limits of all accelerators are added. The former
    power states are added for accelerators whose state was not the declared one.
    """
    found_state = {uuid: state for share in shares for uuid, state in share.found_state.items()}
    states = {"found_state": found_state} if found_state else {}
    if all(share.found_mw is None for share in shares):
        return {"mode": "as-found", **states}
    assert plan.cap_w is not None
    # A node that found the planned cap in force has no `found_mw`. Its former limit is that cap.
    in_force_mw = round(1e3 * plan.cap_w)
    found_mw: dict[str, int] = {}
    for share in shares:
        found_mw |= share.found_mw or {
            device.uuid: in_force_mw for device in share.node.accelerators
        }
    return {"mode": "set", **states, "found_mw": found_mw}
