"""Power analysers that take commands in the style of SCPI, over any transport.

An entry in meters.toml names the instrument, one of `scpi_instruments.toml`, and its ranges:
`instrument`, `voltage_range_v`, `current_range_a`, and optionally `crest_factor` (3) and
`update_ms` (500). Its feeds give the input element of each feed: `1`, or `SIGMA` for the sum of a
wiring unit.
"""

import math
import re
import tomllib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.errors import MeterError
from harness.power.feeds.feed import FeedError
from harness.power.feeds.frame import FramedMeter
from harness.power.node_meter import MeterAccess
from rules.bundle_format.records import FeedReading

INSTRUMENTS_FILE = Path(__file__).with_name("scpi_instruments.toml")
OVER_RANGE = 9.9e37
"""What instruments give for a value above the range, by IEEE 488.2 and SCPI-99, or INF."""
NO_VALUE = 9.91e37
"""What they give for a value that does not exist, or NAN."""
LONGEST_UPDATE_MS = 2000
ELEMENT = re.compile(r"[A-Za-z0-9]{1,8}")
LARGEST_VALUE = 1e9
"""In W, V, A or Wh."""


class Transport(Protocol):
    """A connection to an instrument. The methods raise FeedError or OSError."""

    def write(self, message: str) -> None: ...

    def read(self) -> str: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Instrument:
    """The commands of one type of instrument. `scpi_instruments.toml` explains the fields."""

    identity: str
    setup: Sequence[str]
    feed: Sequence[str]
    errors: str
    quantities: Sequence[str]
    read: str
    readback: Mapping[str, str]
    item: str = ""
    number: str = ""
    query: str = ""
    skip: int = 0


@dataclass(frozen=True)
class Settings:
    """What the entry of meters.toml sets."""

    instrument: Instrument
    elements: Mapping[str, str]
    """The input element of each feed."""
    values: Mapping[str, float]
    """Ranges, crest factor and update period by their names in the commands."""
    texts: Mapping[str, str]
    """The same as the commands contain them."""

    def commands(self) -> list[str]:
        """All commands that set the instrument up."""
        instrument = self.instrument
        commands = [command.format(**self.texts) for command in instrument.setup]
        number = 0
        for element in self.elements.values():
            commands += [
                command.format(element=element, **self.texts) for command in instrument.feed
            ]
            for quantity in instrument.quantities if instrument.item else ():
                number += 1
                commands.append(
                    instrument.item.format(number=number, quantity=quantity, element=element)
                )
        if instrument.number:
            commands.append(instrument.number.format(count=number))
        return commands

    def read_message(self) -> str:
        """The message that asks for all quantities of all feeds."""
        queries = [
            self.instrument.query.format(quantity=quantity, element=element)
            for element in self.elements.values()
            for quantity in self.instrument.quantities
        ]
        return self.instrument.read.format(queries=";".join(queries))


class ScpiMeter(FramedMeter):
    """Reads one instrument. Subclasses say how to reach it."""

    blocking_timeout_s = 3.0
    option_names = frozenset(
        {"instrument", "voltage_range_v", "current_range_a", "crest_factor", "update_ms"}
    )

    def __init__(self, access: MeterAccess) -> None:
        super().__init__(access)
        self._settings = load_settings(access)
        self._transport: Transport | None = None

    @abstractmethod
    def _open_transport(self) -> Transport:
        """Connect. Raises FeedError or OSError."""

    def read_feeds(self) -> list[tuple[str, FeedReading]]:
        values = self._read_values()
        names = self._settings.instrument.quantities
        readings = []
        for number, feed in enumerate(self._settings.elements):
            feed_values = values[number * len(names) : (number + 1) * len(names)]
            readings.append((feed, make_reading(dict(zip(names, feed_values, strict=True)))))
        return readings

    def close(self) -> None:
        if self._transport:
            self._transport.close()
            self._transport = None

    def _read_values(self) -> list[float]:
        """All quantities of all feeds. Raises FeedError."""
        try:
            if self._transport is None:
                self._transport = self._open_transport()
                self._set_up(self._transport)
            answer = self._query(self._transport, self._settings.read_message())
            values = parse_values(answer)[self._settings.instrument.skip :]
            count = len(self._settings.elements) * len(self._settings.instrument.quantities)
            if len(values) != count:
                raise FeedError("malformed", f"it gives {len(values)} values in place of {count}")
            return values
        except (FeedError, OSError, ValueError) as error:
            # A late answer must not answer the next request, so the next one has a new connection.
            self.close()
            raise FeedError.from_network(error) from None

    def _set_up(self, transport: Transport) -> None:
        instrument = self._settings.instrument
        if not re.search(instrument.identity, self._query(transport, "*IDN?")):
            name = self._access.options["instrument"]
            raise FeedError("refused", f"it is not a {name}; correct instrument in meters.toml")
        for command in self._settings.commands():
            transport.write(command)
        for element in self._settings.elements.values():
            for query, name in instrument.readback.items():
                answer = self._query(transport, query.format(element=element))
                expected = self._settings.values[name]
                if not math.isclose(parse_values(answer)[0], expected, rel_tol=1e-3):
                    raise FeedError(
                        "refused",
                        f"it does not set {name} to {expected:g}; choose one of its ranges. With "
                        "crest factor 6 it has half the ranges that it has with 3",
                    )
        if not self._query(transport, instrument.errors).lstrip("+").startswith("0"):
            raise FeedError("absent", "it refuses its settings; check the elements of its feeds")

    @staticmethod
    def _query(transport: Transport, message: str) -> str:
        transport.write(message)
        return transport.read()


def load_settings(access: MeterAccess) -> Settings:
    """The settings of an entry. Raises MeterError."""
    instruments = tomllib.loads(INSTRUMENTS_FILE.read_text())
    name = access.options.get("instrument", "")
    if name not in instruments:
        raise MeterError(
            f"meter {access.id}: instrument = {name!r} is not one of {', '.join(instruments)}"
        )
    for feed, element in access.feeds.items():
        if not ELEMENT.fullmatch(element):
            raise MeterError(
                f"meter {access.id}, feed {feed}: {element!r} is no input element; give 1 to 7 or "
                "SIGMA"
            )
    options = {"crest_factor": "3", "update_ms": "500", **access.options}
    values = {}
    for key in ("voltage_range_v", "current_range_a", "crest_factor", "update_ms"):
        try:
            values[key] = float(options[key])
        except (KeyError, ValueError):
            raise MeterError(
                f"meter {access.id}: its entry in meters.toml needs {key}, a number"
            ) from None
    if not 0 < values["update_ms"] <= LONGEST_UPDATE_MS:
        raise MeterError(
            f"meter {access.id}: update_ms must be above 0 and at most {LONGEST_UPDATE_MS}; each "
            "reading waits for an update"
        )
    values["update_s"] = values["update_ms"] / 1000
    return Settings(
        Instrument(**instruments[name]),
        dict(access.feeds),
        values,
        {key: f"{value:g}" for key, value in values.items()},
    )


def parse_values(answer: str) -> list[float]:
    """Numbers between commas or semicolons. Raises ValueError."""
    return [float(text) for text in re.split("[;,]", answer)]


def make_reading(values: Mapping[str, float]) -> FeedReading:
    """The reading of one feed from its quantities by their names in the instrument."""
    quantities: dict[str, int] = {}
    for name, value in values.items():
        key, per_unit = QUANTITIES[name]
        if is_over_range(value):
            return FeedReading(status="over-range")
        if math.isnan(value) or abs(value) >= NO_VALUE:
            continue
        if abs(value) > LARGEST_VALUE and key != "fresh":
            return FeedReading(status="malformed")
        # An instrument that does not integrate has an energy of 0.
        if key != "energy_mj" or value:
            quantities[key] = round(value * per_unit)
    if "power_mw" not in quantities:
        return FeedReading(status="absent")
    return FeedReading(
        power_mw=quantities["power_mw"],
        energy_mj=quantities.get("energy_mj"),
        voltage_mv=quantities.get("voltage_mv"),
        current_ma=quantities.get("current_ma"),
        pf_ppm=quantities.get("pf_ppm"),
        fresh=quantities.get("fresh"),
    )


QUANTITIES = {
    "P": ("power_mw", 1e3),
    "U": ("voltage_mv", 1e3),
    "URMS": ("voltage_mv", 1e3),
    "UTRMS": ("voltage_mv", 1e3),
    "I": ("current_ma", 1e3),
    "IRMS": ("current_ma", 1e3),
    "ITRMS": ("current_ma", 1e3),
    "LAMBDA": ("pf_ppm", 1e6),
    "PF": ("pf_ppm", 1e6),
    "WH": ("energy_mj", 3.6e6),
    "TSNORM": ("fresh", 1e3),
}
"""The field of `FeedReading` for each quantity, and how many of its units one unit is."""


def is_over_range(value: float) -> bool:
    """Whether a value says that it is above the range."""
    return math.isinf(value) or OVER_RANGE <= abs(value) < NO_VALUE * (1 - 1e-6)
