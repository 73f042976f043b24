"""A VXI-11 server (VXIbus TCP/IP Instrument Protocol 1.0): the core channel over ONC RPC, and
optionally a portmapper."""

import socket
import struct
import threading
import time
from contextlib import suppress

from support.meters.instrument import Yokogawa

PORTMAPPER, CORE = 100_000, 0x0607AF
GETPORT = 3
IO_TIMEOUT = 15
END = 4
LAST_FRAGMENT = 0x8000_0000


class Vxi11Server:
    """Passes messages to an instrument at `host`. Attributes can be changed at any time."""

    def __init__(
        self, instrument: Yokogawa, host: str = "127.0.0.1", portmapper: bool = False
    ) -> None:
        """Raises OSError if `portmapper` and port 111 of the host is taken or needs rights."""
        self.instrument = instrument
        self.delay_s = 0.0
        self.port = 0
        self.links = 0
        self.read_bytes: bytes | None = None
        """What a read gives in place of the answer."""
        self._host = host
        self._connections: list[socket.socket] = []
        self._listeners: list[socket.socket] = []
        if portmapper:
            self._listen(111)
        self.start()

    def start(self) -> None:
        """Listen on the same port as before."""
        self.port = self._listen(self.port)

    def stop(self) -> None:
        """Close the ports and all connections."""
        for connection in (*self._listeners, *self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._listeners.clear()
        self._connections.clear()
        self.links = 0

    def _listen(self, port: int) -> int:
        listener = socket.create_server((self._host, port))
        self._listeners.append(listener)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        bound: int = listener.getsockname()[1]
        return bound

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        answers: list[bytes] = []
        with suppress(OSError, struct.error), connection.makefile("rwb") as stream:
            while header := stream.read(4):
                (mark,) = struct.unpack(">I", header)
                assert mark & LAST_FRAGMENT
                call = stream.read(mark & ~LAST_FRAGMENT)
                transaction, _, _, program, _, procedure = struct.unpack_from(">6I", call)
                # Credentials and verifier are a flavor and a length each, both empty.
                result = self._call(program, procedure, call[40:], answers)
                # Accepted, no verifier, success.
                reply = struct.pack(">6I", transaction, 1, 0, 0, 0, 0) + result
                stream.write(struct.pack(">I", len(reply) | LAST_FRAGMENT) + reply)
                stream.flush()

    def _call(self, program: int, procedure: int, content: bytes, answers: list[bytes]) -> bytes:
        if (program, procedure) == (PORTMAPPER, GETPORT):
            (wanted,) = struct.unpack_from(">I", content)
            return struct.pack(">I", self.port if wanted == CORE else 0)
        match procedure:
            case 10:  # create_link
                self.links += 1
                return struct.pack(">iiII", 0, self.links, 0, 1024)
            case 11:  # device_write
                _, _, _, _, size = struct.unpack_from(">iIIiI", content)
                message = content[20 : 20 + size].decode("ascii").strip()
                if (answer := self.instrument.handle(message)) is not None:
                    answers.append(answer.encode("ascii") + b"\n")
                return struct.pack(">iI", 0, size)
            case 12:  # device_read
                _, _, timeout_ms, _, _, _ = struct.unpack_from(">iIIIiI", content)
                return self._read(timeout_ms / 1000, answers)
            case 23:  # destroy_link
                self.links -= 1
                return struct.pack(">i", 0)
        raise AssertionError(f"procedure {procedure} is not one that a client needs")

    def _read(self, timeout_s: float, answers: list[bytes]) -> bytes:
        if self.delay_s > timeout_s or not answers:
            time.sleep(timeout_s)
            return struct.pack(">iiI", IO_TIMEOUT, 0, 0)
        time.sleep(self.delay_s)
        answer = answers.pop(0)
        if self.read_bytes is not None:
            answer = self.read_bytes
        padding = bytes(-len(answer) % 4)
        return struct.pack(">iiI", 0, END, len(answer)) + answer + padding
