"""Grades of rows."""

from collections.abc import Iterable
from enum import StrEnum

from rules.audit.row import RAW, Figure, Row, Topic
from rules.finding import Finding, Severity


class Grade(StrEnum):
    """How far a figure is proven."""

    RECOMPUTED = "recomputed"
    """It follows from samples, counters or logs, and what is stated agrees with it within 1 %."""
    CONSISTENT = "consistent"
    """It is stated, and agrees with other stated figures and with physics."""
    CLAIMED = "claimed"
    """It is stated, and nothing in the source can test it."""
    CONTRADICTED = "contradicted"
    """The source contradicts it."""
    REFUSED = "refused"
    """The source itself calls its power not valid, so that no energy is given."""


_ENERGY_TOPICS = frozenset({Topic.POWER_TIMES_TIME, Topic.RATE, Topic.DURATION})
_ITEM_TOPICS = frozenset({Topic.RATE})


def grade_row(row: Row, findings: Iterable[Finding]) -> Grade:
    """The grade of a row with its findings."""
    if any(finding.severity == Severity.ERROR for finding in findings):
        return Grade.CONTRADICTED
    if row.invalid_reasons:
        return Grade.REFUSED
    return grade_energy(row)


def grade_energy(row: Row) -> Grade:
    """The grade of the energy that the row gives, and of its joules per item where it gives no
    energy, whatever its findings are."""
    if row.energy_j and row.energy_j.basis in RAW:
        return Grade.RECOMPUTED
    return _grade_stated(row, _ENERGY_TOPICS)


def grade_items(row: Row) -> Grade | None:
    """The grade of the items that the row gives, whatever its findings are; None without items."""
    if row.items is None:
        return None
    return Grade.RECOMPUTED if row.items.basis in RAW else _grade_stated(row, _ITEM_TOPICS)


def _grade_stated(row: Row, topics: frozenset[Topic]) -> Grade:
    is_tested = any(
        check.topic in topics and check.agrees and not check.by_construction for check in row.checks
    )
    return Grade.CONSISTENT if is_tested else Grade.CLAIMED


def divide(row: Row) -> Figure | None:
    """The joules per item of a row: those that it gives, or its energy over its items."""
    if row.joules_per_item or not row.energy_j or not row.items or not row.items.value > 0:
        return row.joules_per_item
    energy, items = row.energy_j, row.items.value
    return Figure(
        energy.value / items,
        energy.basis,
        "energy / items",
        None if energy.low is None else energy.low / items,
        None if energy.high is None else energy.high / items,
    )
