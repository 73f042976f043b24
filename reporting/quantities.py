"""The quantities of a result, each once: name, head, meaning, unit and how it is read. The tables
of the page, their CSV files and the data set take them from here.

The data set has some under another name or in another unit (`reporting/dataset/results.py`). Both
are public, so both stay.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from reporting.report_table import Column, Form, Record
from reporting.results_model import Figure, ResultRow, name_submitted_line
from rules.metrics.figures import Estimate, ServingFigures
from rules.metrics.node.figures import NodeHeadline
from rules.metrics.uncertainty.systematic import SENSOR_ACCURACY, compute_sensor_term
from rules.settings import SHOWN_SETTINGS

Quantity = Column[ResultRow]

SCOPE, NODE_SCOPE = "accelerators only", "whole nodes"
"""What the power measurement of a row covers."""
PERCENTILES = {
    "min": "minimum",
    "p5": "5th percentile",
    "p25": "25th percentile",
    "median": "median",
    "p75": "75th percentile",
    "p95": "95th percentile",
    "max": "maximum",
}
"""Those of `PowerSpread`, by the name of its field without the unit."""
_TIMES = {
    "ttft_s": "time to first token",
    "tpot_s": "time per output token",
    "latency_s": "request latency",
}
_RANKS = {"p50": "median", "p95": "95th percentile of the", "p99": "99th percentile of the"}
SETTING_KEYS = tuple(setting.key for setting, _ in SHOWN_SETTINGS)
_FORMS: dict[str, Form] = {
    "text": "text",
    "integer": "count",
    "number": "number",
    "truth": "truth",
}
"""The form of a column by the type of a setting."""
LATENCIES = tuple(f"{name}_{rank}" for name in _TIMES for rank in _RANKS)


def quantity(name: str, /, **changes: Any) -> Quantity:
    """The quantity of that name. `changes` are fields that a table states otherwise, such as its
    head."""
    return replace(_BY_KEY[name], **changes)


def quantities(*keys: str) -> tuple[Quantity, ...]:
    """The quantities of these names."""
    return tuple(_BY_KEY[key] for key in keys)


def read_cells(columns: Iterable[Column[Record]], record: Record) -> dict[str, Any]:
    """The cells of the columns that have a reader."""
    cells: dict[str, Any] = {}
    for column in columns:
        value = column.read(record) if column.read else None
        if isinstance(value, Estimate | Figure):
            cells |= zip(column.keys, _list_values(column, value), strict=False)
        elif column.read:
            cells[column.key] = value
    return cells


def _list_values(column: Column, value: Estimate | Figure) -> Iterator[Any]:
    if isinstance(value, Estimate):
        value = Figure(value.mean, "measured", value.n, value.ci95)
    yield value.value
    if column.interval:
        yield from (*(value.ci95 or (None, None)), value.n)
    if column.kinds:
        yield value.kind


def name_line(row: ResultRow) -> str:
    """The configuration that all caps of a line share, for submitted and published rows."""
    return name_submitted_line(row) if row.provenance else f"{row.system} · {row.model}"


def name_scope(row: ResultRow) -> str | None:
    """What the power measurement of a run covers; None of a published figure."""
    if row.provenance is None:
        return None
    return NODE_SCOPE if row.is_of_nodes else SCOPE


def describe_provenance(row: ResultRow) -> str:
    """Whether a run measured the figures of a row, others published them, or the work or the boards
    of the run were simulated."""
    if row.provenance is None:
        return "published"
    run = row.provenance.run
    has_simulated_boards = any(board.is_simulated for board in run.accelerators)
    return "simulated" if has_simulated_boards or run.is_simulated else "measured"


def format_accelerators(row: ResultRow) -> str:
    return f"{row.accelerator} \u00d7 {row.count}" if row.count else row.accelerator


def _read_setting(row: ResultRow, key: str) -> Any:
    return row.settings.get(key)


def _find_serving(row: ResultRow) -> ServingFigures | None:
    return row.provenance.run.serving if row.provenance else None


def _find_node(row: ResultRow) -> NodeHeadline | None:
    return row.provenance.run.node if row.provenance else None


def _assume_node_share(row: ResultRow) -> Figure | None:
    value = row.items_per_joule_with_node_share
    return None if value is None else Figure(value, "assumed")


def _compute_sensor_term_percent(row: ResultRow) -> float | None:
    """None of a published figure, of whole nodes, and without an energy counter."""
    if row.provenance is None or row.is_of_nodes:
        return None
    share = compute_sensor_term(row.run.headline)
    return None if share is None else 100 * share


def _find_rating_w(row: ResultRow) -> float | None:
    """Boards of one run can have different ratings. The highest one bounds the axis."""
    ratings_w = [accelerator.max_power_w for accelerator in row.run.accelerators]
    return None if None in ratings_w else max(w for w in ratings_w if w is not None)


def _add_node_ratings_w(row: ResultRow) -> float | None:
    """None if one node does not state its rated power."""
    ratings_w = [node.rated_w for node in row.run.system.nodes]
    return None if None in ratings_w else math.fsum(w for w in ratings_w if w is not None)


def _read_spread(row: ResultRow, key: str) -> float | None:
    """None without readings."""
    return getattr(row.run.spread, key, None)


def _read_latency(row: ResultRow, key: str, rank: str) -> float | None:
    serving = _find_serving(row)
    return getattr(getattr(serving, key), rank) if serving else None


def _define(
    key: str,
    title: str,
    unit: str,
    form: Form,
    read: Callable[[ResultRow], Any],
    about: str,
    digits: int = 4,
    interval: bool = False,
    kinds: bool = False,
    optional: bool = False,
) -> Quantity:
    return Column(
        key, title, unit, form, digits, about, interval, kinds, optional=optional, read=read
    )


# One line for name, head and unit, one for the meaning.
# fmt: off
_QUANTITIES: tuple[Quantity, ...] = (
    _define("workload", "workload", "", "text", lambda row: row.workload,
        "id of the workload"),
    _define("system", "system", "", "text", lambda row: row.system,
        "name of the system; of a published figure, the authors"),
    _define("center", "center", "", "text", lambda row: row.center,
        "directory of the center that submitted the run"),
    _define("accelerator", "accelerator", "", "text", lambda row: row.accelerator,
        "name of the accelerator"),
    _define("accelerators", "accelerators", "", "text", format_accelerators,
        "name and number of the accelerators"),
    _define("model", "board", "", "text", lambda row: row.model,
        "short name of the board"),
    _define("variant", "variant", "", "text", lambda row: row.variant,
        "variant of the implementation"),
    _define("precision", "precision", "", "text", lambda row: row.precision,
        "precision of the arithmetic"),
    _define("line", "configuration", "", "text", name_line,
        "what all caps of one line of a chart share: system, number of accelerators, variant "
        "and precision"),
    _define("held", "cap held", "", "text", lambda row: row.cap_enforced,
        "whether the cap held on every accelerator"),
    _define("standing", "standing", "", "text", lambda row: row.standing,
        "closed, open, control, demo or published: which results it is compared with"),
    _define("provenance", "provenance", "", "text", describe_provenance,
        "measured by a run, published by others, or simulated"),
    _define("scope", "scope", "", "text", name_scope,
        "what the power measurement covers"),
    _define("status", "status", "", "text", lambda row: "compared" if row.may_win else "excluded",
        "compared, or excluded from rankings"),
    _define("comparable", "may be compared within its line", "", "text", lambda row: row.comparable,
        "whether the result counts within its own series over the cap"),
    _define("doubt", "reason why the cap is in doubt", "", "text", lambda row: row.doubt,
        "why the cap is not known to have held; empty if there is no doubt"),
    _define("implausible", "reason why the figure is implausible", "", "text",
        lambda row: row.implausible,
        "why the throughput is implausible; empty if it is plausible"),
    _define("withheld", "reason why the result is excluded from rankings", "", "text",
        lambda row: row.withheld,
        "why the result is excluded from rankings for another reason; empty if it is not"),
    _define("caution", "caution", "", "text", lambda row: row.caution,
        "what to know before a published figure is compared"),
    _define("url", "source", "", "text", lambda row: row.url,
        "address of the publication"),
    _define("run", "run", "", "text", lambda row: row.run.run_id,
        "id of the run"),
    _define("accepted", "accepted under rule book", "", "text",
        lambda row: (row.provenance and row.provenance.accepted) or None,
        "version of the rule book under which the LOG accepts the bundle; empty if it does not"),
    _define("protocol", "protocol", "", "text", lambda row: row.run.protocol,
        "version of the protocol"),
    _define("rules", "rule book of the run", "", "text", lambda row: row.run.rules_version,
        "version of the rule book at the time of the run"),
    _define("energy_of_record", "energy of record", "", "text",
        lambda row: row.run.energy_of_record,
        "energy that the figures use: counter or trapezoid"),
    _define("in_force_w", "limit read back", "W", "text",
        lambda row: ", ".join(f"{limit_w:g}" for limit_w in row.limits_w) or None,
        "power limits that the boards reported, each once"),
    _define("count", "accelerators", "", "count", lambda row: row.count,
        "number of accelerators"),
    _define("requests", "requests", "", "count",
        lambda row: (serving := _find_serving(row)) and serving.requests,
        "requests that ended in scored epochs of serving"),
    _define("batch", "batch", "samples", "count", lambda row: row.batch_size,
        "samples in a batch of a rank; for serving, requests in flight"),
    _define("cap_w", "cap", "W per accelerator", "count", lambda row: row.cap_w,
        "requested power cap per accelerator"),
    *(_define(s.key, d.head, s.unit, _FORMS[s.type], partial(_read_setting, key=s.key), d.meaning,
        optional=not d.is_permanent)
        for s, d in SHOWN_SETTINGS),
    _define("concurrency", "in flight", "requests", "count",
        lambda row: (requests := row.run.requests) and requests.concurrency,
        "requests in flight of serving"),
    _define("prompt_tokens", "prompt", "tokens", "count",
        lambda row: (requests := row.run.requests) and requests.prompt_tokens,
        "length of the prompts of serving"),
    _define("output_tokens", "output", "tokens", "count",
        lambda row: (requests := row.run.requests) and requests.output_tokens,
        "length of the answers of serving"),
    _define("items_per_s_per_accelerator", "throughput", "items/s per accelerator", "number",
        lambda row: row.items_per_s_per_accelerator,
        "throughput per accelerator", interval=True, kinds=True),
    _define("items_per_s", "total throughput", "items/s", "number", lambda row: row.items_per_s,
        "throughput of all accelerators together"),
    _define("joules_per_item", "energy", "J/item", "number", lambda row: row.joules_per_item,
        "energy per item", interval=True, kinds=True),
    _define("items_per_joule", "efficiency", "items/J", "number", lambda row: row.items_per_joule,
        "items per joule", interval=True, kinds=True),
    _define("node_items_per_joule_assumed", "efficiency with node share", "items/J", "number",
        _assume_node_share,
        "efficiency with the power that Mayr et al. 2026 assume for the rest of a node, 100 W "
        "for four accelerators unless changed; uses the cap where no power was measured; "
        "empty where the power of the node was measured", kinds=True),
    _define("power_w", "mean power", "W per accelerator", "number", lambda row: row.mean_power_w,
        "mean power per accelerator while batches are active"),
    _define("bare_w", "idle", "W per accelerator", "number",
        lambda row: (idle := row.run.idle) and idle.bare_w,
        "mean idle power of an accelerator without a model"),
    _define("resident_w", "idle with model", "W per accelerator", "number",
        lambda row: (idle := row.run.idle) and idle.resident_w,
        "mean idle power of an accelerator with the model resident and no batch"),
    _define("mfu", "MFU", "1", "number", lambda row: row.mfu,
        "model FLOPs utilisation: share of the dense peak of the board", interval=True, kinds=True),
    _define("sensor_term_percent", "sensor term of energy", "%", "number",
        _compute_sensor_term_percent,
        "systematic, beside the interval: difference between power readings and energy "
        f"counter over the run. {SENSOR_ACCURACY}", digits=2),
    _define("active_percent", "active share", "%", "number",
        lambda row: 100 * row.run.activity.active_share,
        "time in which batches were active over the time of the scored epochs"),
    _define("utilisation_percent", "utilisation", "%", "number",
        lambda row: row.run.activity.utilisation_percent,
        "utilisation as the boards state it; 100 % does not mean that their units are busy",
        digits=3),
    _define("sm_mhz", "SM clock", "MHz", "number", lambda row: row.run.clocks.sm_mhz,
        "mean SM clock in scored epochs", interval=True),
    _define("mem_mhz", "memory clock", "MHz", "number", lambda row: row.run.clocks.mem_mhz,
        "mean memory clock in scored epochs", interval=True),
    *(_define(f"{name}_w", words, "W", "number", partial(_read_spread, key=f"{name}_w"),
        f"{words} of the power readings of single accelerators in scored epochs")
        for name, words in PERCENTILES.items()),
    _define("max_60s_w", "maximum of 60 s", "W, all accelerators", "number",
        lambda row: row.run.activity.max_60s_power_w,
        "largest mean over 60 s of the power of all accelerators together"),
    _define("rated_w", "rated power", "W", "count", _find_rating_w,
        "highest power limit that the board accepts"),
    _define("run_s", "whole run", "s", "count", lambda row: row.run.activity.run_s,
        "time of the whole run, start-up and discarded epochs included"),
    _define("run_energy_j", "energy of the whole run", "J, all accelerators", "number",
        lambda row: row.run.activity.run_energy_j,
        "energy of all accelerators over the whole run"),
    _define("input_tokens_per_s", "input throughput", "tokens/s", "number",
        lambda row: (serving := _find_serving(row)) and serving.input_tokens_per_s,
        "throughput of input tokens of serving"),
    *(_define(f"{key}_{rank}", f"{title}, {rank}", "s", "number",
        partial(_read_latency, key=key, rank=rank),
        f"{words} {title} in serving", digits=3)
        for key, title in _TIMES.items() for rank, words in _RANKS.items()),
    _define("node_joules_per_item", "node energy", "J/item", "number",
        lambda row: (node := _find_node(row)) and node.joules_per_item,
        "energy of the nodes per item by node meters", interval=True),
    _define("node_items_per_joule", "node efficiency", "items/J", "number",
        lambda row: (node := _find_node(row)) and node.items_per_joule,
        "items per joule of the nodes by node meters", interval=True),
    _define("node_mean_power_w", "mean", "W", "number",
        lambda row: (node := _find_node(row)) and node.mean_power_w,
        "mean power of all nodes by node meters", interval=True),
    _define("node_median_power_w", "median", "W", "count",
        lambda row: (node := _find_node(row)) and node.median_power_w,
        "median power of all nodes"),
    _define("node_p95_power_w", "p95", "W", "count",
        lambda row: (node := _find_node(row)) and node.p95_power_w,
        "95th percentile of the power of all nodes"),
    _define("node_max_power_w", "maximum", "W", "count",
        lambda row: (node := _find_node(row)) and node.max_power_w,
        "highest power of all nodes"),
    _define("node_max_60s_power_w", "maximum of 60 s", "W", "count",
        lambda row: (node := _find_node(row)) and node.max_60s_power_w,
        "largest mean over 60 s of the power of all nodes"),
    _define("node_rated_w", "rated power", "W", "count", _add_node_ratings_w,
        "rated power of all nodes of the run"),
)
# fmt: on
_BY_KEY = {column.key: column for column in _QUANTITIES}
# The page shows them in other units.
_BY_KEY["run_kj"] = quantity(
    "run_energy_j",
    key="run_kj",
    unit="kJ, all accelerators",
    read=lambda row: row.run.activity.run_energy_j / 1e3,
)
_BY_KEY["mfu_percent"] = quantity(
    "mfu",
    key="mfu_percent",
    unit="%",
    digits=3,
    interval=False,
    read=lambda row: row.mfu and replace(row.mfu, value=100 * row.mfu.value),
)
