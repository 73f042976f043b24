"""Cards of two dies (MI250 and MI250X), which are two GPUs with one reading of power.

The first die of a card gives power, energy and cap of the card. The second one gives none. Sources:
the second dies of https://github.com/ROCm/rocm_smi_lib/issues/160; the order of the dies in
https://docs.olcf.ornl.gov/systems/frontier_user_guide.html.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TWO_DIES = re.compile(r"\bMI250X?\b")


@dataclass(frozen=True)
class Die:
    """A GPU of a node, in HIP's order."""

    name: str
    serial: str
    """Of the card, on some drivers of the die; empty if it is not known."""
    has_power: bool


def pair_dies(dies: Sequence[Die]) -> Mapping[int, int | None]:
    """The number of the other die of the card, for each die of a card with one reading; None if the
    other die is not there.

    Two dies of a card have one serial number, or follow each other.
    """
    numbers = [n for n, die in enumerate(dies) if TWO_DIES.search(die.name)]
    pairs: dict[int, int | None] = {}
    for n in numbers:
        serial = dies[n].serial
        others = [m for m in numbers if m != n and serial and dies[m].serial == serial]
        if len(others) == 1 and dies[n].has_power != dies[others[0]].has_power:
            pairs[n] = others[0]
    for n in numbers:
        if n in pairs or not dies[n].has_power:
            continue
        follows = n + 1 in numbers and n + 1 not in pairs and not dies[n + 1].has_power
        pairs[n] = n + 1 if follows else None
        if follows:
            pairs[n + 1] = n
    # Where every die has power of its own, each is a board.
    if all(dies[n].has_power for n in numbers) and len(numbers) > 1:
        return {}
    return {n: pairs.get(n) for n in numbers}


def divide(values: Mapping[str, int | None], share: int) -> dict[str, Any]:
    """The part of each quantity of a card that counts for one of `share` dies."""
    return {name: None if value is None else value // share for name, value in values.items()}
