"""The table of servers: throughput, energy and latency over the load."""

from collections.abc import Sequence

from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    drop_kind,
    make_figure_cells,
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
    latencies = (
        ("ttft_s", "time to first token"),
        ("tpot_s", "time per output token"),
        ("latency_s", "request latency"),
    )
    columns = add_mark_columns(
        Column("line", "configuration"),
        Column("cap_w", "cap", "W per accelerator", "count"),
        *_SERVED_COLUMNS,
        Column("prompt_tokens", "prompt", "tokens", "count"),
        Column("output_tokens", "output", "tokens", "count"),
        Column("load", "load"),
        Column("requests", "requests", "", "count"),
        Column("input_tokens_per_s", "input throughput", "tokens/s", "number"),
        *(
            Column(f"{key}_{p}", f"{title}, {p}", "s", "number", 3)
            for key, title in latencies
            for p in ("p50", "p95", "p99")
        ),
    )
    about = (
        "Latencies of all requests that ended in scored epochs: median (p50), 95th and 99th "
        "percentile."
    )
    cells = tuple(_make_serving_cells(row, link) for row in serving_rows)
    return ReportTable(id, title, columns, cells, about)


_SERVED_COLUMNS = (
    Column("concurrency", "in flight", "requests", "count", hidden=True),
    Column(
        "items_per_s_per_accelerator",
        "throughput",
        "output tokens/s per accelerator",
        "number",
        interval=True,
    ),
    Column(
        "user_tokens_per_s",
        "throughput of a user",
        "output tokens/s",
        "number",
        about="1 / median time per output token",
    ),
    Column("joules_per_item", "energy", "J/output token", "number", interval=True),
)


def _make_serving_cells(row: ResultRow, link: BundleLink) -> Cells:
    assert row.provenance is not None
    serving, requests = row.provenance.run.serving, row.provenance.run.requests
    assert serving is not None and requests is not None
    in_flight_limit = f"{requests.concurrency:,} in flight".replace(",", "\u202f")
    rate = requests.rate_per_s
    load = (
        f"closed loop, {in_flight_limit}"
        # A closed loop has no arrival rate: the next request starts when one ends.
        if rate is None
        else f"Poisson arrivals, {rate:g} per s, at most {in_flight_limit}"
    )
    return {
        "concurrency": requests.concurrency,
        **drop_kind(
            make_figure_cells("items_per_s_per_accelerator", row.items_per_s_per_accelerator)
        ),
        "user_tokens_per_s": compute_user_rate(serving.tpot_s),
        **drop_kind(make_figure_cells("joules_per_item", row.joules_per_item)),
        "prompt_tokens": requests.prompt_tokens,
        "output_tokens": requests.output_tokens,
        "load": load,
        "requests": serving.requests,
        "input_tokens_per_s": serving.input_tokens_per_s,
        **{
            f"{key}_{percentile}": time_s
            for key, percentiles in (
                ("ttft_s", serving.ttft_s),
                ("tpot_s", serving.tpot_s),
                ("latency_s", serving.latency_s),
            )
            for percentile, time_s in vars(percentiles).items()
        },
        **make_mark_cells(row, link),
    }


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
