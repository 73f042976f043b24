"""Which columns of a table a paper shows, most important first."""

from collections.abc import Mapping

from reporting.report_table import Column, ReportTable

_RATE, _JOULES = "items_per_s_per_accelerator", "joules_per_item"
_PAPER_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "workloads": (
        *("workload", "standing", "efficient_per_joule", "efficient", "fastest_rate", "results"),
        *("excluded", "fastest"),
    ),
    "results": (
        *("line", "cap_w", _RATE, _JOULES, "items_per_joule", "power_w", "mfu_percent"),
        *("batch", "runs", "boards_n", "over_naive", "standing"),
    ),
    "compare": (
        *("result", _JOULES, "joules_percent", _RATE, "rate_percent", "joules_told", "rate_told"),
        *("runs", "boards_n", "like"),
    ),
    "tuned": (
        *("line", "cap_w", _RATE, "baseline_rate", "rate_percent"),
        *(_JOULES, "baseline_joules", "joules_percent", "rate_told", "joules_told"),
    ),
    "scaling": (
        *("line", "count", "cap_w", "speed_up", "efficiency_percent", "energy_per_item_ratio"),
        *(_RATE, "on_one"),
    ),
    "pairs": (
        *("setup", "other", "energy_ratio", "throughput_ratio", "n", "r", "r_log", "rho"),
        "energy_sd",
    ),
    "repeats": (
        *("result", "figure", "run_means_percent", "board_means_percent", "epochs_percent"),
        *("runs", "boards_n", "run_means_df", "board_means_df", "epochs_df"),
    ),
    "power": (
        *("line", "cap_w", "mean_w", "median_w", "max_w", "sm_mhz", "p5_w", "p95_w", "p25_w"),
        *("p75_w", "max_60s_w", "rated_w", "active_percent"),
    ),
    "serving": (
        *("line", "cap_w", "concurrency", _RATE, _JOULES, "ttft_s_p50", "ttft_s_p99"),
        *("tpot_s_p50", "tpot_s_p99", "user_tokens_per_s", "latency_s_p50", "latency_s_p99"),
        *("prompt_tokens", "output_tokens", "load"),
    ),
    "what-if": (
        *("workload", "rank", "result", _JOULES, "eur_per_million", "gco2e_per_million"),
        *(_RATE, "power_w", "like"),
    ),
    "naive-factors": ("line", "cap_w", "over_naive", "mfu_percent", "power_w"),
    "fixed-work": (
        *("result", "batch", "cap_w", "hours", "node_kwh", "ratio", "node_joules_per_item"),
        *("node_kw", "work", "accelerators_kwh"),
    ),
    "control": ("line", "cap_w", "median_w", "max_w", "power_w", "mfu_percent", "rate"),
}
"""By the id of a table or its end. Other tables show their visible columns in their order."""
_FIRST = ("cap_w", "value", "count", "level_percent", "source")
"""Columns that tell rows of other tables apart, or say who published them."""


def is_text(column: Column) -> bool:
    """Whether the cells are words: texts, and the publications that rows come from."""
    return column.form == "text" or column.title == "source"


def list_paper_columns(table: ReportTable) -> list[Column]:
    """The columns that a paper may show, in their order from left to right."""
    keys = _PAPER_COLUMNS.get(table.id, _PAPER_COLUMNS.get(table.id.rpartition("-")[2]))
    if keys is not None:
        # A column may be absent, as where a report has no runs.
        return [column for key in keys for column in table.columns if column.key == key]
    return [
        column
        for column in table.columns
        if not column.hidden and (is_text(column) or column.form not in ("evidence", "findings"))
    ]


def rank_columns(table: ReportTable, columns: list[Column]) -> list[Column]:
    """The same columns, most important first: the order in which they get room."""
    if table.id in _PAPER_COLUMNS or table.id.rpartition("-")[2] in _PAPER_COLUMNS:
        return columns
    return sorted(
        columns,
        key=lambda c: (c is not columns[0], c.key not in _FIRST, not c.interval),
    )
