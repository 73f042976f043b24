"""Requests that are not those that were declared

## What it does
Compares every request of a serving run with the request set in `settings.requests`: tokens of the
prompt, tokens of the answer, and never more requests in flight than the declared concurrency. In a
closed loop as many must be in flight on average over the scored epochs, with a tenth of grace; at a
rate, as many must be answered per second as are declared to arrive, within four standard deviations
of chance. It also asks that the first token comes after sending and not after the end, and that no
request is listed twice.

## Why it is bad
Short prompts and short answers are cheap. Fewer requests in flight answer sooner, more give more
throughput.

## What to do
Run again with the request set that you mean to declare.

## Source
Protocol, section "serving".
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.records import REQUESTS_FILE, Json
from rules.bundle_format.table import rows
from rules.finding import Severity, Violation
from rules.rule import BundleRule

if TYPE_CHECKING:
    pass


RULE = BundleRule(__name__, "P116", Severity.ERROR, added="1.1.0")

LEAST_SHARE_IN_FLIGHT = 0.9
CHANCE_SIGMA = 4.0


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    requests, declared = bundle.requests, bundle.result["settings"].get("requests")
    if requests is None or declared is None:
        return
    for name in ("prompt_tokens", "output_tokens"):
        odd = requests.ints(name) != declared[name]
        if odd.any():
            yield _found(
                rows(requests, odd),
                f"{odd.sum()} requests of other {name}",
                f"{declared[name]} {name}",
            )
    sent_ns, first_ns, end_ns = (requests.ints(name) for name in ("sent_ns", "first_ns", "end_ns"))
    odd = (first_ns <= sent_ns) | (end_ns < first_ns)
    if odd.any():
        yield _found(
            rows(requests, odd),
            f"{odd.sum()} requests out of order",
            "sent_ns < first_ns <= end_ns",
        )
    for rank in np.unique(requests.ints("rank")):
        own = requests.ints("rank") == rank
        numbers = requests.ints("request")[own]
        if len(np.unique(numbers)) < len(numbers):
            yield _found("", f"requests of rank {rank} listed twice", "every request once")
        most = _most_in_flight(sent_ns[own], end_ns[own])
        if most > declared["concurrency"]:
            yield _found(
                "",
                f"{most} requests of rank {rank} in flight at once",
                f"at most {declared['concurrency']}",
            )
    yield from _load(bundle, declared)


def _load(bundle: Bundle, declared: Json) -> Iterator[Violation]:
    """Whether the load was there, over the time of the scored epochs."""
    if bundle.requests is None:
        return
    is_scored = bundle.requests.ints("epoch") >= bundle.protocol.discarded_epochs
    scored, before = bundle.requests.at(is_scored), bundle.requests.at(~is_scored)
    if not len(scored) or not len(before):  # other rules say so
        return
    # One server, on one node: the scored epochs begin where the discarded one ended, with or
    # without work.
    span_s = max(int(scored.ints("end_ns").max()) - int(before.ints("end_ns").max()), 1) / 1e9
    if declared["rate_per_s"] is None:
        latencies_s = (scored.ints("end_ns") - scored.ints("sent_ns")) / 1e9
        in_flight = latencies_s.sum() / span_s
        if in_flight < LEAST_SHARE_IN_FLIGHT * declared["concurrency"]:
            yield _found(
                "",
                f"{in_flight:.1f} requests in flight on average",
                f"about {declared['concurrency']}, in a closed loop",
            )
        return
    expected = declared["rate_per_s"] * span_s
    if abs(len(scored) - expected) > CHANCE_SIGMA * expected**0.5:
        found = f"{len(scored) / span_s:.3g} requests answered per second"
        yield _found("", found, f"{declared['rate_per_s']:g} per second, as many as arrive")


def _most_in_flight(sent_ns: np.ndarray, end_ns: np.ndarray) -> int:
    # An answer and the request that follows it may have the same time: ends go first.
    changes = np.repeat([1, -1], [len(sent_ns), len(end_ns)])
    order = np.lexsort((changes, np.concatenate((sent_ns, end_ns))))
    return int(np.cumsum(changes[order]).max(initial=0))


def _found(pointer: str, found: str, expected: str) -> Violation:
    message = (
        "The server was not sent what settings.requests declares. Declare what was sent, or "
        "run again."
    )
    return Violation(REQUESTS_FILE, pointer, found, expected, message)
