"""The changes between two directories as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from checker.printable import printable
from reporting.report_table import format_number, format_signed
from reporting.results_model import Figure, ResultRow
from reporting.rounds.changes import FigureChange, RoundChanges, SettingChange
from reporting.rounds.earlier import EarlierRound
from reporting.sections.cells import distinguish_names, pluralize
from reporting.sections.compare import format_label
from reporting.sections.repeats import JOULES, RATE, Setting
from rules import VERSION
from rules.bundle_format.records import Json
from rules.workloads import workloads

FORMAT = "wattmark-compare/1"
"""The format of the output of `bench-report compare --json`."""

_COLOURS = {
    "better": "green",
    "worse": "red",
    "mixed": "yellow",
    "withdrawn": "magenta",
    "failed": "red",
}
_TITLES = {"new": "only in B", "gone": "only in A"}
"""The changes whose name fits rounds only."""


def format_changes(changes: RoundChanges, later_name: str, slower: Sequence[SettingChange]) -> str:
    """The changes as styled text. `slower` are the settings for which the command fails."""
    lines = [f"A  {printable(changes.earlier_name)}", f"B  {printable(later_name)}"]
    names = distinguish_names(
        [_name_setting(setting.row) for setting in changes.settings],
        [setting.row for setting in changes.settings],
    )
    for setting, name in zip(changes.settings, names, strict=True):
        if setting.change != "unchanged":
            lines += ["", *_format_setting(setting, name)]
    counts = ", ".join(
        f"{count} {_TITLES.get(change, change)}" for change, count in changes.count().items()
    )
    lines += ["", f"{pluralize(len(changes.settings), 'setting')}: {counts}"]
    if slower:
        text = f"{pluralize(len(slower), 'setting')} slower, or without a result in B to compare"
        lines.append(click.style(text, fg="red"))
    return "\n".join(lines)


def _name_setting(row: ResultRow) -> str:
    return f"{workloads()[row.workload].title}, {format_label(row)}"


def _format_setting(setting: SettingChange, name: str) -> Iterator[str]:
    row = setting.row
    workload = workloads()[row.workload]
    title = click.style(
        _TITLES.get(setting.change, setting.change), fg=_COLOURS.get(setting.change), bold=True
    )
    yield f"{title}: {printable(f'{name}, {row.standing}')}"
    for figure, change, unit in (
        ("throughput", setting.rate, f"{workload.item}s/s per accelerator"),
        ("energy", setting.joules, f"J/{workload.item}"),
    ):
        if change is not None:
            yield f"  {figure:<11}{_format_figure(change, unit)}"
    if setting.reason:
        yield f"  {printable(setting.reason)}"


def _format_figure(change: FigureChange, unit: str) -> str:
    low, high = change.percent.ci95 or (None, None)
    interval = (
        "" if low is None or high is None else f" ({format_signed(low)} to {format_signed(high)})"
    )
    on_boards = (
        f", on {pluralize(change.shared_boards, 'shared board')}" if change.shared_boards else ""
    )
    return (
        f"{format_number(change.earlier.value)} \u2192 {format_number(change.later.value)} {unit}, "
        f"{format_signed(change.percent.mean)} %{interval}, {change.difference}{on_boards}"
    )


def describe_comparison(
    changes: RoundChanges,
    earlier: EarlierRound,
    later_name: str,
    slower: Sequence[SettingChange],
) -> Json:
    """The changes of all settings as a JSON document. Units are in names."""
    commit = {"commit": earlier.commit, "date": earlier.date} if earlier.commit else {}
    return {
        "format": FORMAT,
        "rules_version": VERSION,
        "earlier": {"name": earlier.name, **commit},
        "later": {"name": later_name},
        "counts": changes.count(),
        "slower": len(slower),
        "settings": [
            # By identity: the rows behind equal settings are large.
            {**_describe_setting(setting), "slower": any(setting is other for other in slower)}
            for setting in changes.settings
        ],
    }


def _describe_setting(setting: SettingChange) -> dict[str, Any]:
    row = setting.row
    return {
        "change": setting.change,
        "workload": row.workload,
        "standing": row.standing,
        "system": row.system,
        "center": row.center,
        "model": row.model,
        "count": row.count,
        "variant": row.variant,
        "precision": row.precision,
        "cap_w": row.cap_w,
        RATE: _describe_figure(setting.rate),
        JOULES: _describe_figure(setting.joules),
        "reason": setting.reason,
        "earlier_runs": _list_runs(setting.earlier),
        "later_runs": _list_runs(setting.later),
    }


def _describe_figure(change: FigureChange | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {
        "earlier": _describe_value(change.earlier),
        "later": _describe_value(change.later),
        "percent": change.percent.mean,
        "percent_ci95": change.percent.ci95,
        "difference": change.difference,
        "shared_boards": change.shared_boards,
    }


def _describe_value(figure: Figure) -> dict[str, Any]:
    return {"mean": figure.value, "ci95": figure.ci95, "n": figure.n}


def _list_runs(setting: Setting | None) -> list[str]:
    rows = setting.rows if setting else ()
    return [row.provenance.run.run_id for row in rows if row.provenance]
