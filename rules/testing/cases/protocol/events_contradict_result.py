"""Mutations that the rule `events-contradict-result` must find."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rules.bundle_format.events import (
    AttemptEnded,
    BatchTrial,
    Calibrated,
    EpochEnded,
    Event,
    LimitsReadBack,
    RankBuilt,
    RunStarted,
)
from rules.bundle_format.records import Json
from rules.checks.protocol.events_contradict_result import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


def record_events(evidence: EvidenceFrames) -> None:
    """Give the evidence the events that the harness would have recorded of it."""
    nodes = dict.fromkeys(rank["node"] for rank in evidence.result["ranks"])
    evidence.events = tuple(event for node in nodes for event in list_node_events(evidence, node))


def list_node_events(evidence: EvidenceFrames, node: str) -> Iterator[Event]:
    """The events of one node, in the order in which the harness records them."""
    result, settings = evidence.result, evidence.result["settings"]
    ranks = [rank for rank in result["ranks"] if rank["node"] == node]
    origin = {"node": node, "attempt": result["attempt"], "time_ns": 0}
    yield RunStarted(
        **origin,
        workload=result["workload"],
        variant=result["implementation"]["variant"],
        size=result["size"],
        standing=result["standing"],
        meter=result["sampling"]["meter"],
        nodes=settings["nodes"],
        accelerators=len({uuid for rank in ranks for uuid in rank["accelerators"]}),
        cap_w=result["power"]["cap_w"],
        batch_size=settings["batch_size"],
        epochs=int(evidence.batches["epoch"].max()) + 1,
        epoch_target_s=settings["epoch_target_s"],
    )
    for trial in settings["batch_search"] or ():
        yield BatchTrial(**origin, **trial)
    for rank in ranks:
        yield RankBuilt(
            **origin,
            rank=rank["rank"],
            accelerators=tuple(rank["accelerators"]),
            precision=result["implementation"]["precision"],
            seconds=9.0,
        )
    yield Calibrated(
        **origin,
        batch_size=settings["batch_size"],
        batches_per_epoch=settings["batches_per_epoch"],
        batch_s=0.14,
    )
    yield from list_measurement_events(evidence, ranks, origin)
    yield AttemptEnded(**origin, outcome="finished", signal=None, error=None)


def list_measurement_events(
    evidence: EvidenceFrames, ranks: Sequence[Json], origin: Mapping[str, Any]
) -> Iterator[Event]:
    """The read-backs and the epoch ends of the ranks of one node. `origin` holds the fields that
    all events of the node share."""
    uuids = {uuid for rank in ranks for uuid in rank["accelerators"]}
    for readback in evidence.result["readbacks"]:
        if readback["accelerator"] in uuids:
            yield LimitsReadBack(
                **origin,
                when=readback["when"],
                accelerator=readback["accelerator"],
                requested_mw=readback["requested_mw"],
                enforced_mw=readback["enforced_mw"],
            )
    batches = evidence.batches
    node_batches = batches[batches["rank"].isin([rank["rank"] for rank in ranks])]
    for _, windows in node_batches.groupby("epoch"):
        yield EpochEnded(
            **origin,
            epoch=int(windows["epoch"].iloc[0]),
            items=int(windows["items"].sum()),
            start_ns=int(windows["start_ns"].min()),
            end_ns=int(windows["end_ns"].max()),
        )


def alter_event(
    evidence: EvidenceFrames, event_type: type[Event], number: int, **changes: Any
) -> None:
    """Change fields of the event with this number among those of its kind."""
    assert evidence.events is not None
    target = [event for event in evidence.events if isinstance(event, event_type)][number]
    evidence.events = tuple(
        replace(event, **changes) if event is target else event for event in evidence.events
    )


@mutation(RULE, "T107", rederive=False)
def events_of_another_variant(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    implementation = evidence.result["implementation"]
    implementation["variant"] = next(
        v for v in ("baseline", "tuned") if v != implementation["variant"]
    )


@mutation(RULE, rederive=False)
def events_of_a_run_at_another_cap(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    alter_event(evidence, RunStarted, 0, cap_w=300.0)


@mutation(RULE, rederive=False)
def events_of_another_workload(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    alter_event(evidence, RunStarted, 0, workload="vitl16-train")


@mutation(RULE, rederive=False)
def epoch_of_a_faster_run(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    epoch = [e for e in evidence.events or () if isinstance(e, EpochEnded)][7]
    alter_event(evidence, EpochEnded, 7, end_ns=epoch.end_ns - 1_000_000_000)


@mutation(RULE, rederive=False)
def epoch_with_more_items(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    epoch = [e for e in evidence.events or () if isinstance(e, EpochEnded)][3]
    alter_event(evidence, EpochEnded, 3, items=epoch.items + 1)


@mutation(RULE, rederive=False)
def event_of_an_epoch_removed(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    evidence.events = tuple(
        e for e in evidence.events or () if not (isinstance(e, EpochEnded) and e.epoch == 5)
    )


@mutation(RULE, rederive=False)
def limit_read_back_at_another_value(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    alter_event(evidence, LimitsReadBack, 3, enforced_mw=300_000)


@mutation(RULE, rederive=False)
def rank_built_in_another_precision(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    alter_event(evidence, RankBuilt, 0, precision="fp8")


@mutation(RULE, rederive=False)
def calibrated_at_another_batch_size(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    alter_event(evidence, Calibrated, 0, batch_size=1)


@mutation(RULE, rederive=False)
def batch_trial_that_the_result_omits(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    events = evidence.events or ()
    trial = BatchTrial(
        node=events[0].node,
        attempt=events[0].attempt,
        time_ns=0,
        batch_size=2,
        outcome="out-of-memory",
        items_per_s=None,
        peak_memory_bytes=None,
    )
    evidence.events = (*events, trial)
