"""The load of an examination: a board that computes in pulses.

A process of its own computes on a real board: `python -m harness.sensor.load SETTINGS`. It receives
one JSON list of pulses per line, each with start and end in ns of the node's monotonic clock, and
answers with the list of the pulses as they were. A simulated board is switched between two reads.
"""

import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from harness.errors import MeterError
from harness.json_child import ChildEnded, ChildSilent, JsonChild
from harness.power.sources.simulated import SimulatedSource

Pulse = tuple[int, int]
"""Start and end in ns of the node's monotonic clock."""
BLOCK_BYTES = 256 * 2**20
"""Of each of the two tensors. One operation takes a fraction of a millisecond on a GPU."""
START_TIMEOUT_S = 300.0
"""The longest time to import torch and to open the board."""
ANSWER_TIMEOUT_S = 60.0
"""The longest time from the end of the last pulse to the answer."""
SPIN_NS = 500_000
"""The last part of a wait, in which the process does not sleep, because sleeping is late."""


class Load(ABC):
    """What computes on a board in pulses. As a context manager it starts and ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    @abstractmethod
    def play(self, pulses: Sequence[Pulse]) -> None:
        """Begin a series of pulses."""

    def advance(self) -> None:  # noqa: B027  # a process of its own needs no calls
        """Switch the board if a start or an end has come. Called between two reads."""

    @abstractmethod
    def finish(self) -> list[Pulse]:
        """The pulses of the last series as they were. Raises MeterError if the load has ended."""


class SimulatedLoad(Load):
    """Switches a simulated board on and off."""

    def __init__(self, source: SimulatedSource, uuid: str, clock: Callable[[], int]) -> None:
        self._source, self._uuid, self._clock = source, uuid, clock
        self._edges_ns: list[int] = []
        self._switched_ns: list[int] = []

    def play(self, pulses: Sequence[Pulse]) -> None:
        self._edges_ns = [edge_ns for pulse in pulses for edge_ns in pulse]
        self._switched_ns = []

    def advance(self) -> None:
        while len(self._switched_ns) < len(self._edges_ns):
            if self._clock() < self._edges_ns[len(self._switched_ns)]:
                return
            self._source.switch_load(self._uuid, is_on=len(self._switched_ns) % 2 == 0)
            self._switched_ns.append(self._clock())

    def finish(self) -> list[Pulse]:
        if len(self._switched_ns) % 2:
            self._source.switch_load(self._uuid, is_on=False)
            self._switched_ns.append(self._clock())
        return list(zip(self._switched_ns[::2], self._switched_ns[1::2], strict=True))


class ComputingLoad(Load):
    """Computes on a real board in a process of its own. `environment` makes the board the device
    `torch_device` of that process."""

    def __init__(self, environment: Mapping[str, str], torch_device: str) -> None:
        self._environment = {**os.environ, **environment}
        self._torch_device = torch_device
        self._child: JsonChild | None = None
        self._end_ns = 0
        """When the last pulse of the series is to end."""

    def __enter__(self) -> Self:
        arguments = ["-m", "harness.sensor.load", self._torch_device]
        self._child = JsonChild(arguments, self._environment)
        try:
            self._receive(START_TIMEOUT_S)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        if self._child is not None:
            self._child.kill()

    def play(self, pulses: Sequence[Pulse]) -> None:
        assert self._child is not None
        self._end_ns = max((end_ns for _, end_ns in pulses), default=0)
        try:
            self._child.send(pulses)
        except ChildEnded as end:
            raise _make_error(end) from None

    def finish(self) -> list[Pulse]:
        left_s = max(0, self._end_ns - time.monotonic_ns()) / 1e9
        return [(start_ns, end_ns) for start_ns, end_ns in self._receive(left_s + ANSWER_TIMEOUT_S)]

    def _receive(self, timeout_s: float) -> Any:
        assert self._child is not None
        try:
            return self._child.receive(timeout_s)
        except ChildSilent:
            raise MeterError(
                f"the process that loads the board did not answer within {timeout_s:.0f} s; see "
                "whether other processes use the board or its driver hangs, and try again"
            ) from None
        except ChildEnded as end:
            raise _make_error(end) from None


def _make_error(end: ChildEnded) -> MeterError:
    return MeterError(
        f"the process that loads the board has ended with status {end.status}; its error is above"
    )


def main() -> None:
    """The computing process."""
    import torch

    device = torch.device(sys.argv[1])
    elements = BLOCK_BYTES // 4
    block, result = (torch.ones(elements, device=device) for _ in range(2))

    def wait_for_device() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    def compute(until_ns: int) -> None:
        # Two operations at a time: the device never waits for the host, and ends soon after the
        # pulse.
        events: list[Any] = []
        while time.monotonic_ns() < until_ns:
            torch.add(block, result, out=result)
            if device.type == "cuda":
                event = torch.cuda.Event()
                event.record(torch.cuda.current_stream(device))
                events.append(event)
                if len(events) > 1:
                    events.pop(0).synchronize()

    compute(time.monotonic_ns() + 200_000_000)
    wait_for_device()
    print("[]", flush=True)
    for line in sys.stdin:
        pulses = []
        for start_ns, end_ns in json.loads(line):
            _wait_until(start_ns)
            started_ns = time.monotonic_ns()
            compute(end_ns)
            wait_for_device()
            pulses.append((started_ns, time.monotonic_ns()))
        print(json.dumps(pulses), flush=True)


def _wait_until(deadline_ns: int) -> None:
    if (left_ns := deadline_ns - time.monotonic_ns()) > SPIN_NS:
        time.sleep((left_ns - SPIN_NS) / 1e9)
    while time.monotonic_ns() < deadline_ns:
        pass


if __name__ == "__main__":
    main()
