"""What a worker reports to the simulator about its boards."""

import os
from collections.abc import Sequence

from harness.simulation.board_state import Activity
from harness.simulation.server import VARIABLE, Client


class WorkerBoards:
    """The simulated boards of a worker. They are idle again when the process ends.

    Without a simulator process nothing is reported. Raises MeterError if the simulator that the
    environment names does not answer.
    """

    def __init__(self, uuids: Sequence[str]) -> None:
        path = os.environ.get(VARIABLE)
        self._client = Client(path) if path else None
        self._uuids = uuids

    def set_activity(self, activity: Activity) -> None:
        """Report what the worker does on all its boards. Raises MeterError."""
        if self._client:
            for uuid in self._uuids:
                self._client.ask("set_activity", uuid=uuid, activity=activity)
