"""Repeats: the runs of one configuration at one cap, and what they tell about boards.

Every comparison of the report takes the mean over the repeats of a setting, because the best of
several runs is better than the system is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from reporting.report_table import Column
from reporting.results_model import Figure, ResultRow
from reporting.run_record import describe_ties
from reporting.sections.cells import BundleLink, Cells, list_boards, make_mark_cells, pluralize
from rules.boards import BOARDS
from rules.metrics.comparison import RULE_BOOK_KIND, RULE_BOOK_SPREAD
from rules.metrics.uncertainty.between_runs import (
    RunsByBoard,
    RunSpread,
    SettingDifference,
    compare_settings,
    estimate_another_run,
    pool_run_spread,
    pool_runs_on_one_board,
)
from rules.metrics.uncertainty.repeats import Component, Components, Repeat, compute_components

RATE, JOULES = "items_per_s_per_accelerator", "joules_per_item"
"""The figures whose spread is estimated: fields of `ResultRow` and of `Headline`."""
RUN_COLUMNS = (
    Column("runs", "runs", "", "count", about="repeats that the figures are the mean of"),
    Column("boards_n", "boards", "", "count", about="different boards that the repeats ran on"),
)
RUNS_BY_BOARD_COLUMN = Column(
    "runs_by_board",
    "runs by board",
    hidden=True,
    about="of each board: its name, the number of runs, and their mean throughput and energy",
)
"""What the difference of two settings follows from."""
BOARD_LIMIT_COLUMN = Column(
    "board_limit_percent",
    "board spread",
    "%",
    "number",
    2,
    about="least difference of two runs on different boards that is told apart",
    hidden=True,
)
MIN_DEGREES_OF_FREEDOM = 3
"""With fewer, a spread is too uncertain to judge by."""


@dataclass(frozen=True)
class KindSpread:
    """How far the runs of one setting are apart on boards of one kind, and what that comes from."""

    kind: str
    """The boards whose repeats it comes from."""
    by_figure: Mapping[str, RunSpread]
    """By `RATE` and `JOULES`."""
    runs: int
    boards: int
    settings: int
    workloads: frozenset[str] = frozenset()
    """The workloads of these repeats."""

    def note_source(self, model: str, workload: str) -> str:
        """Where the interval of a workload on a model of board comes from, as a sentence; empty if
        it has repeats of its own."""
        if not self.runs:
            return f"Without repeats, ± is from the {self.kind} boards of the rule book."
        if model != self.kind:
            return f"Too few repeats on {model}: ± is from {self.kind}."
        if workload not in self.workloads:
            return "No repeats of this workload: ± is from other workloads."
        return ""

    def describe(self, model: str) -> str:
        """Where the spread of a model of board comes from."""
        if not self.runs:
            return f"the spread of {self.kind} boards in the rule book, for lack of repeats"
        source = (
            f"the spread of {self.runs} runs of {pluralize(self.settings, 'setting')} on "
            f"{self.boards} {self.kind} boards"
        )
        return source if model == self.kind else f"{source}, for lack of repeats on {model}"

    def get_least_difference_percent(self, figure: str) -> float:
        """The least difference of two single runs on different boards that is told apart."""
        one_run = {"": (1.0,)}, {" ": (1.0,)}
        spread = self.by_figure[figure]
        return compare_settings(one_run[0], spread, one_run[1], spread).ci95[1]


@dataclass(frozen=True)
class ReportSpread:
    """The spread of the repeats of a report, by the model of the board. Models with too few repeats
    are left out."""

    by_model: Mapping[str, KindSpread]
    runs: Mapping[str, Component | None]
    """Between runs on one board, by `RATE` and `JOULES`: few boards have several runs, so all
    models share it. None if there are too few."""

    def find(self, model: str) -> KindSpread:
        """The spread of a model. Without enough repeats, that of the nearest other model: of the
        same peak rates, then of the same vendor, then of the most repeats; without any, that of the
        rule book."""
        if model in self.by_model:
            return self.by_model[model]
        if not self.by_model:
            spreads = {
                name: replace(RULE_BOOK_SPREAD, runs=runs) for name, runs in self.runs.items()
            }
            return KindSpread(RULE_BOOK_KIND, spreads, 0, 0, 0)
        boards = {board.id: board for board in BOARDS}
        board = boards.get(model)

        def get_nearness(kind: str) -> tuple[bool, bool, int]:
            other = boards.get(kind)
            return (
                bool(board and other and board.peak_tflops == other.peak_tflops),
                bool(board and other and board.vendor == other.vendor),
                self.by_model[kind].by_figure[JOULES].boards.degrees_of_freedom,
            )

        return self.by_model[max(self.by_model, key=get_nearness)]

    @property
    def most_known(self) -> KindSpread:
        """The spread from the most repeats."""
        return max(map(self.find, [*self.by_model, RULE_BOOK_KIND]), key=lambda kind: kind.runs)


NO_REPEATS = ReportSpread({}, {RATE: None, JOULES: None})
"""A report whose runs tell nothing about boards."""


@dataclass(frozen=True)
class Setting:
    """The repeated runs of one configuration at one cap, or one published figure."""

    rows: Sequence[ResultRow]
    spread: KindSpread | None = None
    """That of its kind of board; None where figures have no interval."""

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

    @cached_property
    def mean(self) -> ResultRow:
        """The first row with the means over all runs. Their intervals say what another run on
        another board of this kind gives. A published figure has none."""
        first = self.rows[0]
        if first.provenance is None:
            return first
        rate = self._join_figures(RATE, RATE)
        assert rate is not None
        return replace(
            first,
            items_per_s_per_accelerator=rate,
            joules_per_item=self._join_figures(JOULES, JOULES),
            items_per_joule=self._join_figures("items_per_joule", JOULES),
            mean_power_w=self._join_figures("mean_power_w", None),
        )

    def _join_figures(self, name: str, spread_name: str | None) -> Figure | None:
        """The mean of a figure over all runs; None if a run has none. `spread_name` is the figure
        whose spread it has; None without an interval."""
        figures = [getattr(row, name) for row in self.rows]
        if None in figures:
            return None
        if self.spread is None or spread_name is None:
            return Figure(fmean(f.value for f in figures), figures[0].kind, len(figures))
        estimate = estimate_another_run(
            self.list_runs_by_board(name), self.spread.by_figure[spread_name]
        )
        return Figure(estimate.mean, figures[0].kind, estimate.n, estimate.ci95)

    def list_runs_by_board(self, name: str) -> RunsByBoard:
        """A figure of each run, by its boards. Runs without this figure are left out."""
        values: dict[str, list[float]] = {}
        for row in self.rows:
            if (figure := getattr(row, name)) is not None:
                values.setdefault(list_boards(row), []).append(figure.value)
        return values

    def compare(
        self, baseline: "Setting", name: str, on_shared_boards: bool = True
    ) -> SettingDifference | None:
        """How far a figure, `RATE` or `JOULES`, is above that of the baseline, over all runs or
        `on_shared_boards` alone. None if one of them has no such figure or no interval."""
        runs, baseline_runs = self.list_runs_by_board(name), baseline.list_runs_by_board(name)
        if self.spread is None or baseline.spread is None or not runs or not baseline_runs:
            return None
        spreads = self.spread.by_figure[name], baseline.spread.by_figure[name]
        return compare_settings(runs, spreads[0], baseline_runs, spreads[1], on_shared_boards)

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
    ties = describe_ties(tie for p in provenances for tie in p.ties)
    states = ", ".join(f"{n} {state}" for n, state in counts)
    return f"of {len(provenances)} runs, {states}{ties}"


def join_repeats(rows: Iterable[ResultRow], spread: ReportSpread | None = None) -> list[Setting]:
    """The rows by setting, in the order of their first rows. Without `spread`, their means have no
    intervals."""
    repeats: dict[tuple[object, ...], list[ResultRow]] = {}
    for number, row in enumerate(rows):
        # A published figure is never a repeat.
        key = (row.provenance.run.kind, row.cap_w) if row.provenance else (number,)
        repeats.setdefault(key, []).append(row)
    return [make_setting(setting_rows, spread) for setting_rows in repeats.values()]


def make_setting(rows: Sequence[ResultRow], spread: ReportSpread | None) -> Setting:
    """The setting of these repeats, with the spread of its kind of board."""
    is_measured = rows[0].provenance is not None
    return Setting(rows, spread.find(rows[0].model) if spread and is_measured else None)


def state_intervals(rows: Iterable[ResultRow], spread: ReportSpread) -> list[ResultRow]:
    """The rows with the intervals of the page: what another run on another board of the same kind
    gives. The intervals within a run stay in its record. Demo runs are compared with nothing and
    have none."""
    return [
        _state_interval(row, None if row.standing == "demo" else spread) if row.provenance else row
        for row in rows
    ]


def _state_interval(row: ResultRow, spread: ReportSpread | None) -> ResultRow:
    stated = make_setting([row], spread).mean
    joules, naive = stated.joules_per_item, row.naive
    if naive is None or joules is None:
        return stated
    # The estimate is a constant, so the interval of its multiple is that of the energy.
    scale = naive.factor.mean / joules.value
    ci95 = joules.ci95 and (joules.ci95[0] * scale, joules.ci95[1] * scale)
    return replace(stated, naive=replace(naive, factor=replace(naive.factor, ci95=ci95)))


def make_run_cells(setting: Setting) -> Cells:
    """The cells of `RUN_COLUMNS`."""
    return {"runs": setting.runs, "boards_n": setting.boards}


def make_runs_by_board_cells(setting: Setting) -> Cells:
    """The cell of `RUNS_BY_BOARD_COLUMN`."""
    rates, joules = (setting.list_runs_by_board(name) for name in (RATE, JOULES))
    return {
        RUNS_BY_BOARD_COLUMN.key: "; ".join(
            f"{board}, {len(values)}, {fmean(values)!r}, "
            f"{fmean(joules[board]) if board in joules else None!r}"
            for board, values in rates.items()
        )
        if setting.runs
        else None
    }


def make_repeat_cells(setting: Setting, link: BundleLink) -> Cells:
    """The cells of `MARK_COLUMNS` for a setting. They link to the bundles of all its runs."""
    cells = make_mark_cells(setting.rows[0], link)
    if len(setting.rows) > 1:
        cells["evidence"] = pluralize(len(setting.rows), "run")
        cells["bundle"] = " ".join(
            link(row.provenance.run.path) for row in setting.rows if row.provenance
        )
    return cells


def make_limit_cells(spread: ReportSpread | None, figure: str, model: str) -> Cells:
    """The cell of `BOARD_LIMIT_COLUMN` for a figure, `RATE` or `JOULES`, of a model of board; empty
    where results are not compared."""
    limit = spread.find(model).get_least_difference_percent(figure) if spread else None
    return {BOARD_LIMIT_COLUMN.key: limit}


def measure_spread(rows: Sequence[ResultRow]) -> ReportSpread:
    """The spread between runs and boards from the repeats on one accelerator among the rows. Demo
    runs and rows excluded from rankings do not count."""
    repeated_by_model: dict[str, list[Setting]] = {}
    for setting in join_repeats(
        row
        for row in rows
        if row.may_win and row.provenance and row.count == 1 and row.standing != "demo"
    ):
        if len(setting.rows) > 1:
            repeated_by_model.setdefault(setting.rows[0].model, []).append(setting)
    all_repeated = [setting for settings in repeated_by_model.values() for setting in settings]
    shared_runs = {figure: _pool_runs(all_repeated, figure) for figure in (RATE, JOULES)}
    by_model = {}
    for model, settings in repeated_by_model.items():
        spreads = {
            figure: replace(spread, runs=shared_runs[figure])
            for figure in (RATE, JOULES)
            if (spread := pool_run_spread(_list_repeats(settings, figure)))
            and spread.boards.degrees_of_freedom >= MIN_DEGREES_OF_FREEDOM
        }
        if len(spreads) == 2:
            by_model[model] = KindSpread(
                model,
                spreads,
                runs=sum(len(setting.rows) for setting in settings),
                boards=len({board for s in settings for board in s.boards_of_runs}),
                settings=len(settings),
                workloads=frozenset(setting.rows[0].workload for setting in settings),
            )
    return ReportSpread(by_model, shared_runs)


def _list_repeats(settings: Sequence[Setting], figure: str) -> list[RunsByBoard]:
    repeats = [setting.list_runs_by_board(figure) for setting in settings]
    return [runs for runs in repeats if runs]


def _pool_runs(settings: Sequence[Setting], figure: str) -> Component | None:
    """The spread between runs on one board; None if it is too uncertain to judge by."""
    component = pool_runs_on_one_board(_list_repeats(settings, figure))
    if component is None or component.degrees_of_freedom < MIN_DEGREES_OF_FREEDOM:
        return None
    return component
