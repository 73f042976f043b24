"""What the users of a server see: waiting times and input tokens per second."""

import math
from collections.abc import Mapping

import numpy as np

from rules.bundle_format.table import Floats, Table
from rules.metrics.figures import Percentiles, ServingFigures


def compute_serving_figures(
    requests: Table, active_s: Mapping[tuple[int, int], float]
) -> ServingFigures:
    """The figures of at least one request.

    All of `requests` ended in one of the epochs of `active_s`, which holds the active time in s by
    epoch and rank.
    """
    sent_ns, first_ns, end_ns = (requests.ints(name) for name in ("sent_ns", "first_ns", "end_ns"))
    # An answer of one token has no token after the first; its rest of 0 s is then divided by 1.
    further_tokens = np.maximum(requests.ints("output_tokens") - 1, 1)
    ranks = len({rank for _, rank in active_s})
    return ServingFigures(
        requests=len(requests),
        input_tokens_per_s=int(requests.ints("prompt_tokens").sum())
        # The sum over epochs and ranks, divided by the ranks, is the mean active time of a rank.
        / math.fsum(active_s.values())
        * ranks,
        ttft_s=_compute_percentiles((first_ns - sent_ns) / 1e9),
        tpot_s=_compute_percentiles((end_ns - first_ns) / 1e9 / further_tokens),
        latency_s=_compute_percentiles((end_ns - sent_ns) / 1e9),
    )


def _compute_percentiles(values: Floats) -> Percentiles:
    return Percentiles(*(float(np.percentile(values, percent)) for percent in (50, 95, 99)))
