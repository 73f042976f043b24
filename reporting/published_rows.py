"""The rows of results that papers print."""

from collections.abc import Iterator
from typing import cast

from reporting.paper import Paper
from reporting.report_table import format_fixed
from reporting.results_model import (
    PUBLISHED_PRECISION,
    Comparison,
    Figure,
    ResultRow,
    explain_excess,
    get_board_id,
)
from rules.boards import find_board
from rules.metrics import run as metrics
from rules.protocol import CURRENT
from rules.workloads import Workload, workloads


def build_published_rows(paper: Paper) -> Iterator[ResultRow]:
    """The rows of a paper (schema `published-1`). Rows of workloads that the rule book does not
    have are left out."""
    for row in paper.rows or ():
        if row.workload not in workloads():
            continue
        rate, cap = row.items_per_s_per_accelerator, row.cap_w
        # A paper without power: energy follows from the assumption that a board draws its cap.
        joules, per_joule = metrics.energy_at_cap(rate, cap) if rate > 0 else (None, None)
        known_board = find_board(row.accelerator)
        # The lowest MFU that the figure implies: at the highest dense peak in common use.
        peak = known_board.peak_tflops.get(PUBLISHED_PRECISION) if known_board else None
        workload = workloads()[row.workload]
        share = metrics.min_peak_share(rate, workload.full, peak) if peak else None
        yield ResultRow(
            workload=workload.id,
            standing=paper.standing,
            system=paper.citation,
            accelerator=row.accelerator,
            model=get_board_id(row.accelerator),
            cap_w=cap,
            cap_enforced=row.cap_enforced,
            items_per_s_per_accelerator=Figure(rate, "printed"),
            joules_per_item=None if joules is None else Figure(joules, "assumed"),
            items_per_joule=None if per_joule is None else Figure(per_joule, "assumed"),
            mfu=None if share is None else Figure(share, "bound"),
            implausible=_explain_published_excess(
                share, peak, rate, workload, paper.accelerators_per_run
            )
            if row.quotes
            else None,
            paper=paper.id,
            table=row.table,
            url=paper.link,
            caution=row.objection,
            comparison=cast(Comparison, (row.quotes and row.comparison) or "level"),
        )


def _explain_published_excess(
    share: float | None,
    peak: float | None,
    rate: float,
    workload: Workload,
    accelerators: int | None,
) -> str | None:
    # A share above the limit often means that the paper gives the sum over GPUs.
    if share is None or peak is None or share <= CURRENT.max_peak_share:
        return None
    reason = explain_excess(share, peak, PUBLISHED_PRECISION)
    if accelerators is None:
        return reason
    per_gpu = format_fixed(metrics.per_accelerator(rate, accelerators), 0)
    count_word = {2: "two", 4: "four", 8: "eight"}.get(accelerators, str(accelerators))
    return (
        f"{reason}; if it is the sum of {count_word} GPUs, "
        f"it is {per_gpu} {workload.item}s/s per GPU"
    )
