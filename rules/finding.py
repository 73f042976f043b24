"""What a rule reports: a violation, and the finding that it becomes."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """What a finding means for the bundle."""

    ERROR = "error"
    """The bundle may not be used."""
    WARNING = "warning"
    """The bundle is accepted and shown with a mark."""
    NOTE = "note"
    """A reviewer should look at it."""


def format_count(number: int, noun: str) -> str:
    """A number with its noun, such as `1 reading` and `2 batches`."""
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{ending}"


@dataclass(frozen=True)
class Violation:
    """What a check reports: where it looked, what it found there and what it expected."""

    file: str
    pointer: str
    """A JSON pointer (`/epochs/3/items`) in a JSON file, `row 12` or `rows 12-40` in a table, empty
    for the whole file."""
    found: str
    expected: str
    message: str = ""
    """What it means or what to do about it. Empty: the section "What to do" of the rule's page."""
    severity: Severity | None = None
    """That of the milder of two thresholds; None for the severity of the rule."""


@dataclass(frozen=True)
class Finding:
    """A violation with the id and the severity of its rule."""

    rule: str
    severity: Severity
    file: str
    pointer: str
    found: str
    expected: str
    message: str
    waived: str = ""
    """The file of the waiver that lifts this finding. Empty without one."""


@dataclass(frozen=True)
class Problem:
    """A violation of form or integrity that occurs while a bundle is read. `rule` is the id of the
    rule that reports it."""

    rule: str
    violation: Violation
