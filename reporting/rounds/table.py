"""The section of the page on changes since an earlier round: a sentence and a table."""

from reporting.quantities import name_line, quantities, quantity
from reporting.report_table import NO_BREAK, Column, ReportTable, format_signed
from reporting.rounds.changes import FigureChange, RoundChanges, SettingChange
from reporting.sections.cells import (
    BundleLink,
    Cells,
    add_mark_columns,
    make_estimate_cells,
    make_mark_cells,
    pluralize,
)
from reporting.sections.compare import (
    COMPARISON_ABOUT,
    SHARED_BOARDS_COLUMN,
    format_about,
    format_label,
)
from reporting.sections.repeats import Setting, make_repeat_cells
from rules.workloads import workloads

_COMPACT_KEYS = (
    "line",
    "change",
    "workload",
    "cap_w",
    "rate_percent",
    "joules_percent",
    "reason",
    "evidence",
)


def build_change_tables(changes: RoundChanges, link: BundleLink) -> list[ReportTable]:
    """The settings that changed, and the number of settings of each change."""
    tables = (build_changes_table(changes, link), build_change_counts_table(changes))
    return [table for table in tables if table is not None]


def build_changes_table(changes: RoundChanges, link: BundleLink) -> ReportTable | None:
    """Each setting that is not unchanged; None without any."""
    cells = [
        _make_cells(setting, link) for setting in changes.settings if setting.change != "unchanged"
    ]
    if not cells:
        return None
    columns = add_mark_columns(
        quantity("line"),
        Column("change", "change"),
        *quantities("workload", "cap_w"),
        *_make_difference_columns("rate", "throughput"),
        *_make_difference_columns("joules", "energy"),
        SHARED_BOARDS_COLUMN,
        Column("reason", "reason and conditions"),
        *_make_side_columns("rate", "throughput", "items/s per accelerator"),
        *_make_side_columns("joules", "energy", "J/item"),
        Column("runs_before", "runs before", "", "count"),
        Column("runs", "runs now", "", "count"),
        Column("item", "item", hidden=True),
    )
    about = format_about(
        changes.spread,
        "A setting has one center, system, workload, precision, cap and the same other settings in "
        "both rounds; its code may differ. ",
    )
    return ReportTable(
        "changes",
        f"Changes since {changes.earlier_name}",
        columns,
        tuple(cells),
        about,
        compact_keys=_COMPACT_KEYS,
    )


def build_change_counts_table(changes: RoundChanges) -> ReportTable | None:
    """The number of settings of each change by workload and system; None without any setting."""
    counts = changes.count()
    if not counts:
        return None
    columns = (
        *quantities("system", "workload"),
        *(Column(change.replace(" ", "_"), change, "", "count") for change in counts),
    )
    cells: list[Cells] = [
        {
            "system": system,
            "workload": workload,
            **{change.replace(" ", "_"): system_counts[change] for change in counts},
        }
        for (workload, system), system_counts in changes.count_by_system().items()
    ]
    title = f"Settings by change since {changes.earlier_name}"
    return ReportTable("change-counts", title, columns, tuple(cells))


def _make_difference_columns(prefix: str, title: str) -> tuple[Column, Column]:
    return (
        Column(
            f"{prefix}_percent",
            f"{title} change",
            "%",
            "signed",
            about="100 (figure now / figure before - 1), with the interval of the ratio",
            interval=True,
        ),
        Column(f"{prefix}_told", f"{title} comparison", about=COMPARISON_ABOUT),
    )


def _make_side_columns(prefix: str, title: str, unit: str) -> tuple[Column, Column]:
    """The figure of both rounds."""
    return (
        Column(f"{prefix}_before", f"{title} before", unit, "number", interval=True),
        Column(f"{prefix}_now", f"{title} now", unit, "number", interval=True),
    )


def _make_cells(setting: SettingChange, link: BundleLink) -> Cells:
    row = setting.row
    return {
        **_make_evidence_cells(setting, link),
        "change": setting.change,
        "workload": row.workload,
        "line": name_line(row),
        "item": workloads()[row.workload].item,
        "reason": setting.reason or None,
        "runs_before": setting.earlier.runs if setting.earlier else None,
        "runs": setting.later.runs if setting.later else None,
        **_make_side_cells("before", setting.earlier),
        **_make_side_cells("now", setting.later),
        **_make_change_cells("rate", setting.rate),
        **_make_change_cells("joules", setting.joules),
    }


def _make_evidence_cells(setting: SettingChange, link: BundleLink) -> Cells:
    if setting.later is not None:
        return make_repeat_cells(setting.later, link)
    # The evidence of the page has no bundle that was withdrawn, that failed or that is gone.
    return {
        **make_mark_cells(setting.row, link),
        "evidence": f"{setting.change} bundle" if setting.bundle else "none in this round",
        "bundle": None,
        "url": link(setting.bundle) if setting.bundle else None,
    }


def _make_side_cells(suffix: str, setting: Setting | None) -> Cells:
    """The figures of one of the two rounds."""
    if setting is None:
        return {}
    return {
        **make_estimate_cells(f"rate_{suffix}", setting.mean.items_per_s_per_accelerator),
        **make_estimate_cells(f"joules_{suffix}", setting.mean.joules_per_item),
    }


def _make_change_cells(prefix: str, change: FigureChange | None) -> Cells:
    if change is None:
        return {}
    return {
        **make_estimate_cells(f"{prefix}_percent", change.percent),
        f"{prefix}_told": change.difference,
        **({SHARED_BOARDS_COLUMN.key: change.shared_boards} if change.shared_boards else {}),
    }


def describe_changes(changes: RoundChanges) -> str:
    """One or two sentences: how many settings changed in which way, and the largest change that
    counts."""
    counts = changes.count()
    if not counts:
        return "Neither round has a closed or open result."
    listed = ", ".join(f"{count} {change}" for change, count in counts.items())
    text = f"Of {pluralize(sum(counts.values()), 'setting')}: {listed}."
    largest = max(
        (
            (abs(change.percent.mean), name, setting, change)
            for setting in changes.settings
            for name, change in (("throughput", setting.rate), ("energy per item", setting.joules))
            if change is not None and change.difference in ("higher", "lower")
        ),
        key=lambda candidate: candidate[0],
        default=None,
    )
    if largest is None:
        return text
    percent, name, setting, change = largest
    title = workloads()[setting.row.workload].title
    return (
        f"{text} Largest change: {name} of {title} on {format_label(setting.row)} is "
        f"{format_signed(percent)}{NO_BREAK}% {change.difference}."
    )
