"""The name of the board begins like that of a known board

## What it does
Looks for boards of the run whose name begins with that of a board in the rule book, with its id or
with its vendor and id, and is not equal to it: `NVIDIA H200 SXM` beside `NVIDIA H200`. M107 reports
such a board too, like every unknown board.

## Why it is bad
Rules that need the data sheet do not apply to an unknown board: W107, W114, W119, T104, T111, E106,
C111, C112, M115, M116, M117 and the statistical rules give no findings, and there is no MFU. Most
often the name is that of a variant. But a changed name is also the easiest way to avoid these
rules, so a reviewer must know.

## What to do
Submit the name as the driver reports it. For a variant, propose the board with its data sheet: one
line in `rules/boards.py`.

## Source
`rules/boards.py`.
"""

from collections.abc import Iterator

from rules.boards import BOARDS
from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M118", Severity.WARNING, standings=("closed", "open"), added="1.3.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator in bundle.listed_accelerators:
        if accelerator.uuid not in bundle.accelerator_ranks or accelerator.board is not None:
            continue
        known_name = _find_known_prefix(accelerator.name)
        if known_name is not None:
            yield Violation(
                SYSTEM,
                f"{accelerator.pointer}/name",
                f"{accelerator.name[:200]!r}, {_describe_difference(accelerator.name, known_name)}",
                f"{known_name!r} exactly, or the name of another board",
            )


def _describe_difference(name: str, known_name: str) -> str:
    # `repr` shows blanks at the ends and characters without a form of their own.
    rest = name[len(known_name) :]
    if name.startswith(known_name) and rest.strip():
        return f"which is {known_name!r} followed by {rest[:200]!r}"
    return f"which differs from {known_name!r} in case or blanks"


def _find_known_prefix(name: str) -> str | None:
    """The name of a board in the rule book with which this name begins."""
    # Case and blanks are the simplest changes of a name.
    normalised = " ".join(name.casefold().split())
    for board in BOARDS:
        for known_name in (*board.names, board.id, f"{board.vendor} {board.id}"):
            if normalised.startswith(known_name.casefold()):
                return known_name
    return None
