"""A board that the rule book does not know

## What it does
Looks up the boards of the run among those whose peak and power limits the rule book has.

## Why it is bad
It is no offence. But without the peak there is no MFU, and bounds on power and throughput cannot be
judged. M118 lists the rules that fall silent, and warns where the name begins as that of a known
board.

## What to do
Propose the board with its data sheet: one line in `rules/boards.py`.

## Source
`rules/boards.py`.
"""

from collections.abc import Iterator

from rules.boards import board
from rules.bundle_format.records import Evidence
from rules.bundle_format.table import SYSTEM
from rules.rule import Bundle, Found, Rule, Severity
from rules.testing.mutations import first_accelerator

RULE = Rule("M107", Severity.NOTE)


@RULE.check
def check(bundle: Bundle) -> Iterator[Found]:
    for n, node in enumerate(bundle.system["nodes"]):
        for a, accelerator in enumerate(node["accelerators"]):
            if (
                accelerator["uuid"] in bundle.accelerator_ranks
                and board(accelerator["name"]) is None
            ):
                yield Found(
                    SYSTEM,
                    f"/nodes/{n}/accelerators/{a}/name",
                    accelerator["name"],
                    "a board with a known peak and known limits",
                    "MFU and the bounds on power and throughput are not judged. Propose "
                    "the board with its data sheet.",
                )


def _rename(evidence: Evidence, only_first: bool) -> None:
    for node in evidence.system["nodes"]:
        for accelerator in node["accelerators"]:
            if not only_first or accelerator["uuid"] == first_accelerator(evidence):
                accelerator["name"] = "Example Accelerator 9000"


@RULE.mutation()
def all_boards_unknown(evidence: Evidence) -> None:
    _rename(evidence, only_first=False)


@RULE.mutation()
def one_board_unknown(evidence: Evidence) -> None:
    _rename(evidence, only_first=True)
