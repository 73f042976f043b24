"""Events that contradict the result

## What it does
Compares the events of the last attempt in events.jsonl.gz with result.json and batches.csv.gz:

- the start of the run on each node: workload, variant, size, standing, meter, cap, epoch length and
  the number of nodes and accelerators;
- for each rank, its accelerators and its precision;
- batch size and batches per epoch of the calibration, and the trials of `--batch auto`;
- the power limits of every read-back;
- items, start and end of every epoch on each node.

An event that is missing is reported like one that differs. A bundle without events.jsonl.gz is not
judged: rule books before 1.4.0 had no such file. The log is text for people and is not read.

## Why it is bad
One process writes events and result. Where they differ, one of them was edited or belongs to
another run: a tuned run submitted as a baseline, a lower cap, epochs taken from a faster run.

## What to do
Submit events and result of one run, as the harness wrote them, or run again.

## Source
Bundle format, events.jsonl.gz; `harness/run/session.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from rules.bundle import Bundle
from rules.bundle_format.events import (
    BatchTrial,
    Calibrated,
    EpochEnded,
    Event,
    LimitsReadBack,
    RankBuilt,
    RunStarted,
)
from rules.bundle_format.records import EVENTS_FILE
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P122", Severity.WARNING, added="1.3.0")

Kind = TypeVar("Kind", bound=Event)


@dataclass(frozen=True)
class EventList:
    """Events with the numbers of their lines in events.jsonl.gz, from 1."""

    lines: Sequence[tuple[int, Event]]

    def of(self, kind: type[Kind]) -> Iterator[tuple[int, Kind]]:
        """Yield line and event of all events of one kind."""
        return ((line, event) for line, event in self.lines if isinstance(event, kind))


@dataclass(frozen=True)
class MeasuredEpoch:
    """What batches.csv.gz gives for an epoch of one node."""

    items: int
    start_ns: int
    end_ns: int


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.events is None:
        return
    numbered = list(enumerate(bundle.events, 1))
    # Earlier attempts ended without a result, so only the last one can be compared with it.
    attempt = bundle.declaration.attempt
    last_attempt = EventList(
        [(line, event) for line, event in numbered if event.attempt == attempt]
    )
    yield from _check_starts(bundle, last_attempt)
    yield from _check_ranks(bundle, last_attempt)
    yield from _check_calibration(bundle, last_attempt)
    # A resumed run keeps the batch size that an earlier attempt has found.
    yield from _check_batch_search(bundle, EventList(numbered))
    yield from _check_limits(bundle, last_attempt)
    yield from _check_epochs(bundle, last_attempt)


def _node_names(bundle: Bundle) -> list[str]:
    return list(dict.fromkeys(rank.node for rank in bundle.ranks))


def _check_starts(bundle: Bundle, events: EventList) -> Iterator[Violation]:
    run, settings = bundle.declaration, bundle.settings
    started = {event.node: (line, event) for line, event in events.of(RunStarted)}
    yield from _check_nodes(RunStarted, _node_names(bundle), started)
    for node, (line, event) in started.items():
        ranks = [rank for rank in run.ranks if rank.node == node]
        stated: dict[str, object] = {
            "workload": run.workload,
            "variant": run.implementation.variant,
            "size": run.size,
            "standing": run.standing,
            "meter": run.sampling.meter,
            "cap_w": run.power.cap_w,
            "epoch_target_s": settings.epoch_target_s,
            "nodes": settings.nodes,
            "accelerators": sum(len(rank.accelerators) for rank in ranks),
        }
        yield from _differences(line, event, stated)


def _check_ranks(bundle: Bundle, events: EventList) -> Iterator[Violation]:
    built = {event.rank: (line, event) for line, event in events.of(RankBuilt)}
    for rank in bundle.ranks:
        if rank.rank not in built:
            yield _violation("", f"no {RankBuilt.kind} event of rank {rank.rank}", "one per rank")
            continue
        stated: dict[str, object] = {
            "node": rank.node,
            "accelerators": tuple(rank.accelerators),
            "precision": bundle.precision,
        }
        yield from _differences(*built[rank.rank], stated)


def _check_calibration(bundle: Bundle, events: EventList) -> Iterator[Violation]:
    settings = bundle.settings
    calibrated = {event.node: (line, event) for line, event in events.of(Calibrated)}
    yield from _check_nodes(Calibrated, _node_names(bundle), calibrated)
    stated = {
        "batch_size": settings.batch_size,
        "batches_per_epoch": settings.batches_per_epoch,
    }
    for line, event in calibrated.values():
        yield from _differences(line, event, stated)


def _check_batch_search(bundle: Bundle, events: EventList) -> Iterator[Violation]:
    stated = bundle.settings.batch_search or []
    trials = list(events.of(BatchTrial))
    # A trial series that was interrupted is repeated from its beginning: the last one counts.
    counted = trials[len(trials) - len(stated) :] if stated else trials
    if len(counted) != len(stated):
        found = f"{len(counted)} {BatchTrial.kind} events"
        yield _violation("", found, f"{len(stated)}, as settings.batch_search has in result.json")
        return
    for (line, event), trial in zip(counted, stated, strict=True):
        yield from _differences(line, event, trial)


def _check_limits(bundle: Bundle, events: EventList) -> Iterator[Violation]:
    stated = {(r.when, r.accelerator): r for r in bundle.readbacks}
    recorded = {(e.when, e.accelerator): (line, e) for line, e in events.of(LimitsReadBack)}
    for when, accelerator in stated.keys() ^ recorded.keys():
        place = "result.json" if (when, accelerator) in stated else EVENTS_FILE
        found = f"a read-back {when} of {accelerator} in {place} alone"
        yield _violation("", found, "the same read-backs in both")
    for key, (line, event) in recorded.items():
        if key in stated:
            limits = {
                "requested_mw": stated[key].requested_mw,
                "enforced_mw": stated[key].enforced_mw,
            }
            yield from _differences(line, event, limits)


def _check_epochs(bundle: Bundle, events: EventList) -> Iterator[Violation]:
    node_of_rank = {rank.rank: rank.node for rank in bundle.ranks}
    items = bundle.batches.ints("items")
    measured: dict[tuple[str, int], MeasuredEpoch] = {}
    for (epoch, rank), (start_ns, end_ns) in bundle.spans.items():
        if rank not in node_of_rank:  # P109 reports it
            continue
        # A node records the end of an epoch for all its ranks together.
        rank_items = int(items[bundle.batches_of[epoch, rank]].sum())
        key = node_of_rank[rank], epoch
        others = measured.get(key, MeasuredEpoch(0, start_ns, end_ns))
        measured[key] = MeasuredEpoch(
            items=others.items + rank_items,
            start_ns=min(others.start_ns, start_ns),
            end_ns=max(others.end_ns, end_ns),
        )
    ended = {(e.node, e.epoch): (line, e) for line, e in events.of(EpochEnded)}
    for node, epoch in sorted(measured.keys() ^ ended.keys()):
        place = "batches.csv.gz" if (node, epoch) in measured else EVENTS_FILE
        yield _violation("", f"epoch {epoch} of {node} in {place} alone", "the same epochs in both")
    for key, (line, event) in ended.items():
        stated = asdict(measured[key]) if key in measured else {}
        yield from _differences(line, event, stated, "batches.csv.gz")


def _check_nodes(
    kind: type[Event], nodes: Sequence[str], recorded: dict[str, Any]
) -> Iterator[Violation]:
    for node in nodes:
        if node not in recorded:
            yield _violation("", f"no {kind.kind} event of {node}", "one per node")
    for node, (line, _) in recorded.items():
        if node not in nodes:
            yield _violation(f"line {line}", f"node {node}", f"one of {', '.join(nodes)}")


def _differences(
    line: int, event: Event, stated: dict[str, Any], file: str = "result.json"
) -> Iterator[Violation]:
    """Yield a violation for each field of the event that differs from what `file` states."""
    for name, value in stated.items():
        recorded = getattr(event, name)
        if recorded != value:
            yield _violation(
                f"line {line}", f"{event.kind}: {name} {recorded}"[:200], f"{value}, as in {file}"
            )


def _violation(pointer: str, found: str, expected: str) -> Violation:
    return Violation(EVENTS_FILE, pointer, found, expected)
