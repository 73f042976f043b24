"""A board whose name only begins as that of a known one

## What it does
Looks for boards of the run whose name begins with that of a board in the rule book, its id or its
vendor and id, and is another: `NVIDIA H200 NVL` beside `NVIDIA H200`. M107 speaks of such a board
as well, as of every unknown one.

## Why it is bad
What rests on the data sheet is not asked of an unknown board: W107, W114, W119, T104, T111, E106,
C111, C112, M115, M116, M117 and the statistics fall silent, and there is no MFU. Most often the
name is that of a variant; but it is also the cheapest way past those rules, so a reviewer should
know.

## What to do
Hand in the name as the driver gives it. For a variant, propose the board with its data sheet: one
line in `rules/boards.py`.

## Source
`rules/boards.py`.
"""

from collections.abc import Iterator

from rules.boards import BOARDS, board
from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M118", Severity.WARNING, standings=("closed", "open"), added="1.3.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for n, node in enumerate(bundle.system["nodes"]):
        for a, accelerator in enumerate(node["accelerators"]):
            name = accelerator["name"]
            if accelerator["uuid"] not in bundle.accelerator_ranks or board(name) is not None:
                continue
            told = " ".join(name.casefold().split())
            like = next(
                (
                    k
                    for b in BOARDS
                    for k in (*b.names, b.id, f"{b.vendor} {b.id}")
                    if told.startswith(k.casefold())
                ),
                None,
            )
            if like is not None:
                pointer = f"/nodes/{n}/accelerators/{a}/name"
                message = (
                    "Rules on its data sheet fall silent. Give the driver's name, or propose "
                    "the variant as a board."
                )
                yield Violation(
                    SYSTEM, pointer, name[:200], f"{like}, or a board of another name", message
                )
