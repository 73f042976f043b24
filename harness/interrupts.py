"""Handlers of SIGINT, SIGTERM and SIGHUP, which end a run at once or after a block."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """SIGINT, SIGTERM or SIGHUP arrived. It is not an Exception, so that only the end of the run
    catches it."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self.number = number


@contextmanager
def raise_interrupts() -> Iterator[None]:
    """Raise Interrupted when one of the signals arrives while the block runs.

    Further signals are ignored, so that they cannot end the clean-up.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        ignore_signals()
        raise Interrupted(signal.Signals(number).name, number)

    with _handled_by(interrupt):
        yield


@contextmanager
def defer_signals() -> Iterator[list[int]]:
    """Defer a signal that arrives while the block runs until the block has ended, also by an
    exception. Yields the list of the signals so far."""
    signals: list[int] = []
    try:
        with _handled_by(lambda number, frame: signals.append(number)):
            yield signals
    finally:
        if signals:
            signal.raise_signal(signals[0])


def ignore_signals() -> None:
    """Ignore the signals from now on."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def ignore_all_signals() -> None:
    """Ignore every signal that can be ignored from now on."""
    # Libraries wait for processes that they start, and SIGCHLD tells them of the end of these.
    kept = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}
    for number in signal.valid_signals() - kept:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    previous = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, previous_handler in previous.items():
            signal.signal(number, previous_handler)
