"""Power of a node from its BMC, by the DCMI command "Get Power Reading" over IPMI 2.0.

An entry in meters.toml has host, user, a secret called password, one feed, and optionally privilege
(USER) and cipher (the number of a cipher suite; without it, ipmitool chooses one).

ipmitool sends the command. Its command line is visible to all users of the node, so it contains
neither the password, which comes through a pipe, nor the address: ipmitool talks to a relay of this
process.
"""

import os
import re
import shutil
import socket
import subprocess
import threading
import time
from contextlib import suppress
from typing import Self

from harness.errors import MeterError
from harness.power.feeds.feed import FeedError, LoginPause
from harness.power.feeds.frame import FramedMeter
from harness.power.node_meter import MeterAccess
from rules.bundle_format.records import FeedReading

GET_POWER_READING = ("0x2c", "0x02", "0xdc", "0x01", "0x00", "0x00")
"""Network function, command, the group extension of DCMI, mode "system power statistics"."""
ANSWER_BYTES = 18
DCMI = 0xDC
MEASURING = 0x40
"""The bit of the state that says that the BMC measures power."""
HIGHEST_W = 0xFFFF
"""Power is a number of 16 bits. A BMC gives its largest value for more, or for none."""
FIRST_STAMP_S = 0x20000000
"""Smaller stamps count from the start of the BMC, whose clock is not set."""
UNSET_STAMP_S = 0xFFFFFFFF
UNSTATED = (
    "it says that it does not measure power, and gives power without a stamp, as OpenBMC does: "
    "compare the value with another meter"
)
COMPLETION_CODE = re.compile(rb"rsp=0x([0-9a-f]{1,2})\)")
REFUSED_CODES = frozenset({0xD4})
"""Completion code "insufficient privilege"; every other one says that there is no such reading."""
RETRY_S = 1
"""ipmitool ends at once if the BMC refuses a session, and repeats a request without answer after
this time."""
LARGEST_DATAGRAM = 65_535


class IpmiMeter(FramedMeter):
    """Reads one BMC."""

    blocking_timeout_s = 4.0
    option_names = frozenset({"user", "privilege", "cipher"})

    def __init__(self, access: MeterAccess, program: str) -> None:
        super().__init__(access)
        (self._feed,) = access.feeds
        self._program = program
        self._relay: _Relay | None = None
        self._pause = LoginPause()
        self._refused_late = False
        """Whether a session was refused behind a repeated request, since the last accepted one."""

    @classmethod
    def make(cls, access: MeterAccess) -> Self:
        access.require_host()
        if not access.options.get("user"):
            raise MeterError(f"meter {access.id}: its entry in meters.toml has no user; add one")
        if len(access.feeds) != 1:
            raise MeterError(
                f"meter {access.id}: a BMC has one power reading, and the meter "
                f"{len(access.feeds)} feeds; declare one"
            )
        if not (program := shutil.which("ipmitool")):
            raise MeterError(f"meter {access.id}: there is no ipmitool; install the package of it")
        return cls(access, program)

    def read_feeds(self) -> list[tuple[str, FeedReading]]:
        return [(self._feed, self._read_power())]

    def close(self) -> None:
        if self._relay:
            self._relay.close()
            self._relay = None

    def _read_power(self) -> FeedReading:
        self._pause.require_end(time.monotonic())
        try:
            password = self._access.secret()
        except MeterError as error:
            raise FeedError.from_secret(error) from None
        try:
            # The address of a name can change, and with it the relay, while the BMC is away.
            self._relay = self._relay or _Relay(self._access.host, self._access.port or 623)
        except OSError as error:
            raise FeedError.from_network(error) from None
        self._relay.begin_exchange()
        try:
            process = self._run_ipmitool(password, self._relay.port)
        except subprocess.TimeoutExpired:
            process = None
        if process and process.returncode == 0:
            self._refused_late = False
            reading = parse_power_reading(process.stdout)
            if not _read_bytes(process.stdout)[17] & MEASURING:
                self.warning = UNSTATED
            return reading
        if process and (match := COMPLETION_CODE.search(process.stderr)):
            self._refused_late = False
            code = int(match[1], 16)
            if code in REFUSED_CODES:
                raise FeedError("refused", "the user may not read power; raise privilege")
            raise FeedError("absent", f"it has no power reading (completion code 0x{code:02x})")
        if process is None or time.monotonic() - self._relay.last_answer_s > RETRY_S:
            self.close()
            raise FeedError("timeout", "it does not answer; check host, port and IPMI over LAN")
        if self._relay.has_repeated and not self._refused_late:
            # A BMC that answers late can refuse the repeated request instead of the password. A
            # second such refusal counts, because more logins could lock the account.
            self._refused_late = True
            self.close()
            raise FeedError(
                "timeout",
                "it answers late and refuses the session; check its load, user and password",
            )
        self._pause.begin(time.monotonic())
        raise FeedError(
            "refused", "it refuses the session; check user, password, privilege and cipher"
        )

    def _run_ipmitool(self, password: str, port: int) -> subprocess.CompletedProcess[bytes]:
        options = self._access.options
        cipher = ["-C", options["cipher"]] if "cipher" in options else []
        read_end, write_end = os.pipe()
        try:
            os.write(write_end, password.encode() + b"\n")
            os.close(write_end)
            return subprocess.run(
                [
                    self._program,
                    *("-I", "lanplus", "-H", "127.0.0.1", "-p", str(port)),
                    *("-U", options["user"], "-L", options.get("privilege", "USER")),
                    *("-f", f"/dev/fd/{read_end}", "-N", str(RETRY_S), "-R", "2", *cipher),
                    *("raw", *GET_POWER_READING),
                ],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                pass_fds=[read_end],
                timeout=self.blocking_timeout_s,
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            )
        finally:
            os.close(read_end)


def parse_power_reading(text: bytes) -> FeedReading:
    """Parse the answer that `ipmitool raw` prints as hexadecimal bytes: group extension, power now,
    least, most and mean as 16 bits each, stamp in s, period in ms, state. Raises FeedError."""
    content = _read_bytes(text)
    power_w = int.from_bytes(content[1:3], "little")
    stamp_s = int.from_bytes(content[9:13], "little")
    has_stamp = FIRST_STAMP_S < stamp_s < UNSET_STAMP_S
    # OpenBMC gives power, and fills in neither stamp nor state. Source: its DCMI command handler in
    # openbmc/phosphor-host-ipmid.
    if not content[17] & MEASURING and (has_stamp or not power_w):
        raise FeedError("absent", "it does not measure power at present; turn the measurement on")
    if power_w == HIGHEST_W:
        raise FeedError("over-range", "its power is above what DCMI can tell (65 535 W)")
    return FeedReading(power_mw=1000 * power_w, meter_ns=stamp_s * 10**9 if has_stamp else None)


def _read_bytes(text: bytes) -> bytes:
    """The bytes of a power reading. Raises FeedError."""
    try:
        content = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        raise FeedError("malformed", "ipmitool does not print hexadecimal bytes") from None
    if len(content) < ANSWER_BYTES or content[0] != DCMI:
        raise FeedError("malformed", "its answer is not a power reading of DCMI")
    return content


class _Relay:
    """Passes the datagrams of ipmitool from a port of this node to the BMC and back."""

    def __init__(self, host: str, port: int) -> None:
        """Raises OSError if the host has no address."""
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        self._outer = socket.socket(family, socket.SOCK_DGRAM)
        self._inner = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._outer.connect(address)
        self._inner.bind(("127.0.0.1", 0))
        self.port: int = self._inner.getsockname()[1]
        self.last_answer_s = float("-inf")
        """When the BMC last answered, on the monotonic clock."""
        self.has_repeated = False
        """Whether ipmitool sent a request before the answer to the last one."""
        self._is_waiting = False
        self._client: tuple[str, int] | None = None
        self._closed = False
        self._threads = [
            threading.Thread(target=relay, daemon=True)
            for relay in (self._pass_requests, self._pass_answers)
        ]
        for thread in self._threads:
            thread.start()

    def begin_exchange(self) -> None:
        """Note that a new ipmitool starts."""
        self.has_repeated = self._is_waiting = False

    def close(self) -> None:
        """Close both ports."""
        self._closed = True
        for end in (self._inner, self._outer):
            # Wakes the thread that waits for a datagram.
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._inner.close()
        self._outer.close()

    def _pass_requests(self) -> None:
        while not self._closed:
            with suppress(OSError):
                datagram, self._client = self._inner.recvfrom(LARGEST_DATAGRAM)
                if not self._closed:
                    self.has_repeated |= self._is_waiting
                    self._is_waiting = True
                    self._outer.send(datagram)

    def _pass_answers(self) -> None:
        while not self._closed:
            # A closed port at the host is an OSError of the next datagram.
            with suppress(OSError):
                datagram = self._outer.recv(LARGEST_DATAGRAM)
                if datagram and self._client:
                    self.last_answer_s = time.monotonic()
                    self._is_waiting = False
                    self._inner.sendto(datagram, self._client)
