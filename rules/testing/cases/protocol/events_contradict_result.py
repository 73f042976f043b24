"""Mutations that the rule `events-contradict-result` must find."""

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
from rules.checks.protocol.events_contradict_result import RULE
from rules.testing.case import mutation
from rules.testing.frames import EvidenceFrames


def record_events(evidence: EvidenceFrames) -> None:
    """Give the evidence the events that the harness would have recorded of it."""
    result, batches = evidence.result, evidence.batches
    settings, attempt = result["settings"], result["attempt"]
    events: list[Event] = []
    for node in dict.fromkeys(rank["node"] for rank in result["ranks"]):
        ranks = [rank for rank in result["ranks"] if rank["node"] == node]
        on_node = {uuid for rank in ranks for uuid in rank["accelerators"]}
        place: dict[str, Any] = {"node": node, "attempt": attempt, "time_ns": 0}
        events.append(
            RunStarted(
                **place,
                workload=result["workload"],
                variant=result["implementation"]["variant"],
                size=result["size"],
                standing=result["standing"],
                meter=result["sampling"]["meter"],
                nodes=settings["nodes"],
                accelerators=len(on_node),
                cap_w=result["power"]["cap_w"],
                batch_size=settings["batch_size"],
                epochs=int(batches["epoch"].max()) + 1,
                epoch_target_s=settings["epoch_target_s"],
            )
        )
        events += [BatchTrial(**place, **trial) for trial in settings["batch_search"] or ()]
        events += [
            RankBuilt(
                **place,
                rank=rank["rank"],
                accelerators=tuple(rank["accelerators"]),
                precision=result["implementation"]["precision"],
                seconds=9.0,
            )
            for rank in ranks
        ]
        events.append(
            Calibrated(
                **place,
                batch_size=settings["batch_size"],
                batches_per_epoch=settings["batches_per_epoch"],
                batch_s=0.14,
            )
        )
        events += [
            LimitsReadBack(
                **place,
                when=readback["when"],
                accelerator=readback["accelerator"],
                requested_mw=readback["requested_mw"],
                enforced_mw=readback["enforced_mw"],
            )
            for readback in result["readbacks"]
            if readback["accelerator"] in on_node
        ]
        on_ranks = batches[batches["rank"].isin([rank["rank"] for rank in ranks])]
        events += [
            EpochEnded(
                **place,
                epoch=int(windows["epoch"].iloc[0]),
                items=int(windows["items"].sum()),
                start_ns=int(windows["start_ns"].min()),
                end_ns=int(windows["end_ns"].max()),
            )
            for _, windows in on_ranks.groupby("epoch")
        ]
        events.append(AttemptEnded(**place, outcome="finished", signal=None, error=None))
    evidence.events = tuple(events)


def alter(evidence: EvidenceFrames, kind: type[Event], number: int, **changes: Any) -> None:
    """Change fields of the event with this number among those of its kind."""
    assert evidence.events is not None
    chosen = [event for event in evidence.events if isinstance(event, kind)][number]
    evidence.events = tuple(
        replace(event, **changes) if event is chosen else event for event in evidence.events
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
    alter(evidence, RunStarted, 0, cap_w=300.0)


@mutation(RULE, rederive=False)
def events_of_another_workload(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    alter(evidence, RunStarted, 0, workload="vitl16-train")


@mutation(RULE, rederive=False)
def epoch_of_a_faster_run(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    epoch = [e for e in evidence.events or () if isinstance(e, EpochEnded)][7]
    alter(evidence, EpochEnded, 7, end_ns=epoch.end_ns - 1_000_000_000)


@mutation(RULE, rederive=False)
def epoch_with_more_items(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    epoch = [e for e in evidence.events or () if isinstance(e, EpochEnded)][3]
    alter(evidence, EpochEnded, 3, items=epoch.items + 1)


@mutation(RULE, rederive=False)
def event_of_an_epoch_removed(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    evidence.events = tuple(
        e for e in evidence.events or () if not (isinstance(e, EpochEnded) and e.epoch == 5)
    )


@mutation(RULE, rederive=False)
def limit_read_back_at_another_value(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    alter(evidence, LimitsReadBack, 3, enforced_mw=300_000)


@mutation(RULE, rederive=False)
def rank_built_in_another_precision(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    alter(evidence, RankBuilt, 0, precision="fp8")


@mutation(RULE, rederive=False)
def calibrated_at_another_batch_size(evidence: EvidenceFrames) -> None:
    record_events(evidence)
    alter(evidence, Calibrated, 0, batch_size=1)


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
