"""Columns and tables of what settings of a sweep save and cost against the reference."""

from collections.abc import Sequence
from dataclasses import dataclass

from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    FACET_COLUMNS,
    Cells,
    find_boards,
    make_estimate_cells,
    make_facet_cells,
)
from rules.metrics.sweeps.best_settings import SHOWN_EDS_K, BestSetting, find_best_settings
from rules.metrics.sweeps.gains import EDS_K, Comparison
from rules.metrics.sweeps.points import Point
from rules.metrics.uncertainty.propagation import excludes


def make_gain_columns(item: str, reference: str) -> tuple[Column, ...]:
    """The columns of `make_gain_cells`. `reference` says where the reference is, such as `at the
    default cap`."""
    return (
        Column(
            "energy_gain_percent",
            "energy gain",
            "%",
            "signed",
            about=f"100 (1 - E / E {reference}), for the same work",
            interval=True,
        ),
        Column(
            "extra_time_percent",
            "extra time",
            "%",
            "signed",
            about=f"for the same work: 100 (t / t {reference} - 1); called performance loss in "
            "Koszczał et al. 2023",
            interval=True,
        ),
        Column(
            "gain_minus_extra_time_points",
            "gain \u2212 extra time",
            "points",
            "signed",
            interval=True,
        ),
        Column(
            "edp_js",
            "EDP",
            f"J s/{item}²",
            "number",
            about="energy-delay product of one item",
            interval=True,
        ),
        Column("edp_gain_percent", "EDP gain", "%", "signed", interval=True),
        *(
            Column(
                f"eds_gain_k{k:g}_percent".replace(".", ""),
                f"EDS gain, k = {k:g}",
                "%",
                "signed",
                about="energy-delay sum; k is the allowed ratio of time",
                interval=True,
            )
            for k in EDS_K
        ),
        Column(
            "interval_basis",
            "intervals are",
            about="between repeated runs of the sweep, or only between the epochs of single runs",
        ),
    )


def make_gain_cells(comparison: Comparison | None) -> Cells:
    """The cells of a comparison with the reference; none without one."""
    if comparison is None:
        return {}
    cells: Cells = {}
    for key in (
        "energy_gain_percent",
        "extra_time_percent",
        "gain_minus_extra_time_points",
        "edp_js",
        "edp_gain_percent",
    ):
        cells |= make_estimate_cells(key, getattr(comparison, key))
    for k, gain in comparison.eds_gain_percent.items():
        cells |= make_estimate_cells(f"eds_gain_k{k:g}_percent".replace(".", ""), gain)
    basis = {"runs": "between runs", "epochs": "within single runs", None: None}[comparison.basis]
    return {**cells, "interval_basis": basis}


def list_not_told_apart(comparison: Comparison) -> list[str]:
    """The figures of a comparison whose interval contains zero."""
    figures = {
        "energy gain": comparison.energy_gain_percent,
        "extra time": comparison.extra_time_percent,
        "gain \u2212 extra time": comparison.gain_minus_extra_time_points,
        "EDP gain": comparison.edp_gain_percent,
        **{f"EDS gain, k = {k:g}": gain for k, gain in comparison.eds_gain_percent.items()},
    }
    return [name for name, gain in figures.items() if excludes(gain.ci95, 0.0) is False]


@dataclass(frozen=True)
class ComparedSettings:
    """The comparable settings of a sweep, by their labels and in their order, and the one that they
    are compared with."""

    kind: tuple[object, ...]
    """What all runs of the sweep have in common."""
    sweep: str
    points: dict[str, Point]
    reference: Point
    rows_by_setting: dict[str, tuple[ResultRow, ...]]
    """All runs of the sweep, by the labels of their settings."""

    @property
    def rows(self) -> list[ResultRow]:
        """All runs of the sweep."""
        return [row for rows in self.rows_by_setting.values() for row in rows]

    def list_on_other_boards(self, label: str) -> list[str]:
        """The comparable settings that share no board with the one of this label."""
        boards = find_boards(self.rows_by_setting[label])
        return [
            setting
            for setting in self.points
            if boards.isdisjoint(find_boards(self.rows_by_setting[setting]))
        ]


_OTHER_BOARDS = Column(
    "other_boards",
    "on other boards",
    about="settings that share no board with the best one; their intervals do not contain the "
    "difference between boards",
)


def build_settings_table(
    sweeps: Sequence[ComparedSettings], id: str, title: str
) -> ReportTable | None:
    """The best setting of each sweep by each metric; None without a sweep."""
    columns = (
        Column("line", "sweep"),
        Column("metric", "metric"),
        Column("setting", "best setting"),
        Column("gain", "gain", "% or points", "signed", interval=True),
        Column(
            "not_told_apart",
            "cannot be told from",
            about="settings whose difference from the best one has an interval that contains zero",
        ),
        _OTHER_BOARDS,
        *_select_shared_facets(sweeps),
    )
    keys = {column.key for column in columns}
    best_settings = [
        (sweep, best)
        for sweep in sweeps
        for best in find_best_settings(list(sweep.points.values()), sweep.reference, SHOWN_EDS_K)
    ]
    if not best_settings:
        return None
    cells = [
        _make_setting_cells(sweep, best)
        | {key: cell for key, cell in make_facet_cells(sweep.rows[0]).items() if key in keys}
        for sweep, best in best_settings
    ]
    if not any("other_boards" in row for row in cells):
        columns = tuple(column for column in columns if column is not _OTHER_BOARDS)
    return ReportTable(
        id,
        title,
        columns,
        tuple(cells),
        SETTINGS_ABOUT,
        identities=tuple((sweep.kind, best.metric.label) for sweep, best in best_settings),
        # The best setting of whole nodes can be another one.
        name_keys=frozenset({"line"}),
    )


def _select_shared_facets(sweeps: Sequence[ComparedSettings]) -> list[Column]:
    """The columns of `FACET_COLUMNS` in which the runs of each sweep are equal. A choice of the
    others would leave out a part of a sweep."""

    def is_shared(key: str) -> bool:
        return all(len({make_facet_cells(row)[key] for row in s.rows}) == 1 for s in sweeps)

    return [column for column in FACET_COLUMNS if is_shared(column.key)]


SETTINGS_ABOUT = (
    "The setting with the highest gain against the reference by each metric of Koszczał et al. "
    "2023. Of equal settings, the lower one is best. Gains are in percent, those of "
    "gain minus extra time in percentage points. k is the allowed ratio of time: a large k weighs "
    "energy, a k near 1 weighs time."
)


def _make_setting_cells(sweep: ComparedSettings, best: BestSetting) -> Cells:
    labels = {point: label for label, point in sweep.points.items()}
    other_boards = sweep.list_on_other_boards(labels[best.point])
    others = [point for point in best.not_told_apart or () if point != best.point]
    return {
        "line": sweep.sweep,
        "metric": best.metric.label,
        "setting": labels[best.point],
        **make_estimate_cells("gain", best.gain),
        "not_told_apart": None
        if best.not_told_apart is None
        else ", ".join(labels[point] for point in others) or "no other setting",
        **({"other_boards": ", ".join(other_boards)} if other_boards else {}),
    }
