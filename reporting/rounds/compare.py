"""What changed between two rounds, by setting.

A setting of a round is the mean over its repeats, as everywhere in the report. It is compared with
the same setting of the earlier round: the same center, system, boards, workload, precision, cap and
other settings. The code of the implementation may differ. A setting whose code differs is compared
with the last one of the earlier round, because a round often measures new code.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from reporting.collect import Collected
from reporting.results_model import Figure, ResultRow
from reporting.rounds.changes import CHANGES, Change, FigureChange, RoundChanges, SettingChange
from reporting.rounds.lost_runs import MISSING, BundleIndex
from reporting.sections.compare import tell_apart
from reporting.sections.repeats import (
    JOULES,
    RATE,
    ReportSpread,
    Setting,
    join_repeats,
)
from rules.metrics.figures import Estimate
from rules.settings import ConfigurationKey

CODE_NAMES = ("implementation sha256", "recipe")
"""The entries of a configuration that may differ between a setting and its earlier one."""
ROUND_STANDINGS = ("closed", "open")
"""The standings whose results a round compares."""

SettingKey = tuple[object, ...]
Identify = Callable[[ResultRow], SettingKey]
"""A function whose values are equal for the rows of settings that are compared with each other."""


def identify_setting(row: ResultRow) -> SettingKey:
    """Equal for the runs of a center on a system that differ in repeat or code only, whatever the
    directory of their round."""
    assert row.provenance is not None
    directory, system, configuration = row.provenance.run.kind
    return row.center, directory.name, system, row.cap_w, configuration.without(CODE_NAMES)


def identify_system(row: ResultRow) -> SettingKey:
    """Center, directory and name of the system of a run."""
    return identify_setting(row)[:3]


def get_configuration(row: ResultRow) -> ConfigurationKey:
    """The configuration of a submitted run."""
    assert row.provenance is not None
    return row.provenance.run.kind.configuration


def compare_rounds(
    earlier: Collected,
    later: Collected,
    earlier_name: str,
    spread: ReportSpread,
    standings: Sequence[str] = ROUND_STANDINGS,
    identify: Identify = identify_setting,
) -> RoundChanges:
    """Compare the submitted results of two rounds that have one of these standings, within the
    groups of equal `identify`."""
    bundles, earlier_bundles = BundleIndex(later), BundleIndex(earlier)
    rows, later_rows = (
        [row for row in collected.all_rows if row.standing in standings]
        for collected in (earlier, later)
    )
    earlier_groups = _group_settings(_share_system_names(rows, later_rows), identify, spread)
    later_groups = _group_settings(later_rows, identify, spread)
    changes: list[SettingChange] = []
    lost_settings: list[Setting] = []
    for key, settings in later_groups.items():
        pairs, unpaired_settings = _pair_settings(earlier_groups.pop(key, []), settings)
        changes += [
            _describe_new_setting(setting, earlier_bundles)
            if earlier_setting is None
            else _compare_settings(earlier_setting, setting, bundles)
            for earlier_setting, setting in pairs
        ]
        lost_settings += unpaired_settings
    lost_settings += [setting for settings in earlier_groups.values() for setting in settings]
    changes += [_describe_lost_setting(setting, bundles) for setting in lost_settings]
    # The sort is stable, so settings of one change keep the order of the rows.
    changes.sort(key=lambda setting: CHANGES.index(setting.change))
    return RoundChanges(earlier_name, tuple(changes), spread)


def _share_system_names(
    rows: Sequence[ResultRow], later_rows: Sequence[ResultRow]
) -> list[ResultRow]:
    """The earlier rows with the names that their systems have in the later round. A name has the
    center only where two centers use it."""
    names = {identify_system(row): row.system for row in later_rows}
    return [replace(row, system=names.get(identify_system(row), row.system)) for row in rows]


def _group_settings(
    rows: Iterable[ResultRow], identify: Identify, spread: ReportSpread
) -> dict[SettingKey, list[Setting]]:
    groups: dict[SettingKey, list[Setting]] = {}
    for setting in join_repeats(rows, spread):
        groups.setdefault(identify(setting.rows[0]), []).append(setting)
    return groups


def _pair_settings(
    earlier: Sequence[Setting], later: Sequence[Setting]
) -> tuple[list[tuple[Setting | None, Setting]], list[Setting]]:
    """Each later setting of one key with the earlier one of its code, or else with the last earlier
    one; and the earlier settings without a later one."""
    by_code = {_read_code(setting): setting for setting in earlier}
    last = max(earlier, key=_find_last_run, default=None)
    pairs = [(by_code.get(_read_code(setting), last), setting) for setting in later]
    paired = [setting for setting, _ in pairs]
    return pairs, [setting for setting in earlier if setting not in paired]


def _read_code(setting: Setting) -> tuple[object, ...]:
    configuration = get_configuration(setting.rows[0])
    return tuple(configuration[name] for name in CODE_NAMES)


def _find_last_run(setting: Setting) -> str:
    # The name of a run begins with its time.
    return max(row.provenance.run.path.name for row in setting.rows if row.provenance)


def _describe_new_setting(setting: Setting, earlier_bundles: BundleIndex) -> SettingChange:
    verdicts = earlier_bundles.list_excluded(setting.rows)
    statuses = {"withdrawn": "withdrawn", "fail": "failed the check"}
    reason = f"{statuses[verdicts[0].status]} in the earlier round" if verdicts else ""
    return SettingChange("new", None, setting, reason=reason)


def _compare_settings(earlier: Setting, later: Setting, bundles: BundleIndex) -> SettingChange:
    winning, winning_earlier = _select_winning(later), _select_winning(earlier)
    has_same_runs = _list_manifests(earlier) == _list_manifests(later)
    if has_same_runs and (winning is None) == (winning_earlier is None):
        return SettingChange("unchanged", earlier, later)
    lost_runs = bundles.describe_lost_runs(earlier.rows)
    # New runs in the place of all earlier ones are usual. Some earlier runs without others are not.
    if lost_runs == [MISSING]:
        lost_runs = []
    reasons = [*lost_runs, *_list_other_conditions(earlier, later)]
    if winning is None or winning_earlier is None:
        exclusions = [
            f"{name} result: {_explain_exclusion(setting)}"
            for name, setting, winning_runs in (
                ("later", later, winning),
                ("earlier", earlier, winning_earlier),
            )
            if winning_runs is None
        ]
        return SettingChange(
            "not compared", earlier, later, reason="; ".join([*exclusions, *reasons])
        )
    rate = _compare_figure(RATE, winning_earlier, winning)
    joules = _compare_figure(JOULES, winning_earlier, winning)
    return SettingChange(
        _judge_figures(rate, joules), winning_earlier, winning, rate, joules, "; ".join(reasons)
    )


def _select_winning(setting: Setting) -> Setting | None:
    """The runs of a setting that may be compared; None without any."""
    rows = [row for row in setting.rows if row.may_win]
    return replace(setting, rows=rows) if rows else None


def _list_manifests(setting: Setting) -> list[str]:
    return sorted(row.provenance.manifest_sha256 for row in setting.rows if row.provenance)


def _explain_exclusion(setting: Setting) -> str:
    row = setting.rows[0]
    return row.implausible or row.doubt or row.withheld or "not compared"


def _list_other_conditions(earlier: Setting, later: Setting) -> Iterator[str]:
    """Conditions of the runs that differ, although the settings are compared."""
    if _read_code(earlier) != _read_code(later):
        yield "other code of the implementation"
    conditions, later_conditions = _read_conditions(earlier), _read_conditions(later)
    for name, value in conditions.items():
        if value != later_conditions[name]:
            yield f"{name}: {_format(value)} \u2192 {_format(later_conditions[name])}"


def _read_conditions(setting: Setting) -> dict[str, object]:
    """Conditions of runs by name, without their code."""
    row = setting.rows[0]
    configuration = get_configuration(row).without(CODE_NAMES)
    named = {"system": row.system, "cap in W": row.cap_w}
    return {**named, **configuration, "driver": _list_drivers(setting)}


def _format(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_format, value)) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _list_drivers(setting: Setting) -> str:
    """The versions of the driver of all runs."""
    drivers = {row.provenance.run.environment.driver for row in setting.rows if row.provenance}
    return " and ".join(sorted(driver or "unknown" for driver in drivers))


def _compare_figure(name: str, earlier: Setting, later: Setting) -> FigureChange | None:
    """The change of `RATE` or `JOULES`."""
    figure: Figure | None = getattr(later.mean, name)
    earlier_figure: Figure | None = getattr(earlier.mean, name)
    if figure is None or earlier_figure is None:
        return None
    difference = later.compare(earlier, name)
    assert difference is not None
    return FigureChange(
        earlier_figure,
        figure,
        tell_apart(difference),
        Estimate(difference.percent, figure.n or 1, None, difference.ci95),
        difference.boards or None,
    )


def _judge_figures(rate: FigureChange | None, joules: FigureChange | None) -> Change:
    """Higher throughput and lower energy per item are better."""
    directions = {
        change.difference == better
        for change, better in ((rate, "higher"), (joules, "lower"))
        if change is not None and change.difference in ("higher", "lower")
    }
    if len(directions) == 2:
        return "mixed"
    return "not told apart" if not directions else "better" if directions.pop() else "worse"


def _describe_lost_setting(setting: Setting, bundles: BundleIndex) -> SettingChange:
    """A setting none of whose runs counts in the later round."""
    verdicts = bundles.list_excluded(setting.rows)
    changes: dict[str, Change] = {"withdrawn": "withdrawn", "fail": "failed"}
    reasons = bundles.describe_lost_runs(setting.rows) or ["its runs have another setting now"]
    return SettingChange(
        changes[verdicts[0].status] if verdicts else "gone",
        setting,
        None,
        reason="; ".join(reasons),
        bundle=verdicts[0].path if verdicts else None,
    )
