"""Setting a limit and a power state, and the wait until the board shows it."""

from types import SimpleNamespace

import pytest

from harness.errors import MeterError
from harness.power.caps import limits


class SlowBoard:
    """A power source and cap control whose board shows a new state only at the third reading."""

    def __init__(self) -> None:
        self.states = iter(["P0", "P0", "P2"])
        self.readings = 0

    def set_state(self, uuid: str, state: str) -> None:
        assert (uuid, state) == ("A", "P2")

    def read(self, uuid: str) -> SimpleNamespace:
        self.readings += 1
        return SimpleNamespace(power_state=next(self.states))


def test_a_board_may_need_several_readings_to_show_its_new_state(monkeypatch):
    monkeypatch.setattr(limits, "SETTLE_STEP_S", 0.001)
    board = SlowBoard()
    limits.set_state(board, board, "A", "P2")
    assert board.readings == 3


def test_a_board_that_never_shows_its_new_state_is_an_error(monkeypatch):
    monkeypatch.setattr(limits, "SETTLE_TIMEOUT_S", 0.0)
    board = SlowBoard()
    with pytest.raises(MeterError, match="A: the power state P2 was asked for, and the board has"):
        limits.set_state(board, board, "A", "P2")
    assert board.readings == 1
