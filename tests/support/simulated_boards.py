"""A simulator whose boards can be lost and swapped, and that counts the limits that are set:

python -m support.simulated_boards ARGUMENT SOCKET PARENT
"""

import sys
import time
from typing import Any
from unittest import mock

from harness.errors import MeterError
from harness.simulation import server
from harness.simulation.board_state import BoardState
from harness.simulation.boards import Boards

SET_S = 0.05
"""How long a limit takes to set, so that kills come meanwhile."""
OTHER_CAP_W = 650.0
"""Of the second board, so that a limit on the wrong board shows."""


class DisturbedBoards(Boards):
    METHODS = (
        *Boards.METHODS,
        *("show_settings", "count_sets", "lose_board", "find_board", "swap_boards"),
    )

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._lost, self._sets = "", 0
        self._two = list(self._boards)[:2]
        self._boards[self._two[1]].cap_w = OTHER_CAP_W

    def set_cap(self, uuid: str, cap_mw: int) -> None:
        time.sleep(SET_S)
        super().set_cap(uuid, cap_mw)
        self._sets += 1

    def show_settings(self) -> dict[str, tuple[int, int]]:
        """The limit in mW and the locked SM clock, or 0, of the two boards of a run."""
        boards = {uuid: self._boards[uuid] for uuid in self._two}
        return {u: (round(1e3 * b.cap_w), b.locked_mhz or 0) for u, b in boards.items()}

    def count_sets(self) -> int:
        return self._sets

    def lose_board(self) -> None:
        self._lost = self._two[0]

    def find_board(self) -> None:
        self._lost = ""

    def swap_boards(self) -> None:
        first, second, *others = self._boards.items()
        self._boards = dict([second, first, *others])

    def _get_board(self, uuid: str) -> BoardState:
        if uuid == self._lost:
            raise MeterError(f"{uuid} does not answer: it has left the bus")
        return super()._get_board(uuid)


if __name__ == "__main__":
    with mock.patch.object(server, "Boards", DisturbedBoards):
        sys.exit(server.main())
