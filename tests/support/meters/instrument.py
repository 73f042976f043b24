"""A power analyser with the commands of Yokogawa or ZES Zimmer, and a socket to talk to it."""

import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

CREST_FACTOR_3_RANGES = {
    "VOLTAGE": (15.0, 30.0, 60.0, 150.0, 300.0, 600.0),
    "CURRENT": (0.5, 1.0, 2.0, 5.0, 10.0, 20.0),
}
ELEMENTS = ("1", "2", "3", "SIGMA")
NO_VALUE = "NAN"


class Yokogawa:
    """A WT310E or WT5000. Attributes can be changed at any time."""

    def __init__(
        self, power_w: Callable[[], float] = lambda: 1234.5, model: str = "WT310E"
    ) -> None:
        self.power_w = power_w
        self.identity = f"YOKOGAWA,{model},91X123456,F1.03"
        self.update_s = 0.5
        self.crest_factor = 3
        self.ranges = {"VOLTAGE": 600.0, "CURRENT": 20.0}
        self.autos = {"VOLTAGE": True, "CURRENT": True}
        self.items: dict[int, tuple[str, str]] = {}
        self.count = 0
        self.errors: list[str] = []
        self.messages: list[str] = []
        self.replacement: str | None = None
        """The values in the place of the measured ones."""

    def handle(self, message: str) -> str | None:
        """The answer to a message, of all its queries."""
        self.messages.append(message)
        answers = [self._handle_unit(unit.strip().upper()) for unit in message.split(";")]
        answers = [answer for answer in answers if answer is not None]
        return ";".join(answers) if answers else None

    def _handle_unit(self, unit: str) -> str | None:
        match = re.fullmatch(r":INPUT:(VOLTAGE|CURRENT):(RANGE|AUTO)(?::ELEMENT\d)?(\?| .*)", unit)
        if match:
            return self._handle_range(match[1], match[2], match[3].strip())
        if match := re.fullmatch(r":NUMERIC:NORMAL:ITEM(\d+) (\w+),(\w+)", unit):
            if match[3] in ELEMENTS:
                self.items[int(match[1])] = (match[2], match[3])
            else:
                self.errors.append('834,"Parameter error"')
            return None
        command, _, argument = unit.partition(" ")
        match command:
            case "*IDN?":
                return self.identity
            case ":STATUS:EESR?":
                return "1"
            case ":COMMUNICATE:WAIT":
                time.sleep(self.update_s - time.monotonic() % self.update_s)
            case ":NUMERIC:NORMAL:VALUE?":
                return self.replacement or ",".join(
                    self._measure(*self.items[number]) for number in range(1, self.count + 1)
                )
            case ":NUMERIC:NORMAL:NUMBER":
                self.count = int(argument)
            case ":RATE":
                self.update_s = float(argument.removesuffix("MS")) / 1000
            case ":INPUT:CFACTOR":
                self._set_crest_factor(int(argument))
            case ":INPUT:CFACTOR?":
                return str(self.crest_factor)
            case ":STATUS:ERROR?":
                return self.errors.pop(0) if self.errors else '0,"No error"'
            case "*CLS":
                self.errors.clear()
            case ":COMMUNICATE:HEADER" | ":COMMUNICATE:VERBOSE" | ":NUMERIC:FORMAT":
                pass
            case ":STATUS:FILTER1":
                pass
            case _:
                self.errors.append('113,"Undefined header"')
        return None

    def _set_crest_factor(self, crest_factor: int) -> None:
        ratio = self.crest_factor / crest_factor
        self.ranges = {name: value * ratio for name, value in self.ranges.items()}
        self.crest_factor = crest_factor

    def _handle_range(self, quantity: str, setting: str, argument: str) -> str | None:
        if argument == "?":
            return f"{self.ranges[quantity]:.3E}"
        if setting == "AUTO":
            self.autos[quantity] = argument != "OFF"
            return None
        value = float(argument.rstrip("VA"))
        if value * self.crest_factor / 3 in CREST_FACTOR_3_RANGES[quantity]:
            self.ranges[quantity] = value
        else:
            self.errors.append('222,"Data out of range"')
        return None

    def _measure(self, quantity: str, element: str) -> str:
        power_w = self.power_w()
        value = {
            "P": power_w,
            "U": 230.0,
            "URMS": 230.0,
            "I": power_w / 230 / 0.98,
            "IRMS": power_w / 230 / 0.98,
            "LAMBDA": 0.98,
        }.get(quantity)
        return NO_VALUE if value is None else f"{value:.5E}"


class ZesZimmer:
    """An LMG600 in its SHORT language."""

    def __init__(self, power_w: Callable[[], float] = lambda: 1234.5) -> None:
        self.power_w = power_w
        self.settings: dict[str, float] = {}
        self.errors: list[str] = []
        self.messages: list[str] = []
        self.cycles = 1000
        self.replacement: str | None = None

    def handle(self, message: str) -> str | None:
        self.messages.append(message)
        answers = [self._handle_unit(unit.strip().upper()) for unit in message.split(";")]
        answers = [answer for answer in answers if answer is not None]
        if self.replacement and "ACTN" in message:
            return self.replacement
        return ";".join(answers) if answers else None

    def _handle_unit(self, unit: str) -> str | None:
        if unit == "*IDN?":
            return "ZES ZIMMER ELECTRONIC SYSTEMS GMBH,LMG671,01234567,3.000"
        if unit == ":SYST:ERR:ALL?":
            return ",".join(self.errors) or '0,"No error"'
        if match := re.fullmatch(r"(P|UTRMS|ITRMS|PF|TSNORM|URNG|IRNG)([1-7])\?", unit):
            if match[1] in ("URNG", "IRNG"):
                return str(self.settings[match[1] + match[2]])
            return f"{self._measure(match[1]):.6g}"
        if match := re.fullmatch(r"(URNG[1-7]|IRNG[1-7]|UAUTO[1-7]|IAUTO[1-7]|CYCL) (.*)", unit):
            self.settings[match[1]] = float(match[2])
        elif unit not in ("ACTN", "*CLS", "*ZLANG SHORT"):
            self.errors.append('-113,"Undefined header"')
        return None

    def _measure(self, quantity: str) -> float:
        return {
            "P": self.power_w(),
            "UTRMS": 230.0,
            "ITRMS": self.power_w() / 230 / 0.98,
            "PF": 0.98,
            "TSNORM": self.cycles / 2,
        }[quantity]


class SocketServer:
    """Passes lines of TCP connections to an instrument at `127.0.0.1:port`."""

    def __init__(self, instrument: Yokogawa | ZesZimmer) -> None:
        self.instrument = instrument
        self.delay_s = 0.0
        self.port = 0
        self.connections: list[socket.socket] = []
        self.start()

    def start(self) -> None:
        """Listen on the same port as before."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """Close the port and all connections."""
        for connection in (self._listener, *self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self.connections.clear()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection.makefile("rwb") as lines:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for line in lines:
                answer = self.instrument.handle(line.decode("ascii").strip())
                if answer is not None:
                    time.sleep(self.delay_s)
                    lines.write(answer.encode("ascii") + b"\n")
                    lines.flush()
