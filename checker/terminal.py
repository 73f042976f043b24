"""What commands show on a terminal only: colours, and a progress bar."""

import os
import sys
from collections.abc import Iterable
from typing import TypeVar

import click

from rules.finding import Severity

PROGRESS_FROM = 50
"""The smallest number of bundles for which a progress bar is shown."""
SEVERITY_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_T = TypeVar("_T")


def colour_mode() -> bool | None:
    """The argument `color` for click.echo: False if NO_COLOR is set, otherwise None, so that click
    asks whether the output is a terminal."""
    return False if os.environ.get("NO_COLOR") else None  # no-color.org


def show_progress(judged: Iterable[_T], total: int) -> Iterable[_T]:
    """Pass on `judged`, `total` items, and show a progress bar on the terminal if there are
    many."""
    if total < PROGRESS_FROM or not sys.stderr.isatty():
        yield from judged
        return
    with click.progressbar(
        judged,
        total,
        "judging",
        show_pos=True,
        file=sys.stderr,
        # Redrawing for every bundle would slow a large round down.
        update_min_steps=total // PROGRESS_FROM,
    ) as items:
        yield from items
