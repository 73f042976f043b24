"""The tables of single results: every run and every published figure of a workload, what users of a
server see, and clocks and power."""

from collections.abc import Callable, Sequence
from pathlib import Path

from reporting.pareto import mark_fronts
from reporting.report_table import Column, ReportTable, Value
from reporting.results_model import Figure, ResultRow, name_submitted_line
from rules.finding import Finding, Severity
from rules.metrics.figures import Estimate
from rules.metrics.power_profile import with_node_overhead
from rules.workloads import Workload

BundleLink = Callable[[Path], str]
"""The address of a bundle relative to the page."""

Cells = dict[str, Value]

SCOPE = "accelerators only"

MARK_COLUMNS = (
    Column("standing", "standing", about="closed, open, demo or published; see the overview"),
    Column(
        "evidence",
        "evidence",
        form="evidence",
        about="the bundle, its signer and its findings, or the table of the paper",
    ),
    Column("scope", "scope", hidden=True, about="what the power measurement covers"),
    Column("doubt", "reason why the cap is in doubt", hidden=True),
    Column("implausible", "reason why the figure is implausible", hidden=True),
    Column("caution", "caution", hidden=True),
    Column("bundle", "bundle", hidden=True, about="path of the bundle, relative to the page"),
    Column("url", "source", hidden=True),
    Column(
        "line",
        "configuration",
        hidden=True,
        about="system, number of accelerators, variant and precision",
    ),
    Column("model", "board", hidden=True),
)
"""The columns that say how far a row is to be trusted, in every table of single results."""


def make_mark_cells(row: ResultRow, link: BundleLink) -> Cells:
    """The cells of `MARK_COLUMNS`."""
    provenance = row.provenance
    return {
        "standing": row.standing,
        "evidence": row.table
        if provenance is None
        else f"{describe_signer(provenance.signer)}; {count_findings(provenance.findings)}",
        "scope": None if provenance is None else SCOPE,
        "doubt": row.doubt,
        "implausible": row.implausible,
        "caution": row.caution,
        "bundle": None if provenance is None else link(provenance.run.path),
        "url": row.url,
        "line": name_line(row),
        "model": row.model,
    }


def describe_signer(signer: str | None) -> str:
    return f"signed by {signer}" if signer else "unsigned"


def name_line(row: ResultRow) -> str:
    """What the caps of a row's line have in common, of a published row too."""
    return name_submitted_line(row) if row.provenance else f"{row.system} · {row.model}"


def list_boards(row: ResultRow) -> str:
    """Which boards a row ran on; an empty text where that is not known."""
    return (
        " ".join(sorted(a["uuid"][-12:] for a in row.provenance.run.accelerators))
        if row.provenance
        else ""
    )


def format_accelerators(row: ResultRow) -> str:
    return f"{row.accelerator} \u00d7 {row.count}" if row.count else row.accelerator


def make_figure_cells(key: str, value: Figure | None) -> Cells:
    """The cells of a column with interval and kind."""
    if value is None:
        return {key: None}
    low, high = value.ci95 or (None, None)
    return {
        key: value.value,
        f"{key}_low": low,
        f"{key}_high": high,
        f"{key}_n": value.n,
        f"{key}_kind": value.kind,
    }


def make_estimate_cells(key: str, estimate: Estimate | None) -> Cells:
    """The cells of a column with an interval."""
    if estimate is None:
        return {key: None}
    low, high = estimate.ci95 or (None, None)
    return {key: estimate.mean, f"{key}_low": low, f"{key}_high": high, f"{key}_n": estimate.n}


def make_figure_columns(item: str) -> tuple[Column, Column, Column]:
    """Throughput per accelerator, J/item and items/J: what every comparison is about."""
    return (
        Column(
            "items_per_s_per_accelerator",
            "throughput",
            f"{item}s/s per accelerator",
            "number",
            interval=True,
            kinds=True,
        ),
        Column("joules_per_item", "energy", f"J/{item}", "number", interval=True, kinds=True),
        Column("items_per_joule", "efficiency", f"{item}s/J", "number", interval=True, kinds=True),
    )


def build_results_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable:
    """Every result, in the order of `rows`."""
    rate, joules, per_joule = make_figure_columns(workload.item)
    columns = (
        Column("system", "system"),
        Column("accelerators", "accelerators"),
        Column("variant", "variant"),
        Column("precision", "precision"),
        Column("batch", "batch", "samples", "count"),
        Column("cap_w", "cap", "W per accelerator", "count", about="requested power cap"),
        Column("in_force_w", "limit read back", "W", about="power limit that the board reported"),
        Column(
            "power_w",
            "mean power",
            "W",
            "number",
            interval=True,
            about="per accelerator, while batches were active",
        ),
        rate,
        Column("items_per_s", "total throughput", f"{workload.item}s/s", "number"),
        joules,
        per_joule,
        Column(
            "node_items_per_joule_assumed",
            "efficiency with node share",
            f"{workload.item}s/J",
            "number",
            kinds=True,
            about=NODE_SHARE,
        ),
        Column(
            "mfu_percent",
            "MFU",
            "%",
            "number",
            3,
            kinds=True,
            about="model FLOPs utilisation: share of the dense peak of the board",
        ),
        *MARK_COLUMNS,
        Column("accelerator", "accelerator", hidden=True),
        Column("count", "accelerators", "", "count", hidden=True),
        Column("held", "cap held", hidden=True),
        *(Column(key, about, hidden=True, about=about) for key, about in _FRONT_COLUMNS.items()),
    )
    return ReportTable(
        id, title, columns, tuple(mark_fronts([_make_result_cells(row, link) for row in rows]))
    )


NODE_SHARE = (
    "adds 25 W per accelerator: an assumed 100 W for the rest of a node with four accelerators; "
    "uses the cap where no power was measured"
)
_FRONT_COLUMNS = {
    "front": "on the Pareto front",
    "peak": "most efficient point of its line",
    "front_node": "on the Pareto front, with node share",
    "peak_node": "most efficient point of its line, with node share",
}


def _make_result_cells(row: ResultRow, link: BundleLink) -> Cells:
    power_w = row.observed_w.value if row.observed_w else row.cap_w
    with_node_share = (
        None
        if power_w is None
        else with_node_overhead(row.items_per_s_per_accelerator.value, power_w)
    )
    return {
        "system": row.system,
        "accelerators": format_accelerators(row),
        "accelerator": row.accelerator,
        "count": row.count,
        "variant": row.variant,
        "precision": row.precision,
        "batch": row.batch_size,
        "cap_w": row.cap_w,
        "in_force_w": ", ".join(f"{w:g}" for w in row.limits_w) or None,
        **drop_kind(make_figure_cells("power_w", row.observed_w)),
        **make_figure_cells("items_per_s_per_accelerator", row.items_per_s_per_accelerator),
        "items_per_s": row.items_per_s.value if row.items_per_s else None,
        **make_figure_cells("joules_per_item", row.joules_per_item),
        **make_figure_cells("items_per_joule", row.items_per_joule),
        "node_items_per_joule_assumed": with_node_share,
        "node_items_per_joule_assumed_kind": "assumed",
        "mfu_percent": None if row.mfu is None else row.mfu.value * 100,
        "mfu_percent_kind": None if row.mfu is None else row.mfu.kind,
        "held": row.cap_enforced,
        **make_mark_cells(row, link),
    }


def drop_kind(cells: Cells) -> Cells:
    return {key: value for key, value in cells.items() if not key.endswith("_kind")}


def build_power_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str, title: str
) -> ReportTable:
    """Clocks, and how the power readings of scored epochs are spread, of each run."""
    columns = (
        Column("line", "run"),
        Column("cap_w", "cap", "W per accelerator", "count"),
        Column("sm_mhz", "SM clock", "MHz", "number", interval=True),
        Column("mem_mhz", "memory clock", "MHz", "number", interval=True),
        Column(
            "mean_w",
            "mean",
            "W",
            "number",
            about="mean of the power readings; the energy of record may come from a counter",
        ),
        Column("min_w", "minimum", "W", "number"),
        Column("p5_w", "5th percentile", "W", "number"),
        Column("p25_w", "25th percentile", "W", "number"),
        Column("median_w", "median", "W", "number"),
        Column("p75_w", "75th percentile", "W", "number"),
        Column("p95_w", "95th percentile", "W", "number"),
        Column("max_w", "maximum", "W", "number"),
        Column(
            "rated_w",
            "rated power",
            "W",
            "count",
            about="highest power limit that the board accepts",
        ),
        *(column for column in MARK_COLUMNS if column.key != "line"),
        Column("held", "cap held", hidden=True),
    )
    about = (
        "Power readings of all accelerators in scored epochs, one every 100 ms. A single reading "
        "may exceed the cap; the mean of the run must not."
    )
    return ReportTable(
        id,
        title,
        columns,
        tuple(_make_power_cells(row, link) for row in rows if row.provenance),
        about,
    )


def _make_power_cells(row: ResultRow, link: BundleLink) -> Cells:
    assert row.provenance is not None
    run = row.provenance.run
    ratings_w = [a["max_power_w"] for a in run.accelerators]
    return {
        "cap_w": row.cap_w,
        **make_estimate_cells("sm_mhz", run.clocks.sm_mhz),
        **make_estimate_cells("mem_mhz", run.clocks.mem_mhz),
        **(vars(run.spread) if run.spread else {}),
        "rated_w": None if None in ratings_w else max(ratings_w),
        "held": row.cap_enforced,
        **make_mark_cells(row, link),
    }


def build_serving_table(
    workload: Workload, rows: Sequence[ResultRow], link: BundleLink, id: str
) -> ReportTable | None:
    """What users of a server see; None where nothing was served."""
    serving_rows = [row for row in rows if row.provenance and row.provenance.run.serving]
    if not serving_rows:
        return None
    latencies = (
        ("ttft_s", "time to first token"),
        ("tpot_s", "time per output token"),
        ("latency_s", "request latency"),
    )
    columns = (
        Column("line", "configuration"),
        Column("cap_w", "cap", "W per accelerator", "count"),
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
        *(column for column in MARK_COLUMNS if column.key != "line"),
    )
    about = (
        "Latencies of all requests that ended in scored epochs: median (p50), 95th and 99th "
        "percentile."
    )
    title = "serving latency"
    return ReportTable(
        id,
        f"{workload.title}: {title}",
        columns,
        tuple(_make_serving_cells(row, link) for row in serving_rows),
        about,
    )


def _make_serving_cells(row: ResultRow, link: BundleLink) -> Cells:
    assert row.provenance is not None and row.provenance.run.serving is not None
    serving, requests = (
        row.provenance.run.serving,
        row.provenance.run.result["settings"]["requests"],
    )
    at_most = f"{requests['concurrency']:,} in flight".replace(",", "\u202f")
    rate = requests["rate_per_s"]
    load = (
        f"closed loop, {at_most}"
        if rate is None
        else f"Poisson arrivals, {rate:g} per s, at most {at_most}"
    )
    return {
        "cap_w": row.cap_w,
        "prompt_tokens": requests["prompt_tokens"],
        "output_tokens": requests["output_tokens"],
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


def pluralize(count: int, noun: str) -> str:
    """`1 warning`, `2 warnings`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def count_findings(findings: Sequence[Finding]) -> str:
    """Findings in words: how many of each severity and by which rules, `2 warnings (C102,
    M203)`."""
    parts = []
    for severity in Severity:
        rule_ids = [f.rule for f in findings if f.severity == severity]
        if rule_ids:
            names = ", ".join(sorted(set(rule_ids)))
            parts.append(f"{pluralize(len(rule_ids), severity.value)} ({names})")
    return ", ".join(parts) or "no findings"
