"""Mutations that the rule `board-unknown` must find."""

from rules.bundle_format.records import Evidence
from rules.checks.system.board_unknown import RULE
from rules.testing.case import mutation
from rules.testing.mutations import first_accelerator


def _rename(evidence: Evidence, only_first: bool) -> None:
    for node in evidence.system["nodes"]:
        for accelerator in node["accelerators"]:
            if not only_first or accelerator["uuid"] == first_accelerator(evidence):
                accelerator["name"] = "Example Accelerator 9000"


@mutation(RULE)
def all_boards_unknown(evidence: Evidence) -> None:
    _rename(evidence, only_first=False)


@mutation(RULE)
def one_board_unknown(evidence: Evidence) -> None:
    _rename(evidence, only_first=True)
