"""Power of a feed from a power analyser over a plain TCP socket, or over USB.

An entry in meters.toml has host and port (5025 without one), or `device` for /dev/usbtmc0.
harness/power/nodes/_scpi.py describes its other keys.
"""

import fcntl
import os
import socket
import struct
import time
from contextlib import suppress

from harness.power.feeds.feed import FeedError
from harness.power.nodes._scpi import ScpiMeter, Transport

PORT = 5025
LONGEST_ANSWER = 65_536
USBTMC_SET_TIMEOUT = 0x40045B0A
"""ioctl of linux/usb/tmc.h: the timeout of transfers in ms."""


class SocketMeter(ScpiMeter):
    """Reads one instrument over a socket or a device file."""

    option_names = ScpiMeter.option_names | {"device"}

    def _open_transport(self) -> Transport:
        if device := self._access.options.get("device"):
            return DeviceTransport(device, self.blocking_timeout_s)
        return SocketTransport(
            self._access.require_host(), self._access.port or PORT, self.blocking_timeout_s
        )


class SocketTransport:
    """Lines over TCP."""

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._socket = socket.create_connection((host, port), timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def write(self, message: str) -> None:
        self._socket.settimeout(self._timeout_s)
        self._socket.sendall(message.encode("ascii") + b"\n")

    def read(self) -> str:
        deadline_s = time.monotonic() + self._timeout_s
        answer = b""
        while not answer.endswith(b"\n"):
            self._socket.settimeout(max(1e-3, deadline_s - time.monotonic()))
            if not (part := self._socket.recv(4096)):
                raise ConnectionResetError("the instrument closed the connection")
            answer += part
            if len(answer) > LONGEST_ANSWER:
                raise FeedError("malformed", "its answer has no end")
        return answer.decode("ascii").strip()

    def close(self) -> None:
        self._socket.close()


class DeviceTransport:
    """A device file of the kernel's driver for USB instruments, such as /dev/usbtmc0."""

    def __init__(self, path: str, timeout_s: float) -> None:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            raise FeedError(
                "refused" if isinstance(error, PermissionError) else "absent",
                f"its device cannot be opened ({error.strerror})",
            ) from None
        with suppress(OSError):  # without the ioctl, the driver waits 5 s
            fcntl.ioctl(self._file, USBTMC_SET_TIMEOUT, struct.pack("I", int(1000 * timeout_s)))

    def write(self, message: str) -> None:
        os.write(self._file, message.encode("ascii") + b"\n")

    def read(self) -> str:
        return os.read(self._file, LONGEST_ANSWER).decode("ascii").strip()

    def close(self) -> None:
        os.close(self._file)
