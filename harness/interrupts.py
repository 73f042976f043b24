"""What SIGINT, SIGTERM and SIGHUP do to a run: end it, at once or after a block."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """SIGINT, SIGTERM or SIGHUP arrived. Not an Exception, so that nothing but the end of the run
    catches it."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self.number = number


@contextmanager
def signals() -> Iterator[None]:
    """Raise Interrupted when one of the signals arrives while the block runs.

    Further signals are ignored, so that they cannot end the clean-up.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        ignore()
        raise Interrupted(signal.Signals(number).name, number)

    with _handled_by(interrupt):
        yield


@contextmanager
def deferred() -> Iterator[list[int]]:
    """Defer a signal that arrives while the block runs until the block has ended, also by an
    exception. Yields the list of the signals so far."""
    arrived: list[int] = []
    try:
        with _handled_by(lambda number, frame: arrived.append(number)):
            yield arrived
    finally:
        if arrived:
            signal.raise_signal(arrived[0])


def ignore() -> None:
    """Ignore the signals from now on."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    previous = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, previous_handler in previous.items():
            signal.signal(number, previous_handler)
