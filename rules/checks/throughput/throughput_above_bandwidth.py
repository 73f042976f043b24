"""More tokens per second than memory can be read for

## What it does
Compares the output tokens per second of a serving run, over the scored epochs, with what the memory
bandwidth of its boards allows.

Every token of an answer but the first comes from a step of decoding. A step gives each request in
flight one token at most, and reads, on every copy of the model, all parameters that are applied to
every token. For each request it also reads the keys and values of all tokens before. With N boards
of bandwidth B, C requests in flight, R copies of the model (`dp_size` of the server's settings; one
where it is not stated, which allows most), prompts of P and answers of O tokens, an output token
takes at least

    bytes = (O - 1) / O x W x R / C  +  k x ((O - 1) P + (O - 1)(O - 2) / 2) / O

of which W are the bytes of the parameters that are read and k those of the keys and values of a
token, at the precision of the run. Tokens per second are at most N x B / bytes. What fits on the
chips is taken off: half a gigabyte for each board and step, more than any of them has. Prefill,
activations and writes, which are read and written as well, are left out. So it is an upper bound,
and a measured run reaches about a third of it.

The bound does not hold where several tokens come from one step (speculative decoding) or requests
share keys and values (a prefix cache). The closed division has neither: prompts share nothing, and
its server does not guess.

## Why it is bad
A board cannot read faster than its memory. Tokens, windows, concurrency or the model are not what
the bundle says, or the server took a short cut that closed does not allow.

## What to do
Switch off speculative decoding and prefix caches. Check that every answer was generated, and the
concurrency that is declared.

## Source
Bandwidths in `rules/boards.py`, from the makers' data sheets; sizes in `rules/workloads/`.
Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009, on the bound.
"""

import math
from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.contract import RequestSet
from rules.finding import Severity, Violation
from rules.rule import BundleRule
from rules.workloads import Size, workloads

RULE = BundleRule(__name__, "T111", Severity.ERROR, standings=("closed",), added="1.3.0")

BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
ON_CHIP_BYTES = 5e8


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    result = bundle.result
    workload, asked = workloads().get(result["workload"]), result["settings"].get("requests")
    size: Size | None = getattr(workload, result["size"], None)
    width = BYTES.get(result["implementation"]["precision"])
    boards = [
        a.board for uuid, a in bundle.accelerators.items() if uuid in bundle.accelerator_ranks
    ]
    if (
        size is None
        or not size.read_parameters
        or asked is None
        or width is None
        or not bundle.scored_parts
    ):
        return
    bandwidth = math.fsum(b.memory_tb_per_s * 1e12 for b in boards if b)
    if not boards or None in boards:
        return
    copies = result["implementation"]["settings"].get("dp_size")
    copies = min(copies, len(boards)) if isinstance(copies, int) and copies > 0 else 1
    least = (
        bytes_per_token(size, RequestSet(**asked), copies, width)
        - len(boards) * ON_CHIP_BYTES / asked["concurrency"]
    )
    ranks = {(p.epoch, p.rank): (p.items, p.active_s) for p in bundle.scored_parts}
    epochs = {epoch for epoch, _ in ranks}
    # Every epoch lasts as long as its slowest rank; a server is one rank.
    seconds = math.fsum(
        max(s for (e, _), (_, s) in ranks.items() if e == epoch) for epoch in epochs
    )
    tokens_per_s = sum(items for items, _ in ranks.values()) / seconds
    if least > 0 and tokens_per_s > bandwidth / least:
        yield Violation(
            BATCHES,
            "",
            f"{tokens_per_s:.0f} output tokens per second, of {asked['concurrency']} "
            "requests in flight",
            f"at most {bandwidth / least:.0f}: {bandwidth / 1e12:g} TB/s and "
            f"{least / 1e6:.0f} MB for each token",
            "Memory cannot be read that fast. Tokens, windows or concurrency are not as "
            "stated, or decoding took a short cut.",
        )


def bytes_per_token(size: Size, asked: RequestSet, copies: int, width: int) -> float:
    """Bytes that must be read from memory for one output token, on all boards together, at `width`
    bytes a number."""
    prompt, steps = asked.prompt_tokens, asked.output_tokens - 1
    parameters = steps * size.read_parameters * copies / asked.concurrency
    cache = size.kv_values_per_token * (steps * prompt + steps * (steps - 1) / 2)
    return width * (parameters + cache) / asked.output_tokens
