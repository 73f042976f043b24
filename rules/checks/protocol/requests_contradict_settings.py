"""The requests differ from the declared request set

## What it does
Compares every request of a serving run with the request set in `settings.requests`:

- prompt tokens and output tokens equal the declared ones, or those that follow from the seed where
  lengths are uniform;
- the number of requests in flight never exceeds the declared concurrency;
- in a closed loop, the mean number of requests in flight over the scored epochs is at least 90 % of
  the concurrency;
- at an arrival rate, the number of answers per second equals the declared rate within four standard
  deviations;
- the first token arrives after sending and not after the end, and no request is listed twice.

## Why it is bad
Short prompts and short answers cost less. Fewer requests in flight lower the latency, and more
requests raise the throughput.

## What to do
Declare the request set that was sent, or run again with the declared one.

## Source
Protocol, section "serving".
"""

from collections.abc import Iterator

import numpy as np

from rules.bundle import Bundle
from rules.bundle_format.records import REQUESTS_FILE
from rules.bundle_format.table import Ints, Table, format_rows
from rules.contract import RequestSet
from rules.finding import Severity, Violation
from rules.protocol import Protocol
from rules.request_lengths import compute_output_tokens, compute_prompt_tokens
from rules.rule import BundleRule

RULE = BundleRule(__name__, "P116", Severity.ERROR, added="1.1.0")

LEAST_SHARE_IN_FLIGHT = 0.9
"""Lowest mean number of requests in flight in a closed loop, as a share of the concurrency."""
MAX_SIGMA = 4.0
"""Largest deviation from the arrival rate, in standard deviations of a Poisson process."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    requests, declared = bundle.requests, bundle.request_set
    if requests is None or declared is None:
        return
    # Every rank has a seed of its own.
    ranks = requests.ints("rank")
    for name, longest, compute_lengths in (
        ("prompt_tokens", declared.prompt_tokens, compute_prompt_tokens),
        ("output_tokens", declared.output_tokens, compute_output_tokens),
    ):
        expected = np.full(len(requests), longest)
        for rank in np.unique(ranks):
            selected = ranks == rank
            numbers = requests.ints("request")[selected]
            expected[selected] = compute_lengths(
                declared, bundle.settings.seed + int(rank), numbers
            )
        differs = requests.ints(name) != expected
        if differs.any():
            yield Violation(
                REQUESTS_FILE,
                format_rows(requests, differs),
                f"{differs.sum()} requests with other {name}",
                f"1 to {longest} {name}, by the seed" if declared.uniform else f"{longest} {name}",
            )
    sent_ns, first_ns, end_ns = (requests.ints(name) for name in ("sent_ns", "first_ns", "end_ns"))
    # With a single output token, the first token is also the end of the answer.
    disordered = (first_ns <= sent_ns) | (end_ns < first_ns)
    if disordered.any():
        yield Violation(
            REQUESTS_FILE,
            format_rows(requests, disordered),
            f"{disordered.sum()} requests whose times are out of order",
            "sent_ns < first_ns <= end_ns",
        )
    for rank in np.unique(requests.ints("rank")):
        selected = requests.ints("rank") == rank
        numbers = requests.ints("request")[selected]
        if len(np.unique(numbers)) < len(numbers):
            yield Violation(
                REQUESTS_FILE, "", f"requests of rank {rank} listed twice", "every request once"
            )
        # Each rank is one server, and the concurrency is declared per server.
        in_flight = _count_in_flight(sent_ns[selected], end_ns[selected])
        if in_flight > declared.concurrency:
            yield Violation(
                REQUESTS_FILE,
                "",
                f"{in_flight} requests of rank {rank} in flight at once",
                f"at most {declared.concurrency}",
            )
    yield from _check_load(bundle.protocol, requests, declared)


def _check_load(protocol: Protocol, requests: Table, declared: RequestSet) -> Iterator[Violation]:
    """Whether the declared load was present over the time of the scored epochs."""
    is_scored = requests.ints("epoch") >= protocol.discarded_epochs
    scored, discarded = requests.at(is_scored), requests.at(~is_scored)
    if not len(scored) or not len(discarded):  # other rules report it
        return
    # One server on one node: the scored epochs begin where the discarded epoch ended, with or
    # without work.
    begin_ns = int(discarded.ints("end_ns").max())
    span_s = max(int(scored.ints("end_ns").max()) - begin_ns, 1) / 1e9
    if declared.rate_per_s is None:
        latencies_s = (scored.ints("end_ns") - scored.ints("sent_ns")) / 1e9
        # Little's law: the mean number in flight is the arrival rate times the mean latency.
        in_flight = latencies_s.sum() / span_s
        if in_flight < LEAST_SHARE_IN_FLIGHT * declared.concurrency:
            yield Violation(
                REQUESTS_FILE,
                "",
                f"{in_flight:.1f} requests in flight on average",
                f"about {declared.concurrency}, in a closed loop",
            )
        return
    # The count of a Poisson process has the variance of its mean.
    expected_count = declared.rate_per_s * span_s
    if abs(len(scored) - expected_count) > MAX_SIGMA * expected_count**0.5:
        yield Violation(
            REQUESTS_FILE,
            "",
            f"{len(scored) / span_s:.3g} answers per second",
            f"{declared.rate_per_s:g} per second, the declared arrival rate",
        )


def _count_in_flight(sent_ns: Ints, end_ns: Ints) -> int:
    """The largest number of requests in flight; times of shape (n,)."""
    # An answer and the next request may have the same time: the end comes first.
    changes = np.repeat([1, -1], [len(sent_ns), len(end_ns)])
    order = np.lexsort((changes, np.concatenate((sent_ns, end_ns))))
    return int(np.cumsum(changes[order]).max(initial=0))
