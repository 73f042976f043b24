"""More arithmetic per second than the board can do

## What it does
Multiplies the throughput of each rank in each scored epoch by the FLOPs that one item takes at the
least, and compares that with the dense peak at the precision of the run, added up over the rank's
accelerators. For a precision without a known peak a board's highest one serves.

## Why it is bad
It is impossible. The items, the time or the precision are not what the bundle says, or the model is
not the workload's.

## What to do
Look for windows that do not cover the whole batch, items counted more than once (by every rank,
say), and the precision that was really used.

## Source
Protocol, section "bounds"; peaks in `rules/boards.py`; FLOPs in `rules/workloads/`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import BATCHES
from rules.finding import Severity, Violation
from rules.metrics.run import as_defined, min_peak_share
from rules.rule import BundleRule
from rules.workloads import Size, workloads

RULE = BundleRule(__name__, "T104", Severity.ERROR)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    workload = workloads().get(bundle.result["workload"])
    size: Size | None = getattr(workload, bundle.result["size"], None)
    precision = bundle.result["implementation"]["precision"]
    if size is None:
        return
    defined = as_defined(bundle.result, size)
    for rank in bundle.result["ranks"]:
        boards = [bundle.board_of(uuid) for uuid in rank["accelerators"]]
        known = [b for b in boards if b is not None]
        own = [p for p in bundle.scored_parts if p.rank == rank["rank"]]
        if len(known) < len(boards) or not own:
            continue
        peak_tflops = sum(b.peak_tflops.get(precision, max(b.peak_tflops.values())) for b in known)
        share, epoch = max(
            (min_peak_share(p.items / p.active_s, size, peak_tflops, defined), p.epoch) for p in own
        )
        if share > bundle.protocol.max_peak_share:
            found = (
                f"{100 * share:.0f} % of the dense peak of {peak_tflops:g} TFLOP/s, in epoch "
                f"{epoch}"
            )
            yield Violation(
                BATCHES,
                "",
                f"rank {rank['rank']} on {', '.join(rank['accelerators'][:4])}: {found}",
                f"at most {100 * bundle.protocol.max_peak_share:g} %",
                "No board computes that fast. Items, windows, precision or the model are "
                "not what the bundle says.",
            )
