"""Which setting a sentence names: the one with the least energy per item of a standing, and those
that cannot be told apart from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reporting.report_table import escape_invisible
from reporting.results_model import Figure, ResultRow
from reporting.sections.cells import describe_provenance
from reporting.sections.compare import compare_figures
from reporting.sections.repeats import JOULES, ReportSpread, Setting, join_repeats


@dataclass(frozen=True)
class Choice:
    """The setting with the least energy per item, and the other settings of its standing."""

    best: Setting
    ties: tuple[Setting, ...]
    """The settings that cannot be told apart from it, the least energy first."""
    worse: tuple[Setting, ...]
    """The settings that need more energy, the least energy first."""


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
    best, *others = sorted(join_repeats(candidates), key=lambda s: get_joules(s).value)
    ties = [setting for setting in others if not is_more_energy(setting, best, spread)]
    return Choice(best, tuple(ties), tuple(setting for setting in others if setting not in ties))


def is_more_energy(setting: Setting, best: Setting, spread: ReportSpread) -> bool:
    """Whether a setting needs more energy per item than another one, beyond intervals and board
    spread."""
    limit = spread.by_figure[JOULES].get_limit_percent(setting, best)
    return compare_figures(get_joules(setting), get_joules(best), limit) == "higher"


def find_published_peaks(rows: Sequence[ResultRow]) -> dict[tuple[str, str], float]:
    """The most efficient cap of each published series, by its publication and board. A series has
    no known peak if this cap is its lowest or highest comparable one."""
    series: dict[tuple[str, str], list[ResultRow]] = {}
    for row in rows:
        if row.provenance is None and row.may_win and row.items_per_joule and row.cap_w:
            series.setdefault(
                (escape_invisible(row.system), escape_invisible(row.model)), []
            ).append(row)
    peaks = {}
    for name, members in series.items():
        best = max(members, key=lambda row: row.items_per_joule.value if row.items_per_joule else 0)
        caps_w = [row.cap_w for row in members if row.cap_w]
        if best.cap_w and min(caps_w) < best.cap_w < max(caps_w):
            peaks[name] = best.cap_w
    return peaks
