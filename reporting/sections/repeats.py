"""Repeats: the runs of one configuration at one cap, and what they tell about boards.

Every comparison of the report takes the mean over the repeats of a setting, because the best of
several runs is better than the system is.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from reporting.report_table import Column
from reporting.results_model import Figure, ResultRow
from reporting.sections.cells import BundleLink, Cells, list_boards, make_mark_cells, pluralize
from rules.metrics.comparison import BOARD_SPREAD_PERCENT
from rules.metrics.figures import estimate_mean
from rules.metrics.uncertainty.repeats import (
    Component,
    Components,
    Repeat,
    compute_components,
    count_effective_boards,
    least_difference_percent,
    pool_components,
)

RATE, JOULES = "items_per_s_per_accelerator", "joules_per_item"
"""The figures whose spread is estimated: fields of `ResultRow` and of `Headline`."""
RUN_COLUMNS = (
    Column("runs", "runs", "", "count", about="repeats that the figures are the mean of"),
    Column("boards_n", "boards", "", "count", about="different boards that the repeats ran on"),
)
SPREAD_COLUMNS = (
    Column("boards", "names of the boards", hidden=True),
    Column("boards_effective", "effective number of boards", "", "number", hidden=True),
)
"""What the least difference of two settings follows from, beside the number of runs."""
BOARD_LIMIT_COLUMN = Column(
    "board_limit_percent",
    "board spread",
    "%",
    "number",
    2,
    about="least difference of two runs on different boards that counts",
    hidden=True,
)
MIN_DEGREES_OF_FREEDOM = 3
"""With fewer, the spread of the runs of a report is too uncertain to judge by."""


@dataclass(frozen=True)
class Setting:
    """The repeated runs of one configuration at one cap, or one published figure."""

    rows: Sequence[ResultRow]

    @property
    def runs(self) -> int | None:
        """None for a published figure."""
        return len(self.rows) if self.rows[0].provenance else None

    @property
    def boards_of_runs(self) -> list[str]:
        """The boards of each run, as one text; empty for a published figure."""
        return [list_boards(row) for row in self.rows if row.provenance]

    @property
    def boards(self) -> int | None:
        """The number of different boards; None for a published figure."""
        return len({board for boards in self.boards_of_runs for board in boards.split()}) or None

    @property
    def boards_text(self) -> str:
        """The boards of all runs; equal for settings on the same ones."""
        return " / ".join(sorted(set(self.boards_of_runs)))

    @property
    def effective_boards(self) -> float | None:
        """See `count_effective_boards`; None for a published figure."""
        return count_effective_boards(self.boards_of_runs) if self.runs else None

    @cached_property
    def mean(self) -> ResultRow:
        """The first row with the means over all repeats. With several runs, intervals are those
        over runs."""
        first = self.rows[0]
        if len(self.rows) == 1:
            return first
        rate = _join_figures([row.items_per_s_per_accelerator for row in self.rows])
        assert rate is not None
        return replace(
            first,
            items_per_s_per_accelerator=rate,
            joules_per_item=_join_figures([row.joules_per_item for row in self.rows]),
            items_per_joule=_join_figures([row.items_per_joule for row in self.rows]),
            mean_power_w=_join_figures([row.mean_power_w for row in self.rows]),
        )

    def compute_components(self, figure: str) -> Components | None:
        """The spread of a figure, `RATE` or `JOULES`; None for a published figure, or if a run has
        no such figure."""
        repeats = []
        for row in self.rows:
            headline = row.provenance.run.headline if row.provenance else None
            estimate = getattr(headline, figure, None)
            if estimate is None or not estimate.mean > 0:
                return None
            repeats.append(Repeat(list_boards(row), estimate.mean, estimate.n, estimate.sd))
        return compute_components(repeats)


def _join_figures(figures: Sequence[Figure | None]) -> Figure | None:
    run_figures = [figure for figure in figures if figure is not None]
    if len(run_figures) < len(figures):
        return None
    over_runs = estimate_mean([figure.value for figure in run_figures])
    return Figure(over_runs.mean, run_figures[0].kind, over_runs.n, over_runs.ci95)


def describe_trust(setting: Setting) -> str:
    """How far others confirm the runs: `not reviewed, accepted, reproduced by 1`; of several runs,
    `of 4 runs, 0 reviewed, 3 accepted, 1 reproduced`. Empty for a published figure."""
    provenances = [row.provenance for row in setting.rows if row.provenance]
    if len(provenances) < 2:
        return provenances[0].trust if provenances else ""
    counts = (
        (sum(bool(p.reviewers) for p in provenances), "reviewed"),
        (sum(bool(p.accepted) for p in provenances), "accepted"),
        (sum(bool(p.reproducers) for p in provenances), "reproduced"),
    )
    return f"of {len(provenances)} runs, " + ", ".join(f"{n} {state}" for n, state in counts)


def join_repeats(rows: Iterable[ResultRow]) -> list[Setting]:
    """The rows by setting, in the order of their first rows."""
    repeats: dict[tuple[object, ...], list[ResultRow]] = {}
    for number, row in enumerate(rows):
        # A published figure is never a repeat.
        key = (row.provenance.run.kind, row.cap_w) if row.provenance else (number,)
        repeats.setdefault(key, []).append(row)
    return [Setting(setting_rows) for setting_rows in repeats.values()]


def make_run_cells(setting: Setting) -> Cells:
    """The cells of `RUN_COLUMNS`."""
    return {"runs": setting.runs, "boards_n": setting.boards}


def make_spread_cells(setting: Setting) -> Cells:
    """The cells of `SPREAD_COLUMNS`."""
    return {"boards": setting.boards_text, "boards_effective": setting.effective_boards}


def make_repeat_cells(setting: Setting, link: BundleLink) -> Cells:
    """The cells of `MARK_COLUMNS` for a setting. They link to the bundles of all its runs."""
    cells = make_mark_cells(setting.rows[0], link)
    if len(setting.rows) > 1:
        cells["evidence"] = pluralize(len(setting.rows), "run")
        cells["bundle"] = " ".join(
            link(row.provenance.run.path) for row in setting.rows if row.provenance
        )
    return cells


@dataclass(frozen=True)
class FigureSpread:
    """How far repeats of one figure are apart, over all settings of a report."""

    boards: Component | None
    """Between boards with one run each."""
    runs: Component | None
    """Between runs on one board."""

    @property
    def known_boards(self) -> Component | None:
        """The spread between boards; None if it comes from too few repeats."""
        return _drop_uncertain(self.boards)

    @property
    def known_runs(self) -> Component | None:
        """The spread between runs on one board; None if it comes from too few repeats."""
        return _drop_uncertain(self.runs)

    def get_single_limit_percent(self, same_board: bool) -> float:
        """The least difference of two single runs that counts. Between boards without enough
        repeats in this report, it is `BOARD_SPREAD_PERCENT`. Runs on the same boards differ by no
        more than runs on others, so the limit between boards holds for them too until runs on one
        board are known."""
        spread = (self.known_runs if same_board else None) or self.known_boards
        return BOARD_SPREAD_PERCENT if spread is None else least_difference_percent(spread)

    def get_limit_percent(self, setting: Setting, baseline: Setting) -> float:
        """The least difference of two settings that counts: repeats on several boards, or several
        runs if both settings ran on one and the same board, make it smaller."""
        same_board = len(set(setting.boards_of_runs)) == 1 and (
            setting.boards_text == baseline.boards_text
        )
        counts = [(s.runs if same_board else s.effective_boards) or 1 for s in (setting, baseline)]
        share = math.sqrt(sum(1 / count for count in counts) / 2)
        return self.get_single_limit_percent(same_board) * share


def _drop_uncertain(component: Component | None) -> Component | None:
    if component is None or component.degrees_of_freedom < MIN_DEGREES_OF_FREEDOM:
        return None
    return component


@dataclass(frozen=True)
class ReportSpread:
    """The spread of the repeats of a report by figure, and how many runs and boards it comes
    from."""

    by_figure: dict[str, FigureSpread]
    runs: int
    boards: int
    settings: int


NO_REPEATS = ReportSpread(
    {RATE: FigureSpread(None, None), JOULES: FigureSpread(None, None)}, 0, 0, 0
)
"""A report whose runs tell nothing about boards."""


def make_limit_cells(spread: ReportSpread | None, figure: str) -> Cells:
    """The cell of `BOARD_LIMIT_COLUMN` for a figure, `RATE` or `JOULES`; empty where results are
    not compared."""
    limit = spread.by_figure[figure].get_single_limit_percent(False) if spread else None
    return {BOARD_LIMIT_COLUMN.key: limit}


def measure_spread(rows: Sequence[ResultRow]) -> ReportSpread:
    """The spread between runs and boards from the repeats on one accelerator among the rows. Demo
    runs and rows excluded from rankings do not count."""
    repeated = [
        setting
        for setting in join_repeats(
            row
            for row in rows
            if row.may_win and row.provenance and row.count == 1 and row.standing != "demo"
        )
        if len(setting.rows) > 1
    ]
    return ReportSpread(
        {
            figure: _pool_spread([setting.compute_components(figure) for setting in repeated])
            for figure in (RATE, JOULES)
        },
        runs=sum(len(setting.rows) for setting in repeated),
        boards=len({boards for setting in repeated for boards in setting.boards_of_runs}),
        settings=len(repeated),
    )


def _pool_spread(components: Sequence[Components | None]) -> FigureSpread:
    spreads = [component for component in components if component is not None]
    return FigureSpread(
        pool_components(spread.boards for spread in spreads),
        pool_components(spread.runs for spread in spreads),
    )
