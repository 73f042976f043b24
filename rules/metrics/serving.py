"""What a server's users see: waiting times and input tokens per second."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rules.bundle_format.records import Json
from rules.bundle_format.table import Table


def serving(requests: Table, active_s: Mapping[tuple[int, int], float]) -> Json:
    """The figures of at least one request, all of which ended in the epochs that `active_s` has, by
    epoch and rank.

    Times are in s. Time to first token is from sending to the first token; time per output token is
    the rest of the answer over the other tokens; latency is from sending to the end.
    """
    sent_ns, first_ns, end_ns = (requests.ints(name) for name in ("sent_ns", "first_ns", "end_ns"))
    others = np.maximum(requests.ints("output_tokens") - 1, 1)
    ranks = len({rank for _, rank in active_s})
    return {
        "requests": len(requests),
        "input_tokens_per_s": int(requests.ints("prompt_tokens").sum())
        / math.fsum(active_s.values())
        * ranks,
        "ttft_s": _percentiles((first_ns - sent_ns) / 1e9),
        "tpot_s": _percentiles((end_ns - first_ns) / 1e9 / others),
        "latency_s": _percentiles((end_ns - sent_ns) / 1e9),
    }


def _percentiles(values: NDArray[np.float64]) -> Json:
    return {f"p{p}": float(np.percentile(values, p)) for p in (50, 95, 99)}
