"""The table for planning: cost and carbon of a workload at a site.

Its defaults are assumptions that the page names. The page recomputes the rows when its reader
changes one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reporting.quantities import quantity
from reporting.report_table import Column, ReportTable
from reporting.results_model import ResultRow
from reporting.sections.cells import (
    COMPARED_STANDINGS,
    BundleLink,
    Cells,
    add_mark_columns,
    hide,
    name_load,
    name_setting,
    name_variant,
)
from reporting.sections.compare import describe_limits, format_comparison_group, format_label
from reporting.sections.repeats import (
    JOULES,
    NO_REPEATS,
    RATE,
    RUN_COLUMNS,
    RUNS_BY_BOARD_COLUMN,
    ReportSpread,
    Setting,
    describe_trust,
    join_repeats,
    make_repeat_cells,
    make_run_cells,
    make_runs_by_board_cells,
)
from reporting.sections.section import Section
from rules.metrics import comparison
from rules.metrics.power.profile import NODE_ACCELERATORS, NODE_OVERHEAD_W
from rules.workloads import pluralize_item, workloads


@dataclass(frozen=True)
class Assumptions:
    """Values that are assumed, not measured. `weight` is that of energy relative to performance."""

    price_per_kwh: float = 0.25
    """In EUR."""
    gco2e_per_kwh: float = 400
    pue: float = 1.3
    millions_per_day: float = 100
    weight: float = 0.5
    scaling: Literal["printed", "equal"] = "equal"
    fixed_items: float = 1e7
    """Items of the table of fixed work, as in Latif et al. 2024, section V."""
    rack_kw: float = 70
    redundancy_percent: float = 27
    """Of the rack limit. Both are those of Latif et al. 2024, section VI."""
    node_share_w: float = NODE_OVERHEAD_W
    """Power of a node beside its accelerators, by Mayr et al. 2026."""
    node_share_accelerators: int = NODE_ACCELERATORS
    pdus: int = 0
    """PDUs of the rack; 0 if they do not limit it."""
    pdu_volts: float = 230
    """Between a phase and neutral."""
    pdu_amperes: float = 32
    pdu_phases: int = 3
    pdu_derating_percent: float = 80
    """The share of a breaker's current that may flow all the time."""


DEFAULTS = Assumptions()


WHAT_IF_COLUMNS = add_mark_columns(
    Column("result", "result"),
    quantity("workload"),
    Column(
        "rank",
        "rank",
        "",
        "count",
        about="by score, within a workload and comparison group; results that are not told apart "
        "share a rank",
    ),
    Column(
        "score",
        "score",
        "",
        "number",
        about="100 is the highest throughput at zero energy; see the formula",
    ),
    quantity("items_per_s_per_accelerator", interval=False),
    quantity(
        "power_w",
        title="power",
        kinds=True,
        about="measured mean power, or the cap where no power was measured",
    ),
    quantity("joules_per_item", interval=False),
    Column("eur_per_million", "electricity", "EUR per million items", "number"),
    Column("gco2e_per_million", "carbon", "g CO2e per million items", "number"),
    Column("eur_per_year", "electricity", "EUR a year", "number"),
    Column("kgco2e_per_year", "carbon", "kg CO2e a year", "number"),
    Column(
        "accelerators_needed",
        "accelerators needed",
        "",
        "count",
        about="for the load, spread evenly over the day",
    ),
    Column("like", "comparison group"),
    # The comparison group names the standing.
    *hide(quantity("standing")),
    # The page writes answer cards from these for what its reader chooses.
    Column("name", "setting", hidden=True),
    *hide(quantity("system")),
    Column("variant_in_words", "variant in words", hidden=True),
    Column("load_in_words", "batch size or load in words", hidden=True),
    Column("rate_unit", "unit of the throughput", hidden=True),
    Column("trust", "trust", hidden=True, about="how far others confirm the runs"),
    Column("spread_note", "where the interval comes from", hidden=True),
    Column("joules_per_item_low", "lower end of the interval of energy", hidden=True),
    Column("joules_per_item_high", "upper end of the interval of energy", hidden=True),
    *hide(*RUN_COLUMNS),
    RUNS_BY_BOARD_COLUMN,
)


def build_what_if_table(
    rows: Sequence[ResultRow],
    link: BundleLink,
    spread: ReportSpread = NO_REPEATS,
    assumptions: Assumptions = DEFAULTS,
) -> ReportTable | None:
    """Cost, carbon and score of each setting that may win, by workload, comparison group and
    rank; None without results."""
    cells: list[Cells] = []
    for workload in workloads().values():
        candidates = [
            row
            for row in rows
            if row.workload == workload.id
            and row.may_win
            and row.joules_per_item
            and row.standing in COMPARED_STANDINGS
        ]
        groups: dict[str, list[ResultRow]] = {}
        for row in sorted(candidates, key=lambda row: COMPARED_STANDINGS.index(row.standing)):
            groups.setdefault(format_comparison_group(row), []).append(row)
        for group in groups.values():
            cells += [
                _make_what_if_cells(result.setting, link, assumptions)
                | {"score": result.score, "rank": result.rank}
                for result in _rank(join_repeats(group, spread), assumptions)
            ]
    if not cells:
        return None
    about = WHAT_IF_ABOUT.format(describe_limits(spread))
    return ReportTable(
        "what-if", "What-if analysis", WHAT_IF_COLUMNS, tuple(cells), about, COMPACT_KEYS
    )


COMPACT_KEYS = (
    "result",
    "workload",
    "rank",
    "score",
    "joules_per_item",
    "eur_per_million",
    "gco2e_per_million",
    "like",
    "evidence",
)


WHAT_IF_ABOUT = (
    "Energy is that of the accelerators, or that of whole nodes in their scope. It does not "
    "include idle time and network, nor hosts in the scope of accelerators. Cost and carbon are "
    "those of this energy times the PUE. Results are "
    "ranked within one workload, standing, precision and number of accelerators. Repeats of a "
    "setting are one row with their mean. Results share a rank if they are told apart neither in "
    "throughput nor in energy. {} The energy of published results is assumed, and they share a "
    "rank if both figures are equal."
)


def _make_what_if_cells(setting: Setting, link: BundleLink, assumptions: Assumptions) -> Cells:
    mean = setting.mean
    assert mean.joules_per_item is not None
    joules, rate = mean.joules_per_item.value, mean.items_per_s_per_accelerator.value
    low_j, high_j = mean.joules_per_item.ci95 or (None, None)
    kwh_per_million = comparison.site_kwh(joules, 1e6, assumptions.pue)
    kwh_per_year = comparison.site_kwh(
        joules, comparison.items_per_year(assumptions.millions_per_day), assumptions.pue
    )
    return {
        **make_repeat_cells(setting, link),
        "workload": mean.workload,
        "result": format_label(mean),
        "items_per_s_per_accelerator": rate,
        "items_per_s_per_accelerator_kind": mean.items_per_s_per_accelerator.kind,
        "power_w": mean.mean_power_w.value if mean.mean_power_w else mean.cap_w,
        "power_w_kind": "measured" if mean.mean_power_w else "assumed",
        JOULES: joules,
        f"{JOULES}_kind": mean.joules_per_item.kind,
        f"{JOULES}_low": low_j,
        f"{JOULES}_high": high_j,
        "name": name_setting(mean),
        "system": mean.system,
        "variant_in_words": name_variant(mean) if setting.runs else None,
        "load_in_words": name_load(mean) if setting.runs else None,
        "rate_unit": f"{pluralize_item(workloads()[mean.workload].item)}/s",
        "trust": describe_trust(setting) or None,
        "spread_note": (setting.spread.note_source(mean.model, mean.workload) or None)
        if setting.spread
        else None,
        **make_run_cells(setting),
        **make_runs_by_board_cells(setting),
        "eur_per_million": kwh_per_million * assumptions.price_per_kwh,
        "gco2e_per_million": kwh_per_million * assumptions.gco2e_per_kwh,
        "eur_per_year": kwh_per_year * assumptions.price_per_kwh,
        "kgco2e_per_year": kwh_per_year * assumptions.gco2e_per_kwh / 1e3,
        "accelerators_needed": comparison.accelerators_needed(assumptions.millions_per_day, rate),
        "like": format_comparison_group(mean),
    }


@dataclass(frozen=True)
class RankedSetting:
    """A setting with its score and its rank among the settings that it is ranked with."""

    setting: Setting
    score: float
    rank: int


def _rank(settings: Sequence[Setting], assumptions: Assumptions) -> list[RankedSetting]:
    """The settings by score, highest first. A setting shares the rank of the best one before it
    from which it cannot be told apart."""
    highest_rate, highest_joules = (
        max(values) for values in zip(*map(_list_figures, settings), strict=True)
    )

    def compute_score(setting: Setting) -> float:
        rate, joules = _list_figures(setting)
        return comparison.score(
            joules,
            highest_joules,
            100 * rate / highest_rate,
            assumptions.weight,
            assumptions.scaling,
        )

    ranking: list[RankedSetting] = []
    leader: RankedSetting | None = None
    # Equal scores keep the order of the settings, so that the report is the same every time.
    for place, setting in enumerate(sorted(settings, key=compute_score, reverse=True), start=1):
        is_tie = leader is not None and _is_tie(setting, leader.setting)
        rank = leader.rank if leader is not None and is_tie else place
        ranking.append(RankedSetting(setting, compute_score(setting), rank))
        leader = leader if is_tie else ranking[-1]
    return ranking


def _list_figures(setting: Setting) -> tuple[float, float]:
    """Throughput per accelerator and energy per item."""
    mean = setting.mean
    assert mean.joules_per_item is not None
    return mean.items_per_s_per_accelerator.value, mean.joules_per_item.value


def _is_tie(setting: Setting, leader: Setting) -> bool:
    """Whether two settings are told apart neither in throughput nor in energy."""
    differences = [setting.compare(leader, name) for name in (RATE, JOULES)]
    if None in differences:
        return _list_figures(setting) == _list_figures(leader)
    return not any(difference and difference.counts for difference in differences)


SECTION = Section(
    name="what-if",
    place=110,
    build=lambda page: [build_what_if_table(page.rows, page.link, page.spread)],
    is_for_nodes=True,
    paper_keys=(
        *("workload", "rank", "result", JOULES, "eur_per_million", "gco2e_per_million"),
        *(RATE, "power_w", "like"),
    ),
)
