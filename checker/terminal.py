"""What commands do on a terminal alone: colours, and a line that tells how far a long one is."""

import os
import sys
from collections.abc import Iterable
from typing import TypeVar

import click

from rules.finding import Severity

MANY = 50
"""From how many bundles on it is told how far the judging is."""
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_T = TypeVar("_T")


def colours() -> bool | None:
    """What click.echo is to do with colours: leave it to whether the output is a terminal, but none
    where NO_COLOR is set."""
    return False if os.environ.get("NO_COLOR") else None  # no-color.org


def watched(judged: Iterable[_T], total: int) -> Iterable[_T]:
    """`judged`, one of `total` after the other; where they are many, a line on the terminal tells
    how many were."""
    if total < MANY or not sys.stderr.isatty():
        yield from judged
        return
    with click.progressbar(
        judged, total, "judging", show_pos=True, file=sys.stderr, update_min_steps=total // MANY
    ) as seen:
        yield from seen
