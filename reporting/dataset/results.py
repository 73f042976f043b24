"""The columns of `figures`: one row per run that passed and per published figure."""

from functools import partial
from pathlib import Path
from typing import Any

from checker.find import resolve
from reporting.dataset.columns import Column, make_figure_columns
from reporting.results_model import ResultRow
from reporting.sections.cells import describe_provenance, name_line
from rules.metrics.figures import Percentiles, ServingFigures
from rules.metrics.uncertainty.systematic import compute_sensor_term
from rules.settings import SHOWN_SETTINGS
from rules.workloads import workloads

ResultColumn = Column[ResultRow]


def name_bundle(path: Path) -> str:
    """The name of a bundle in all tables: center, system and run."""
    return "/".join(resolve(path).parts[-3:])


def read_bundle_name(row: ResultRow) -> str | None:
    """The name of the bundle of a row; None of a published figure."""
    return name_bundle(row.provenance.run.path) if row.provenance else None


MARK_COLUMNS: tuple[ResultColumn, ...] = (
    Column(
        "standing",
        "text",
        "",
        "closed, open, control, demo or published: which results it is compared with",
        lambda row: row.standing,
    ),
    Column(
        "ranked",
        "truth",
        "",
        "whether the result may be compared with other series, ranked, and win; otherwise `doubt`, "
        "`implausible` or `withheld` has the reason",
        lambda row: row.may_win,
    ),
    Column(
        "comparable",
        "truth",
        "",
        "whether the result counts within its own series over the cap",
        lambda row: row.comparable,
    ),
    Column(
        "doubt",
        "text",
        "",
        "why the cap is not known to have held; empty if there is no doubt",
        lambda row: row.doubt,
    ),
    Column(
        "implausible",
        "text",
        "",
        "why the throughput is implausible; empty if it is plausible",
        lambda row: row.implausible,
    ),
    Column(
        "withheld",
        "text",
        "",
        "why the result is excluded from rankings for another reason; empty if it is not",
        lambda row: row.withheld,
    ),
    Column(
        "caution",
        "text",
        "",
        "what to know before a published figure is compared",
        lambda row: row.caution,
    ),
)
"""What to heed before a result is compared. In `figures`, `runs` and `epochs`."""


def _read_setting(key: str, row: ResultRow) -> Any:
    return row.settings.get(key)


SETTING_COLUMNS: tuple[ResultColumn, ...] = (
    Column("workload", "text", "", "id of the workload", lambda row: row.workload),
    Column(
        "center",
        "text",
        "",
        "directory of the center that submitted the run",
        lambda row: row.center,
    ),
    Column(
        "system",
        "text",
        "",
        "name of the system; of a published figure, the authors",
        lambda row: row.system,
    ),
    Column("accelerator", "text", "", "name of the accelerator", lambda row: row.accelerator),
    Column("board", "text", "", "short name of the board", lambda row: row.model),
    Column("accelerators", "integer", "", "number of accelerators", lambda row: row.count),
    Column("variant", "text", "", "variant of the implementation", lambda row: row.variant),
    Column("precision", "text", "", "precision of the arithmetic", lambda row: row.precision),
    Column(
        "batch_size",
        "integer",
        "samples",
        "samples in a batch of a rank; for serving, requests in flight",
        lambda row: row.batch_size,
    ),
    Column("cap_w", "number", "W", "requested power cap per accelerator", lambda row: row.cap_w),
    Column(
        "cap_enforced",
        "truth",
        "",
        "whether the cap held on every accelerator",
        lambda row: row.cap_enforced,
    ),
    *(
        Column(s.key, s.type, s.unit, d.meaning, partial(_read_setting, s.key), not d.is_permanent)
        for s, d in SHOWN_SETTINGS
    ),
)


def _read_serving(row: ResultRow) -> ServingFigures | None:
    return row.provenance.run.serving if row.provenance else None


def _make_percentile_columns(name: str, meaning: str) -> tuple[ResultColumn, ...]:
    def read(row: ResultRow, rank: str) -> float | None:
        serving = _read_serving(row)
        percentiles: Percentiles | None = getattr(serving, f"{name}_s") if serving else None
        return getattr(percentiles, rank) if percentiles else None

    return tuple(
        Column(
            f"{name}_s_{rank}",
            "number",
            "s",
            f"{title} {meaning} in serving",
            partial(read, rank=rank),
        )
        for rank, title in (
            ("p50", "median"),
            ("p95", "95th percentile"),
            ("p99", "99th percentile"),
        )
    )


def _read_sensor_term(row: ResultRow) -> float | None:
    share = compute_sensor_term(row.provenance.run.headline) if row.provenance else None
    return None if share is None else 100 * share


def _read_energy(row: ResultRow, name: str) -> float | None:
    estimate = getattr(row.provenance.run.headline, name) if row.provenance else None
    return estimate and float(estimate.mean)


def _read_node(row: ResultRow, name: str) -> float | None:
    node = row.provenance.run.node if row.provenance else None
    estimate = getattr(node, name) if node else None
    return estimate and float(estimate.mean)


FIGURE_COLUMNS: tuple[ResultColumn, ...] = (
    Column(
        "bundle",
        "text",
        "",
        "center, system and run; empty for a published figure",
        read_bundle_name,
    ),
    Column("provenance", "text", "", "measured, simulated or published", describe_provenance),
    *MARK_COLUMNS,
    *SETTING_COLUMNS,
    Column(
        "configuration",
        "text",
        "",
        "what all caps of one line of a chart share: system, number of accelerators, variant and "
        "precision",
        name_line,
    ),
    Column(
        "item",
        "text",
        "",
        "what an item of the workload is, in the singular",
        lambda row: workloads()[row.workload].item,
    ),
    *make_figure_columns(
        "items_per_s_per_accelerator",
        "items/s",
        "throughput per accelerator",
        lambda row: row.items_per_s_per_accelerator,
    ),
    Column(
        "items_per_s",
        "number",
        "items/s",
        "throughput of all accelerators together",
        lambda row: row.items_per_s and row.items_per_s.value,
    ),
    *make_figure_columns(
        "joules_per_item", "J/item", "energy per item", lambda row: row.joules_per_item
    ),
    *make_figure_columns(
        "items_per_joule", "items/J", "efficiency", lambda row: row.items_per_joule
    ),
    Column(
        "items_per_joule_with_node_share",
        "number",
        "items/J",
        "efficiency with an assumed 25 W per accelerator for the rest of the node (Mayr et al. "
        "2026), with power = cap where no power was measured",
        lambda row: row.items_per_joule_with_node_share,
    ),
    *make_figure_columns(
        "mean_power_w",
        "W",
        "mean power per accelerator while batches are active",
        lambda row: row.mean_power_w,
    ),
    *make_figure_columns(
        "mfu", "1", "model FLOP utilisation, a share of the dense peak", lambda row: row.mfu
    ),
    Column(
        "energy_j_counter",
        "number",
        "J",
        "mean energy of a scored epoch by the energy counter, all accelerators",
        lambda row: _read_energy(row, "energy_j_counter"),
    ),
    Column(
        "energy_j_trapezoid",
        "number",
        "J",
        "mean energy of a scored epoch by the trapezoid over power readings, all accelerators",
        lambda row: _read_energy(row, "energy_j_trapezoid"),
    ),
    Column(
        "sensor_term_percent",
        "number",
        "%",
        "systematic: difference between these two energies",
        _read_sensor_term,
    ),
    Column(
        "requests_served",
        "integer",
        "",
        "requests that ended in scored epochs of serving",
        lambda row: (serving := _read_serving(row)) and serving.requests,
    ),
    Column(
        "input_tokens_per_s",
        "number",
        "tokens/s",
        "throughput of input tokens of serving",
        lambda row: (serving := _read_serving(row)) and serving.input_tokens_per_s,
    ),
    *_make_percentile_columns("ttft", "time to first token"),
    *_make_percentile_columns("tpot", "time per output token"),
    *_make_percentile_columns("latency", "latency"),
    Column(
        "node_mean_power_w",
        "number",
        "W",
        "mean power of all nodes by node meters",
        lambda row: _read_node(row, "mean_power_w"),
    ),
    Column(
        "node_joules_per_item",
        "number",
        "J/item",
        "energy of the nodes per item by node meters",
        lambda row: _read_node(row, "joules_per_item"),
    ),
    Column(
        "paper", "text", "", "id of the publication of a published figure", lambda row: row.paper
    ),
    Column(
        "paper_table",
        "text",
        "",
        "table of the publication that has the figure",
        lambda row: row.table,
    ),
    Column("url", "text", "", "address of the publication", lambda row: row.url),
)
"""The columns of `figures`."""
