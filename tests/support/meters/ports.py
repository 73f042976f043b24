"""Free ports of this node for the servers of tests."""

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

PORTS = range(20_000, 32_000)
"""Below the ports that Linux gives to whoever asks for any, such as the clients of other tests."""


def find_free_port(udp: bool = False, count: int = 1) -> int:
    """The first of `count` successive ports that no program has."""
    kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
    # Tests that run at the same time must not draw the same ports, so no seed counts.
    for port in random.SystemRandom().sample(PORTS, 100):
        with ExitStack() as stack, suppress(OSError):
            for number in range(port, port + count):
                stack.enter_context(socket.socket(socket.AF_INET, kind)).bind(("", number))
            return port
    raise AssertionError("no port is free")


@contextmanager
def reserve_closed_port() -> Iterator[int]:
    """Yield a port that refuses connections. No other program gets it while the block runs."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port: int = closed.getsockname()[1]
        yield port
