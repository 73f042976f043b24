"""Which setting a sentence names: the one with the least energy per item of a standing, and those
that cannot be told apart from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reporting.quantities import describe_provenance
from reporting.report_table import escape_invisible
from reporting.results_model import Figure, ResultRow
from reporting.sections.repeats import JOULES, ReportSpread, Setting, join_repeats


@dataclass(frozen=True)
class Choice:
    """The setting with the least energy per item among the settings of its standing: that of least
    mean that no other one is below on boards that both ran on."""

    best: Setting
    ties: tuple[Setting, ...]
    """The settings that cannot be told apart from it, the least energy first."""
    others: tuple[Setting, ...]
    """All other settings of its standing, the least energy first."""

    @property
    def is_alone(self) -> bool:
        """Whether its standing has no other setting."""
        return not self.others


def get_joules(setting: Setting) -> Figure:
    """The energy per item of a setting that has one."""
    figure = setting.mean.joules_per_item
    assert figure is not None
    return figure


def choose_setting(rows: Iterable[ResultRow], standing: str, spread: ReportSpread) -> Choice | None:
    """The choice among the rows of a standing that may win and are not simulated; None without such
    a row that has an energy."""
    candidates = [
        row
        for row in rows
        if row.standing == standing
        and row.may_win
        and row.joules_per_item is not None
        and describe_provenance(row) != "simulated"
    ]
    if not candidates:
        return None
    settings = sorted(join_repeats(candidates, spread), key=lambda s: get_joules(s).value)
    best = _find_least(settings)
    rest = [setting for setting in settings if setting is not best]
    ties = tuple(setting for setting in rest if not is_more_energy(setting, best))
    return Choice(best, ties, tuple(rest))


def _find_least(settings: Sequence[Setting]) -> Setting:
    """The setting with the least mean that no other one is below on boards that both ran on."""
    boards = [set(setting.boards_of_runs) for setting in settings]
    for setting, own_boards in zip(settings, boards, strict=True):
        rivals = (
            other
            for other, other_boards in zip(settings, boards, strict=True)
            if other is not setting and own_boards & other_boards
        )
        if not any(is_more_energy(setting, rival) for rival in rivals):
            return setting
    return settings[0]


def choose_least_setting(rows: Iterable[ResultRow], spread: ReportSpread) -> Setting | None:
    """The setting of least energy per item of all measured rows that may win; None without one."""
    choices = [choose_setting(rows, standing, spread) for standing in ("closed", "open")]
    settings = [choice.best for choice in choices if choice]
    return min(settings, key=lambda setting: get_joules(setting).value, default=None)


def is_more_energy(setting: Setting, best: Setting) -> bool:
    """Whether a setting needs more energy per item than another one, told apart from it."""
    difference = setting.compare(best, JOULES)
    return difference is not None and difference.counts and difference.percent > 0


def group_published_series(
    rows: Sequence[ResultRow],
) -> dict[tuple[str, str], list[ResultRow]]:
    """The published rows over the cap that count within their series, by publication and board.
    These include rows of which only the shape of the series is compared."""
    series: dict[tuple[str, str], list[ResultRow]] = {}
    for row in rows:
        if row.provenance is None and row.comparable and row.joules_per_item and row.cap_w:
            name = escape_invisible(row.system), escape_invisible(row.model)
            series.setdefault(name, []).append(row)
    return series


def find_published_peaks(rows: Sequence[ResultRow]) -> dict[tuple[str, str], float]:
    """The cap of least energy of each published series, by publication and board. A series has no
    known peak if this cap is its lowest or highest comparable one."""
    peaks = {}
    for name, members in group_published_series(rows).items():
        best = min(members, key=lambda row: row.joules_per_item.value if row.joules_per_item else 0)
        caps_w = [row.cap_w for row in members if row.cap_w]
        if best.cap_w and min(caps_w) < best.cap_w < max(caps_w):
            peaks[name] = best.cap_w
    return peaks
