"""The token rate exceeds the memory bandwidth

## What it does
Compares the output tokens per second of a serving run, over the scored epochs, with the rate that
the memory bandwidth of its boards allows.

Every token of an answer except the first comes from a decoding step. A step gives each request in
flight at most one token and reads, on every copy of the model, all parameters that are applied to
every token. For each request it also reads the keys and values of all earlier tokens. With N boards
of bandwidth B, C requests in flight, R copies of the model (`dp_size` of the server's settings; 1
if it is not stated, which gives the highest bound), prompts of P and answers of O tokens, an output
token takes at least

    bytes = (O - 1) / O x W x R / C  +  k x ((O - 1) P + (O - 1)(O - 2) / 2) / O

where W are the bytes of the parameters that are read and k those of the keys and values of a token,
at the precision of the run. The rate in tokens per second is at most N x B / bytes. The rule
subtracts data that fits on the chip: half a gigabyte per board and step, more than any board has.
It ignores prefill, activations and writes, which also use the memory. The result is therefore an
upper bound, and a measured run reaches about a third of it.

The bound does not hold if several tokens come from one step (speculative decoding) or if requests
share keys and values (a prefix cache). The closed division has neither: its prompts share nothing,
and its server does not use speculative decoding.

## Why it is bad
A board cannot read faster than its memory. Tokens, windows, concurrency or the model differ from
the bundle, or the server used an optimisation that the closed division does not allow.

## What to do
Disable speculative decoding and prefix caches. Check that every answer was generated, and that the
declared concurrency is correct.

## Source
Bandwidths in `rules/boards.py`, from the vendors' data sheets; sizes in `rules/workloads/`.
Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009, on the bound.
"""

import math
from collections.abc import Iterator, Sequence

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.contract import RequestSet
from rules.finding import Severity, Violation
from rules.metrics.parts import Part
from rules.rule import BundleRule
from rules.workloads import Size

RULE = BundleRule(__name__, "T111", Severity.ERROR, standings=("closed",), added="1.3.0")

BYTES_PER_VALUE = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
"""By precision."""
ON_CHIP_BYTES = 5e8
"""Per board, an upper bound of the on-chip memory."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    size, declared = bundle.size, bundle.request_set
    value_bytes = BYTES_PER_VALUE.get(bundle.precision)
    if (
        size is None
        or not size.read_parameters
        or declared is None
        or value_bytes is None
        or not bundle.scored_parts
    ):
        return
    boards = [
        accelerator.board
        for uuid, accelerator in bundle.accelerators.items()
        if uuid in bundle.accelerator_ranks
    ]
    known = [board.memory_tb_per_s for board in boards if board and board.memory_tb_per_s]
    # Without the bandwidth of every board there is no bound on the sum.
    if not boards or len(known) < len(boards):
        return
    bandwidth = math.fsum(tb_per_s * 1e12 for tb_per_s in known)
    copies = bundle.implementation.settings.get("dp_size")
    # Settings are free JSON. An implausible number must not lower the bound, so fall back to one
    # copy, which gives the highest rate.
    copies = min(copies, len(boards)) if isinstance(copies, int) and copies > 0 else 1
    on_chip_bytes = len(boards) * ON_CHIP_BYTES / declared.concurrency
    min_bytes = compute_bytes_per_token(size, declared, copies, value_bytes) - on_chip_bytes
    tokens_per_s = _compute_token_rate(bundle.scored_parts)
    # If a small model fits on the chip, the bound is negative and says nothing.
    if min_bytes > 0 and tokens_per_s > bandwidth / min_bytes:
        yield Violation(
            BATCHES,
            "",
            f"{tokens_per_s:.0f} output tokens per second, of {declared.concurrency} requests in "
            "flight",
            f"at most {bandwidth / min_bytes:.0f}: {bandwidth / 1e12:g} TB/s and "
            f"{min_bytes / 1e6:.0f} MB for each token",
        )


def _compute_token_rate(scored_parts: Sequence[Part]) -> float:
    """Output tokens per second over the scored epochs. Each epoch lasts as long as its slowest
    rank; a server is one rank."""
    ranks = {(part.epoch, part.rank): (part.items, part.active_s) for part in scored_parts}
    epoch_s: dict[int, float] = {}
    for (epoch, _), (_, active_s) in ranks.items():
        # Ranks serve in parallel, so their times do not add up.
        epoch_s[epoch] = max(active_s, epoch_s.get(epoch, active_s))
    return sum(items for items, _ in ranks.values()) / math.fsum(epoch_s.values())


def compute_bytes_per_token(
    size: Size, declared: RequestSet, copies: int, value_bytes: int
) -> float:
    """Bytes that must be read from memory for one output token, on all boards together, at
    `value_bytes` per parameter, key or value."""
    prompt_tokens, steps = declared.prompt_tokens, declared.output_tokens - 1
    # A step serves all requests in flight, so they share the reading of the parameters.
    parameters = steps * size.read_parameters * copies / declared.concurrency
    # Step n, counted from 0, reads the prompt and n generated tokens. The second term is their sum.
    cached_values = size.kv_values_per_token * (steps * prompt_tokens + steps * (steps - 1) / 2)
    return value_bytes * (parameters + cached_values) / declared.output_tokens
