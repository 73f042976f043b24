"""The columns of `foreign`: the audited results of other programs."""

from collections.abc import Callable
from typing import Any

from reporting.foreign.evidence import STANDING, ForeignRow
from reporting.report_table import Column, Form
from rules.audit.grades import divide
from rules.audit.row import RAW, Figure, Row
from rules.audit.stated import (
    compute_deviation,
    find_power_w,
    find_rate,
    find_recomputed_energy_j,
    find_stated_energy_j,
)
from rules.finding import Finding


def _define(
    key: str, form: Form, unit: str, about: str, read: Callable[[ForeignRow], Any]
) -> Column[ForeignRow]:
    return Column(key, "", unit, form, about=about, read=read)


def _divide(row: Row, is_raw: bool) -> float | None:
    """The joules per item of a row if they are recomputed, or if they are not."""
    figure: Figure | None = divide(row)
    return figure.value if figure and (figure.basis in RAW) == is_raw else None


def _compute_deviation_percent(item: ForeignRow) -> float | None:
    deviation = compute_deviation(item.row)
    return None if deviation is None else 100 * deviation


def _format_finding(finding: Finding) -> str:
    return f"{finding.rule} {finding.severity}: {finding.found}; expected {finding.expected}"


FOREIGN_COLUMNS: tuple[Column[ForeignRow], ...] = (
    _define("standing", "text", "", "foreign: compared with nothing", lambda _: STANDING),
    _define("source", "text", "", "kind of evidence", lambda r: r.row.source),
    _define("name", "text", "", "as the source names it", lambda r: r.name),
    _define("place", "text", "", "file and row", lambda r: r.place),
    _define("file", "text", "", "main file", lambda r: r.file),
    _define("file_sha256", "text", "SHA-256", "of `file`", lambda r: r.sha256),
    _define(
        *("files", "text", "", "SHA-256 and name of each file"),
        lambda r: "; ".join(f"{digest} {name}" for name, digest in r.hashes) or None,
    ),
    _define("url", "text", "", "by source.toml", lambda r: r.declaration.url),
    _define(
        *("retrieved", "date", "", "by source.toml"),
        lambda r: r.declaration.retrieved and r.declaration.retrieved.isoformat(),
    ),
    _define("licence", "text", "", "by source.toml", lambda r: r.declaration.licence),
    _define("grade", "text", "", "as by `bench-check audit`", lambda r: r.grade.value),
    _define("power_of", "text", "", "boards, node …", lambda r: r.row.scope.value),
    _define("unit", "text", "", "one item", lambda r: r.row.unit),
    _define("duration_s", "number", "s", "of the window", lambda r: r.row.duration_s),
    _define("stated_j", "number", "J", "stated", lambda r: find_stated_energy_j(r.row)),
    _define(
        "recomputed_j", "number", "J", "from raw data", lambda r: find_recomputed_energy_j(r.row)
    ),
    _define(
        "deviation_percent", "number", "%", "stated minus recomputed", _compute_deviation_percent
    ),
    _define(
        "stated_joules_per_item", "number", "J/item", "stated", lambda r: _divide(r.row, False)
    ),
    _define(
        "recomputed_joules_per_item",
        "number",
        "J/item",
        "from raw data",
        lambda r: _divide(r.row, True),
    ),
    _define("items_per_s", "number", "items/s", "rate", lambda r: find_rate(r.row)),
    _define("mean_power_w", "number", "W", "mean of `power_of`", lambda r: find_power_w(r.row)),
    _define(
        *("findings", "text", "", "of family F"),
        lambda r: " | ".join(map(_format_finding, r.findings)) or None,
    ),
)
