"""An audit as text of 80 columns."""

import textwrap
from collections import Counter
from collections.abc import Iterator

from checker.audit.audit import Audit, JudgedRow
from checker.printable import printable
from rules.audit.grades import Grade, divide, grade_energy, grade_items
from rules.audit.row import Figure, Row
from rules.finding import format_count

COLUMNS = 80
_LABEL_COLUMNS = 10


def render(audit: Audit) -> str:
    """The text of an audit."""
    blocks = ["\n".join(_render_row(item)) for item in audit.rows]
    if audit.failures:
        lines = [_wrap(f"{failure.path}: {failure.text}", "", "  ") for failure in audit.failures]
        blocks.append("\n".join(lines))
    counts = Counter(item.grade for item in audit.rows)
    grades = [f"{counts[grade]} {grade}" for grade in Grade if counts[grade]]
    summary = f"{format_count(len(audit.rows), 'row')} audited"
    summary += f": {', '.join(grades)}" if grades else ""
    if audit.failures:
        summary += f"; {len(audit.failures)} not read"
    return "\n\n".join([*blocks, _wrap(summary, "", "  ")])


def _render_row(item: JudgedRow) -> Iterator[str]:
    row = item.row
    yield _wrap(f"{item.grade}: {item.path / row.place} ({row.source})", "", "  ")
    if context := _describe(row):
        yield _wrap(context, "  ", "  ")
    if row.energy_j:
        text = _format_figure(row.energy_j, "J")
        yield _wrap_field("energy", f"{grade_energy(row)}: {text}, {row.energy_j.how}")
    if row.items:
        text = f"{row.items.value:.10g} {row.unit}s"
        yield _wrap_field("items", f"{grade_items(row)}: {text}, {row.items.how}")
    if per_item := divide(row):
        prefix = "" if row.energy_j else f"{grade_energy(row)}: "
        text = f"{prefix}{_format_figure(per_item, f'J per {row.unit}')}"
        yield _wrap_field("J/item", text if row.energy_j else f"{text}, {per_item.how}")
    for finding in item.findings:
        place = f"{finding.file}: " if finding.file != row.place else ""
        text = f"{finding.severity}: {place}{finding.found}; expected: {finding.expected}"
        yield _wrap_field(finding.rule, text)
    for check in row.checks:
        if check.agrees:
            word = "by construction: " if check.by_construction else ""
            text = f"{word}{check.what} {check.stated:.6g} {check.unit} and {check.how}"
            yield _wrap_field("agrees", text)
    if row.missing:
        yield _wrap_field("missing", "; ".join(row.missing))
    for remark in row.remarks:
        yield _wrap_field("note", remark)


def _describe(row: Row) -> str:
    parts = [row.system, row.workload]
    if row.boards:
        parts.append(f"{format_count(row.boards, 'board')} {row.board}".strip())
    elif row.board:
        parts.append(row.board)
    else:
        parts.append(str(row.scope))
    if row.duration_s is not None:
        parts.append(f"{row.duration_s:.6g} s")
    if row.mean_power_w is not None:
        parts.append(f"{row.mean_power_w:.8g} W")
    elif row.board_power_w is not None:
        parts.append(f"{row.board_power_w:.8g} W per board")
    if row.cap_w is not None:
        parts.append(f"cap {row.cap_w:g} W")
    return ", ".join(part for part in parts if part)


def _format_figure(figure: Figure, unit: str) -> str:
    text = f"{figure.value:.8g} {unit}"
    if figure.low is not None and figure.high is not None:
        text += f" [{figure.low:.6g}, {figure.high:.6g}]"
    return text


def _wrap_field(label: str, text: str) -> str:
    return _wrap(text, f"  {label:<{_LABEL_COLUMNS - 2}}", " " * _LABEL_COLUMNS)


def _wrap(text: str, first: str, others: str) -> str:
    return textwrap.fill(
        printable(text),
        COLUMNS,
        initial_indent=first,
        subsequent_indent=others,
        break_on_hyphens=False,
        break_long_words=False,
    )
