"""The power state in which a board has to compute."""

from rules.boards import COMPUTE_STATES, driver_chooses_state
from rules.bundle_format.table import Text


def find_required_state(declared: str, name: str, states: Text) -> str:
    """The power state that a board with the reported name `name` must keep, for its sampled states.
    Where its driver chooses the state, it is the one in which the board computes most of the
    time."""
    if declared not in COMPUTE_STATES or not driver_chooses_state(name):
        return declared
    return max(COMPUTE_STATES, key=lambda state: int(states.equals(state).sum()))
