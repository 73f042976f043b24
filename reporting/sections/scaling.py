"""Runs on several accelerators beside those on one."""

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.report_table import Column, Table
from reporting.results_model import Row
from reporting.sections.results import MARKS, Cells, Link, figure, marks
from reporting.sections.sweeps import point_of
from rules.metrics import run as metrics
from rules.metrics import sweeps
from rules.metrics.sweeps import combine
from rules.workloads import Workload


@dataclass(frozen=True)
class Several:
    """A run on several accelerators, and how it does against the runs on one."""

    row: Row
    on_one: float | None
    """Items/s on one accelerator; None where there is no such run."""
    against: sweeps.Scaling | None
    """None where there is no run on one accelerator, or no cap."""


def scaling(rows: Sequence[Row]) -> list[Several]:
    """Every submitted row of several accelerators, or every demo row of several, by their number,
    system and cap."""
    several = sorted(
        (r for r in rows if (r.count or 0) > 1),
        key=lambda r: (r.count or 0, r.system, r.cap_w or 0),
    )
    return [_beside(row, _on_one(row, rows)) for row in several]


def _on_one(row: Row, rows: Sequence[Row]) -> Sequence[Row]:
    """The runs on one accelerator to compare a row with: those of the same system, or else the
    fastest, repeats of each other.

    They have the row's workload, standing, variant, precision, board, cap and requests, and may win
    a comparison.
    """
    alike: dict[tuple[object, ...], list[Row]] = {}
    for one in rows:
        if one.count == 1 and one.comparable and one.trail and _kind(one) == _kind(row):
            alike.setdefault(one.trail.run.kind, []).append(one)
    return max(
        alike.values(), key=lambda own: (own[0].system == row.system, _rate(own)), default=()
    )


def _beside(row: Row, ones: Sequence[Row]) -> Several:
    own, points = point_of(row), [p for one in ones if (p := point_of(one))]
    against = sweeps.scaling(own, row.count or 0, combine(points)[0]) if own and points else None
    return Several(row, _rate(ones) if ones else None, against)


def _rate(rows: Sequence[Row]) -> float:
    return float(metrics.summary([row.items_per_s_per_accelerator.value for row in rows])["mean"])


def _kind(row: Row) -> tuple[object, ...]:
    requests = row.trail.run.result["settings"].get("requests") if row.trail else None
    sent = requests and (
        requests["prompt_tokens"],
        requests["output_tokens"],
        requests["rate_per_s"],
    )
    return row.workload, row.standing, row.variant, row.precision, row.model, row.cap_w, sent


def scaling_table(
    workload: Workload, found: Sequence[Several], link: Link, id: str, title: str
) -> Table:
    """Runs on several accelerators against those on one, and how far their accelerators are
    apart."""
    columns = (
        Column("line", "run"),
        Column("count", "accelerators", "", "count"),
        Column("cap_w", "cap", "W per accelerator", "count"),
        Column(
            "items_per_s_per_accelerator",
            "throughput",
            f"{workload.item}s/s per accelerator",
            "number",
            interval=True,
        ),
        Column("on_one", "throughput on one", f"{workload.item}s/s", "number"),
        Column("speed_up", "speed-up", "", "number"),
        Column(
            "efficiency_percent",
            "scaling efficiency",
            "%",
            "number",
            about="speed-up / number of accelerators",
        ),
        Column("energy_per_item_ratio", "energy per item", "\u00d7 that on one", "number"),
        Column("active_apart_percent", "spread of active time", "%", "signed"),
        Column("power_apart_percent", "spread of power", "%", "signed"),
        Column("sm_apart_percent", "spread of SM clock", "%", "signed"),
        *(column for column in MARKS if column.key != "line"),
    )
    return Table(id, title, columns, tuple(_cells(one, link) for one in found), ABOUT)


ABOUT = (
    "Each run is compared with runs on one accelerator of the same model at the same cap: those "
    "of the same system, or else the fastest. The board may be another one. Repeated runs are "
    "averaged. Spread is (largest \u2212 smallest) / mean of the accelerators over the scored "
    "epochs. Accelerators that synchronise in every step have equal active times."
)


def _cells(one: Several, link: Link) -> Cells:
    row, against = one.row, one.against
    apart = (row.trail and row.trail.run.imbalance) or {}
    shares = {
        f"{key}_apart_percent": None if apart.get(name) is None else apart[name] * 100
        for key, name in (("active", "active_s"), ("power", "mean_power_w"), ("sm", "mean_sm_mhz"))
    }
    rate = figure("items_per_s_per_accelerator", row.items_per_s_per_accelerator)
    del rate["items_per_s_per_accelerator_kind"]
    return {
        **marks(row, link),
        "count": row.count,
        "cap_w": row.cap_w,
        **rate,
        "on_one": one.on_one,
        "speed_up": against.speed_up if against else None,
        "efficiency_percent": against.efficiency * 100 if against else None,
        "energy_per_item_ratio": against.energy_per_item_ratio if against else None,
        **shares,
    }
