"""The table of servers: throughput, energy and latency over the load."""

from collections.abc import Sequence

from reporting.quantities import LATENCIES, quantities, quantity, read_cells
from reporting.report_table import Column, ReportTable, format_fixed
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    BundleLink,
    add_mark_columns,
    hide,
    make_mark_cells,
)
from reporting.sections.repeats import JOULES, RATE
from reporting.sections.section import Section
from reporting.sections.shown_columns import ShownColumns
from rules.metrics.serving import compute_user_rate


def build_serving_table(
    rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable | None:
    """Throughput, energy and latencies of servers; None without a server."""
    serving_rows = [row for row in rows if row.provenance and row.provenance.run.serving]
    if not serving_rows:
        return None
    columns = add_mark_columns(
        *quantities("line", "cap_w"),
        *_SERVED_COLUMNS,
        *quantities("prompt_tokens", "output_tokens"),
        Column("load", "load"),
        *quantities("requests", "input_tokens_per_s", *LATENCIES),
    )
    about = (
        "Latencies of all requests that ended in scored epochs: median (p50), 95th and 99th "
        "percentile."
    )
    cells = tuple(
        read_cells(columns, row) | make_mark_cells(row, link) | {"load": _describe_load(row)}
        for row in serving_rows
    )
    return ReportTable(id, title, columns, cells, about)


def _compute_user_rate(row: ResultRow) -> float | None:
    return compute_user_rate(row.run.serving.tpot_s) if row.run.serving else None


_SERVED_COLUMNS = (
    *hide(quantity("concurrency")),
    quantity("items_per_s_per_accelerator", unit="output tokens/s per accelerator", kinds=False),
    Column(
        "user_tokens_per_s",
        "throughput of a user",
        "output tokens/s",
        "number",
        about="1 / median time per output token",
        read=_compute_user_rate,
    ),
    quantity("joules_per_item", unit="J/output token", kinds=False),
)


def _describe_load(row: ResultRow) -> str:
    requests = row.run.requests
    assert requests is not None
    in_flight_limit = f"{format_fixed(requests.concurrency, 0)} in flight"
    rate = requests.rate_per_s
    return (
        f"closed loop, {in_flight_limit}"
        # A closed loop has no arrival rate: the next request starts when one ends.
        if rate is None
        else f"Poisson arrivals, {rate:g} per s, at most {in_flight_limit}"
    )


SECTION = Section(
    name="serving",
    place=50,
    build_of_workload=lambda part: [
        build_serving_table(
            part.runs,
            part.link,
            f"{part.id}-serving",
            part.make_title(f"serving{part.not_compared}"),
        )
    ],
    demo_place=50,
    is_for_nodes=True,
    drawn_by=("serving.build_serving_charts",),
    charts={
        "throughput": ShownColumns((RATE, "user_tokens_per_s", "concurrency")),
        "energy": ShownColumns((JOULES, "user_tokens_per_s", "concurrency")),
    },
    paper_keys=(
        *("line", "cap_w", "concurrency", RATE, JOULES, "ttft_s_p50", "ttft_s_p99"),
        *("tpot_s_p50", "tpot_s_p99", "user_tokens_per_s", "latency_s_p50", "latency_s_p99"),
        *("prompt_tokens", "output_tokens", "load"),
    ),
)
