"""The board contradicts its data sheet

## What it does
Compares, for the boards that the rule book knows, the highest power (`max_power_w`) and the memory
in system.json with the vendor's data sheet. The power may be at most 1 % higher than in the data
sheet, and the memory must be 90 to 102 % of it. Simulated boards are skipped.

The data sheet limits what a bundle may state. A bundle cannot declare a peak of its own.

## Why it is bad
A variant with other limits has other figures and must not appear under the name of the standard
board, or the name is wrong. It is a warning, because vendors sell variants to order, such as an
A100 of 500 W.

## What to do
Check the name that the driver reports. If the board is a variant, say so in the name of the system.

## Source
The vendors' data sheets, see `rules/boards.py`.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(
    __name__, "M116", Severity.WARNING, standings=("closed", "open", "control"), added="1.3.0"
)

POWER_TOLERANCE = 1.01
MEMORY_SHARES = (0.9, 1.02)
"""Range of the stated memory, as shares of the data sheet: drivers reserve a part of it."""


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for accelerator in bundle.listed_accelerators:
        board = accelerator.board
        # A simulated board may state any limits, because its power is a model.
        if board is None or accelerator.is_simulated:
            continue
        max_w, memory_bytes = accelerator.max_power_w, accelerator.memory_bytes
        sheet_w = board.max_power_w
        if max_w is not None and sheet_w is not None and max_w > sheet_w * POWER_TOLERANCE:
            yield Violation(
                SYSTEM,
                f"{accelerator.pointer}/max_power_w",
                f"{max_w:g} W",
                f"at most {sheet_w:g} W, by the data sheet of {board.id}",
            )
        low_bytes, high_bytes = (share * board.memory_gib * 2**30 for share in MEMORY_SHARES)
        if memory_bytes is not None and not low_bytes <= memory_bytes <= high_bytes:
            yield Violation(
                SYSTEM,
                f"{accelerator.pointer}/memory_bytes",
                f"{memory_bytes / 2**30:.1f} GiB",
                f"about {board.memory_gib:g} GiB, by the data sheet of {board.id}",
            )
