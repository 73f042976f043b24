"""Checks of a row whose two figures differ."""

from collections.abc import Iterator

from rules.audit.row import Row, Topic
from rules.finding import Violation


def find_contradictions(row: Row, topic: Topic) -> Iterator[Violation]:
    """A violation for each check on `topic` that fails."""
    for check in row.checks:
        if check.topic == topic and not check.agrees:
            yield Violation(
                row.place,
                "",
                f"{check.what}: {check.stated:.8g} {check.unit} is stated "
                f"({check.difference:+.3g} of the other)",
                f"{check.computed:.8g} {check.unit}, from {check.how}, within "
                f"{check.tolerance:.2g}",
            )
