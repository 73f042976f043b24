"""Free ports of 127.0.0.1."""

import socket


def find_free_port(udp: bool = False) -> int:
    """A port that no program listens on."""
    kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
