"""What SIGINT, SIGTERM and SIGHUP do to a run: end it, at once or when something is done."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from harness.run.run_directory import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals() -> Iterator[None]:
    """Turn them into Interrupted while the block runs; a second one during the clean-up is
    ignored."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        ignore()
        raise Interrupted(signal.Signals(number).name, number)

    with _handled_by(interrupt):
        yield


@contextmanager
def deferred() -> Iterator[list[int]]:
    """Let one that arrives while the block runs take effect after it, however it ends. Gives those
    that have arrived so far."""
    arrived: list[int] = []
    try:
        with _handled_by(lambda number, frame: arrived.append(number)):
            yield arrived
    finally:
        if arrived:
            signal.raise_signal(arrived[0])


def ignore() -> None:
    """Let them do nothing from now on."""
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {one: signal.signal(one, handler) for one in SIGNALS}
    try:
        yield
    finally:
        for one, earlier in before.items():
            signal.signal(one, earlier)
