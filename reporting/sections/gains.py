"""Columns and tables of what settings of a sweep save and cost against the reference."""

from reporting.report_table import Column
from reporting.sections.cells import Cells, make_estimate_cells
from rules.metrics.gains import EDS_K, Comparison
from rules.metrics.uncertainty import excludes


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
