"""PTDaemon's power log: a line a second with power, and volts, amperes and power factor.

Source: https://github.com/mlcommons/power-dev. With several channels, `Watts` is their sum, and
volts, amperes and power factor are means over the channels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from checker.audit.folder import Folder, UnreadableError, take_number
from checker.audit.series import Series, make_series
from rules.audit.row import Check, Topic

_TIME_FORMAT = "%m-%d-%Y %H:%M:%S.%f"
_CHANNEL_TOLERANCE, _PRODUCT_TOLERANCE = 0.005, 0.01
"""The logs of five submissions agree within 0.00003 in both."""
_QUANTITIES = ("Watts", "Volts", "Amps", "PF")


@dataclass
class _Sums:
    """Sums over the readings that have both of two quantities."""

    readings: int = 0
    power_w: float = 0.0
    other_w: float = 0.0

    def add(self, power_w: float, other_w: float | None) -> None:
        if other_w is not None:
            self.readings += 1
            self.power_w += power_w
            self.other_w += other_w

    def check(self, how: str, tolerance: float) -> Iterator[Check]:
        """That both means agree."""
        if self.readings and self.other_w:
            means = self.power_w / self.readings, self.other_w / self.readings
            quantity = "mean power of the whole log"
            yield Check(Topic.PARTS, quantity, "W", *means, how, tolerance=tolerance)


def parse_time(text: str, file: str, place: str) -> float:
    """A time of PTDaemon or LoadGen, in UTC, as unix s. Raises UnreadableError."""
    try:
        whole = text if "." in text else f"{text}.0"
        return datetime.strptime(whole, _TIME_FORMAT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise UnreadableError(
            file, f"{place}: {text[:40]!r} is no time such as 08-01-2025 00:39:24.362; restore it"
        ) from None


def read_power_log(folder: Folder, name: str) -> tuple[Series, tuple[Check, ...]]:
    """The readings of a log, and checks of its redundant columns. Raises UnreadableError."""
    actual = folder.locate(name)
    readings: list[tuple[float, float]] = []
    channels, products = _Sums(), _Sums()
    for number, line in enumerate(folder.read_text(name).splitlines(), 1):
        cells = line.split(",")
        if cells[0] != "Time":
            continue
        place = f"line {number}"
        groups = _split(cells, actual, place)
        power_w = groups[0].get("Watts")
        if len(cells) < 4 or power_w is None:
            raise UnreadableError(actual, f"{place} has no Watts; restore the line")
        readings.append((parse_time(cells[1], actual, place), power_w))
        parts_w = [group["Watts"] for group in groups[1:] if "Watts" in group]
        channels.add(power_w, sum(parts_w) if parts_w else None)
        products.add(power_w, _multiply(groups[1:] or groups))
    if not readings:
        raise UnreadableError(actual, "has no line of PTDaemon, such as Time,…,Watts,…")
    checks = (
        *channels.check("the sum of the channels", _CHANNEL_TOLERANCE),
        *products.check("volts x amperes x power factor", _PRODUCT_TOLERANCE),
    )
    return make_series(name, readings), checks


def _split(cells: list[str], file: str, place: str) -> list[dict[str, float]]:
    """The quantities of the whole and of each channel."""
    groups: list[dict[str, float]] = [{}]
    for cell, following in zip(cells[2:], [*cells[3:], ""], strict=True):
        if cell.startswith("Ch") and cell[2:].isdigit():
            groups.append({})
        elif cell in _QUANTITIES:
            value = take_number({cell: following}, cell, file, place)
            if value is not None:
                groups[-1][cell] = value
    return groups


def _multiply(groups: list[dict[str, float]]) -> float | None:
    """The sum of volts x amperes x power factor, None if the meter lacks one of them."""
    products = []
    for group in groups:
        if not all(group.get(quantity, 0.0) > 0 for quantity in _QUANTITIES):
            return None
        products.append(group["Volts"] * group["Amps"] * group["PF"])
    return sum(products)
