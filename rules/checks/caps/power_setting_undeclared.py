"""No cap is declared, or a power state that the protocol does not allow

## What it does
Checks that a closed or open bundle declares its power cap, and one of the power states that the
protocol allows. P1 and P2 are allowed on boards whose driver chooses the state (GeForce, TITAN,
Quadro and RTX).

## Why it is bad
A run without a declared cap cannot be placed in a sweep, and nobody can judge whether the cap was
kept. In a lower power state a board has other clocks.

## What to do
Use the power source of the board: `bench-submit` then declares the cap in force, or the cap that
`--cap` sets, and the power state.

## Source
Protocol, sections "caps" and "power state".
"""

from collections.abc import Iterator

from rules.boards import COMPUTE_STATES, driver_chooses_state
from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "C105", Severity.ERROR, standings=("closed", "open", "control"))


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    if bundle.cap_w is None:
        yield Violation(RESULT, "/power/cap_w", "null", "a cap in W")
    state = bundle.declaration.power.state
    boards = [bundle.accelerators.get(uuid) for uuid in bundle.accelerator_ranks]
    chosen = all(board is not None and driver_chooses_state(board.name) for board in boards)
    states = dict.fromkeys((*bundle.protocol.states, *(COMPUTE_STATES if chosen else ())))
    if state not in states:
        allowed = " or ".join(states)
        yield Violation(RESULT, "/power/state", state or "null", allowed)
