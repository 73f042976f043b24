"""The columns of `figures`: one row per run that passed and per published figure. Names and units
of the data set that differ from those of the page are here."""

from pathlib import Path

from checker.find import resolve
from reporting.dataset.columns import split_intervals
from reporting.quantities import LATENCIES, SETTING_KEYS, Quantity, quantities, quantity
from reporting.report_table import Column
from reporting.results_model import ResultRow
from rules.workloads import workloads


def name_bundle(path: Path) -> str:
    """The name of a bundle in all tables: center, system and run."""
    return "/".join(resolve(path).parts[-3:])


def read_bundle_name(row: ResultRow) -> str | None:
    """The name of the bundle of a row; None of a published figure."""
    return name_bundle(row.provenance.run.path) if row.provenance else None


MARK_COLUMNS: tuple[Quantity, ...] = (
    quantity("standing"),
    Column(
        "ranked",
        form="truth",
        about="whether the result may be compared with other series, ranked, and win; otherwise "
        "`doubt`, `implausible` or `withheld` has the reason",
        read=lambda row: row.may_win,
    ),
    quantity("comparable", form="truth"),
    *quantities("doubt", "implausible", "withheld", "caution"),
)
"""What to heed before a result is compared. In `figures`, `runs` and `epochs`."""

SETTING_COLUMNS: tuple[Quantity, ...] = (
    *quantities("workload", "center", "system", "accelerator"),
    quantity("model", key="board"),
    quantity("count", key="accelerators"),
    *quantities("variant", "precision"),
    quantity("batch", key="batch_size"),
    quantity("cap_w", unit="W", form="number"),
    quantity("held", key="cap_enforced", form="truth"),
    *quantities(*SETTING_KEYS),
)


def _read_energy_j(row: ResultRow, name: str) -> float | None:
    estimate = getattr(row.provenance.run.headline, name) if row.provenance else None
    return estimate and float(estimate.mean)


FIGURE_COLUMNS: tuple[Quantity, ...] = split_intervals(
    Column(
        "bundle",
        about="center, system and run; empty for a published figure",
        read=read_bundle_name,
    ),
    quantity("provenance"),
    *MARK_COLUMNS,
    *SETTING_COLUMNS,
    quantity("line", key="configuration"),
    Column(
        "item",
        about="what an item of the workload is, in the singular",
        read=lambda row: workloads()[row.workload].item,
    ),
    quantity("items_per_s_per_accelerator", unit="items/s"),
    *quantities("items_per_s", "joules_per_item", "items_per_joule"),
    quantity("node_items_per_joule_assumed", key="items_per_joule_with_node_share", kinds=False),
    quantity("power_w", key="mean_power_w", unit="W", interval=True, kinds=True),
    quantity("mfu"),
    Column(
        "energy_j_counter",
        unit="J",
        form="number",
        about="mean energy of a scored epoch by the energy counter, all accelerators",
        read=lambda row: _read_energy_j(row, "energy_j_counter"),
    ),
    Column(
        "energy_j_trapezoid",
        unit="J",
        form="number",
        about="mean energy of a scored epoch by the trapezoid over power readings, all "
        "accelerators",
        read=lambda row: _read_energy_j(row, "energy_j_trapezoid"),
    ),
    quantity("sensor_term_percent"),
    quantity("requests", key="requests_served"),
    *quantities("input_tokens_per_s", *LATENCIES),
    quantity("node_mean_power_w", interval=False),
    quantity("node_joules_per_item", interval=False),
    Column("paper", about="id of the publication of a published figure", read=lambda r: r.paper),
    Column(
        "paper_table",
        about="table of the publication that has the figure",
        read=lambda row: row.table,
    ),
    quantity("url"),
)
"""The columns of `figures`."""
