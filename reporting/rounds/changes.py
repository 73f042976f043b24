"""Records of what changed between two rounds."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from reporting.results_model import Figure, ResultRow
from reporting.sections.repeats import ReportSpread, Setting
from rules.metrics.figures import Estimate

Change = Literal[
    "better",
    "worse",
    "mixed",
    "new",
    "withdrawn",
    "failed",
    "gone",
    "not compared",
    "not told apart",
    "unchanged",
]
"""In the order in which a page lists them:

- better, worse: throughput or energy per item differs in this direction
- mixed: one figure is better, the other one worse
- new: the earlier round has no such setting
- withdrawn, failed: no run of the setting is left, because runs were withdrawn or fail the check
- gone: no run of the setting is left, and the later round has none of them
- not compared: one of the two settings may not be compared with others
- not told apart: the 95 % intervals of both differences hold zero
- unchanged: both rounds have the same runs
"""
CHANGES: tuple[Change, ...] = get_args(Change)


@dataclass(frozen=True)
class FigureChange:
    """How a figure of a setting differs from that of the earlier round."""

    earlier: Figure
    later: Figure
    difference: str
    """See `tell_apart`."""
    percent: Estimate
    """In percent of the earlier figure."""
    shared_boards: int | None
    """The number of boards that both settings ran on, if the change is that on these alone."""


@dataclass(frozen=True)
class SettingChange:
    """What became of one setting. `earlier` is None for a new setting, `later` for one without
    runs that count."""

    change: Change
    earlier: Setting | None
    later: Setting | None
    rate: FigureChange | None = None
    """Of throughput per accelerator. None unless both settings may be compared."""
    joules: FigureChange | None = None
    """Of energy per item. None unless both settings may be compared and have energy."""
    reason: str = ""
    """Why runs of the earlier round no longer count, why the settings are not compared, and which
    conditions of the runs differ."""
    bundle: Path | None = None
    """The bundle of the later round that was withdrawn or fails, if `later` is None."""

    @property
    def row(self) -> ResultRow:
        """The mean of the later setting, or else of the earlier one."""
        setting = self.later or self.earlier
        assert setting is not None
        return setting.mean


@dataclass(frozen=True)
class RoundChanges:
    """All settings of two rounds."""

    earlier_name: str
    """What the user calls the earlier round: a directory or a revision."""
    settings: tuple[SettingChange, ...]
    """By change, in the order of `CHANGES`, and then in that of the rows."""
    spread: ReportSpread
    """Tells which differences count."""

    def count(self) -> dict[Change, int]:
        """The number of settings of each change, without changes that no setting has."""
        counts = Counter(setting.change for setting in self.settings)
        return {change: counts[change] for change in CHANGES if counts[change]}

    def count_by_system(self) -> dict[tuple[str, str], Counter[Change]]:
        """The number of settings of each change by workload and system."""
        counts: dict[tuple[str, str], Counter[Change]] = {}
        for setting in self.settings:
            key = (setting.row.workload, setting.row.system)
            counts.setdefault(key, Counter())[setting.change] += 1
        return dict(sorted(counts.items()))
