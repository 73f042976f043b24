"""Which results of two directories `bench-report compare` compares with each other."""

from collections.abc import Sequence

from reporting.collect import Collected
from reporting.results_model import ResultRow
from reporting.rounds.changes import RoundChanges, SettingChange
from reporting.rounds.compare import (
    CODE_NAMES,
    Identify,
    SettingKey,
    compare_rounds,
    get_configuration,
    identify_setting,
    identify_system,
)
from reporting.rounds.earlier import EarlierRound
from reporting.sections.repeats import ReportSpread, join_repeats, measure_spread

_STANDINGS = ("closed", "open", "demo")
"""Control runs are compared with no result."""


class NothingToCompareError(Exception):
    """The two directories have no results that can be compared. The message says why."""


def compare_results(earlier: EarlierRound, later: Collected, later_name: str) -> RoundChanges:
    """Compare the closed, open and demo runs below two directories: those of equal settings; else
    those of equal work on two systems; else the two single settings, if they are of one workload.

    Raises NothingToCompareError.
    """
    rows, later_rows = _list_runs(earlier.collected), _list_runs(later)
    for name, runs in ((earlier.name, rows), (later_name, later_rows)):
        if not runs:
            raise NothingToCompareError(
                f"{name}: no closed, open or demo run there passes the check; bench-check says why"
            )
    identify = _choose_identity(rows, later_rows)
    if identify is None:
        raise NothingToCompareError(
            f"{earlier.name} and {later_name} have no setting in common, and are not two systems "
            "with equal work; name two bundles of one workload, two systems, or two rounds"
        )
    spread = _measure_common_spread(rows, later_rows)
    return compare_rounds(earlier.collected, later, earlier.name, spread, _STANDINGS, identify)


def _list_runs(collected: Collected) -> list[ResultRow]:
    return [row for row in collected.rows if row.standing in _STANDINGS]


def _choose_identity(earlier: Sequence[ResultRow], later: Sequence[ResultRow]) -> Identify | None:
    """The strictest identity that results of both sides share; None without any."""
    identities = [identify_setting]
    if all(len({identify_system(row) for row in rows}) == 1 for rows in (earlier, later)):
        identities.append(_identify_work)
    if all(len(join_repeats(rows)) == 1 for rows in (earlier, later)):
        identities.append(_identify_workload)
    for identify in identities:
        if set(map(identify, earlier)) & set(map(identify, later)):
            return identify
    return None


def _identify_work(row: ResultRow) -> SettingKey:
    """The cap, the number of boards, and the configuration without the kind of the boards."""
    return row.cap_w, row.count, get_configuration(row).without((*CODE_NAMES, "boards"))


def _identify_workload(row: ResultRow) -> SettingKey:
    configuration = get_configuration(row)
    return configuration["workload"], configuration["size"]


def _measure_common_spread(
    earlier: Sequence[ResultRow], later: Sequence[ResultRow]
) -> ReportSpread:
    """The spread of the repeats of both sides. A run of both sides counts once."""
    manifests = {row.provenance.manifest_sha256 for row in later if row.provenance}
    earlier_only = [
        row for row in earlier if row.provenance and row.provenance.manifest_sha256 not in manifests
    ]
    return measure_spread([*earlier_only, *later])


def find_slower(changes: RoundChanges, percent: float) -> list[SettingChange]:
    """The settings whose throughput is lower by at least `percent` %, and the earlier settings
    without a later result to compare. `percent` takes the place of the spread between runs and
    boards. Two single runs whose intervals within the run overlap are not slower."""
    return [setting for setting in changes.settings if _is_slower(setting, percent)]


def _is_slower(setting: SettingChange, percent: float) -> bool:
    if setting.change in ("new", "unchanged"):
        return False
    if setting.rate is None:
        return True
    return setting.rate.percent.mean <= -percent and not _may_be_noise(setting)


def _may_be_noise(setting: SettingChange) -> bool:
    """Whether two single runs have intervals within the run that overlap: epochs that differ as
    much as the runs do show no change."""
    runs = [row for side in (setting.earlier, setting.later) if side for row in side.rows]
    intervals = [ci95 for row in runs if (ci95 := row.items_per_s_per_accelerator.ci95)]
    if len(runs) != 2 or len(intervals) != 2:
        return False
    (low, high), (later_low, later_high) = intervals
    return low <= later_high and later_low <= high
