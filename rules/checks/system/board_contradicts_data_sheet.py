"""A board that is not that of its data sheet

## What it does
Compares, for the boards that the rule book knows, the highest power (`max_power_w`) and the memory
of system.json with the maker's data sheet: not more power than the sheet has, and between 90 and
102 % of its memory. Simulated boards are left out.

The sheet's values bound what the bundle may claim, whatever it declares; a bundle cannot declare a
peak of its own.

## Why it is bad
A variant with other limits has other figures, and should not stand under the name of the usual one;
or the name is wrong. It is a warning, because makers sell variants to order, such as an A100 of 500
W.

## What to do
Check the name that the driver reports. If the board is a variant, say so in the name of the system.

## Source
The makers' data sheets, see `rules/boards.py`.
"""

from collections.abc import Iterator

from rules.boards import SIMULATED_PREFIX, board
from rules.bundle import Bundle
from rules.bundle_format.records import Json
from rules.bundle_format.table import SYSTEM
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "M116", Severity.WARNING, standings=("closed", "open"), added="1.3.0")

POWER_TOLERANCE = 1.01
MEMORY_SHARES = (0.9, 1.02)


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    for n, node in enumerate(bundle.system["nodes"]):
        for a, accelerator in enumerate(node["accelerators"]):
            known, pointer = board(accelerator["name"]), f"/nodes/{n}/accelerators/{a}"
            if known is None or accelerator["name"].startswith(SIMULATED_PREFIX):
                continue
            max_w, memory_bytes = accelerator["max_power_w"], accelerator["memory_bytes"]
            if max_w is not None and max_w > known.max_power_w * POWER_TOLERANCE:
                yield _found(
                    f"{pointer}/max_power_w",
                    f"{max_w:g} W",
                    f"at most {known.max_power_w:g} W",
                    accelerator,
                )
            least, most = (share * known.memory_gib * 2**30 for share in MEMORY_SHARES)
            if memory_bytes is not None and not least <= memory_bytes <= most:
                found = f"{memory_bytes / 2**30:.1f} GiB"
                yield _found(
                    f"{pointer}/memory_bytes", found, f"about {known.memory_gib:g} GiB", accelerator
                )


def _found(pointer: str, found: str, expected: str, accelerator: Json) -> Violation:
    message = (
        f"This is not the {accelerator['name'][:80]} of the data sheet. Check the name, or say "
        "which variant it is."
    )
    return Violation(SYSTEM, pointer, found, f"{expected}, by the data sheet", message)
