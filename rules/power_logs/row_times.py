"""The times in the rows of a table: instants, local times, and times since a start."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from rules.power_logs.builder import LogSource
from rules.power_logs.csv_map import CsvMap, TimeColumn
from rules.power_logs.local_time import FIRST_NS, LONGEST_NS, LocalClock, check_ns, count_ns
from rules.power_logs.records import PowerLogError

_LEAST_STAMP = 10**8
"""No stamp since 1970 in any unit is smaller, and few counts since a start are larger."""
_MOST_DIGITS, _MOST_CHARACTERS = 20, 100
_DAY_NS = 86_400 * 10**9


@dataclass
class RowTimes:
    """Reads the times of rows in ns, and remembers what kind of times they are."""

    parse: Callable[[str], int]
    """Raises ValueError, and PowerLogError for a local time without a declared zone."""
    elapsed: bool = False
    """Whether the times count from a start that nobody states."""
    from_start: bool = False
    """Whether the times count from a start, stated or not."""
    is_local: bool = False


def make_row_times(source: LogSource, csv_map: CsvMap) -> RowTimes:
    """The reader of the times of a table. Raises PowerLogError."""
    time = csv_map.time
    assert time is not None
    if not time.has_date:
        return _make_time_of_day(source, time)
    if time.format == "unix":
        return _make_unix(source, csv_map, time)
    return _make_dated(source, csv_map, time)


def _make_dated(source: LogSource, csv_map: CsvMap, time: TimeColumn) -> RowTimes:
    if time.zone is not None and source.zone is not None:
        raise PowerLogError(
            f"{csv_map.path}: time.zone: the map and --time-zone both declare a zone; leave out one"
        )
    zone = time.zone or source.zone
    clock = LocalClock(zone)

    def parse(text: str) -> int:
        moment = _parse_moment(text, time.format)
        if moment.tzinfo is not None:
            return count_ns(moment)
        times.is_local = True
        return clock.to_ns(moment)

    times = RowTimes(parse)
    return times


def _check_length(text: str) -> None:
    """Raise ValueError for a text that is no time."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"the time {text[:40]!r}… of {len(text)} characters")


def _parse_moment(text: str, time_format: str) -> datetime:
    _check_length(text)
    try:
        if time_format == "iso":
            return datetime.fromisoformat(text)
        return _parse_by_minutes(text, time_format) or datetime.strptime(text, time_format)
    except ValueError:
        raise ValueError(f"the time {text[:40]!r}, not of the format {time_format}") from None


def _parse_by_minutes(text: str, time_format: str) -> datetime | None:
    """The time of a format that ends with seconds: `strptime` is slow, and many readings share a
    minute. None for a text that only `strptime` can judge."""
    minute, _, rest = text.rpartition(":")
    second, point, fraction = rest.partition(".")
    is_plain = len(second) == 2 and second < "60" and (not point or 0 < len(fraction) <= 6)
    digits = second + fraction
    if not (is_plain and digits.isascii() and digits.isdecimal()):
        return None
    ending = ":%S.%f" if point else ":%S"
    if not time_format.endswith(ending):
        return None
    return _parse_minute(minute, time_format.removesuffix(ending)).replace(
        second=int(second), microsecond=int(fraction.ljust(6, "0"))
    )


@lru_cache(maxsize=1024)
def _parse_minute(text: str, time_format: str) -> datetime:
    return datetime.strptime(text, time_format)


def _make_time_of_day(source: LogSource, time: TimeColumn) -> RowTimes:
    """Times of day without a date count from midnight of the first day."""
    midnight = datetime(1900, 1, 1)
    start_ns = source.start_ns or 0
    last_ns = day_ns = 0

    def parse(text: str) -> int:
        nonlocal last_ns, day_ns
        moment = _parse_moment(text, time.format)
        time_ns = round((moment - midnight).total_seconds() * 1e6) * 1000
        # A step back of more than half a day is midnight, a smaller one is a fault of the clock.
        if time_ns < last_ns - _DAY_NS // 2:
            day_ns += _DAY_NS
        last_ns = time_ns
        return start_ns + day_ns + time_ns

    return RowTimes(parse, elapsed=source.start_ns is None, from_start=True)


def _make_unix(source: LogSource, csv_map: CsvMap, time: TimeColumn) -> RowTimes:
    is_first, decimal = True, csv_map.decimal
    start_ns: int | None = None
    """Of elapsed times."""

    def parse(text: str) -> int:
        nonlocal is_first, start_ns
        _check_length(text)
        if decimal != ".":
            text = text.replace(decimal, ".")
        whole, _, fraction = text.partition(".")
        if whole.isdecimal() and (fraction.isdecimal() or not fraction) and len(text) < 30:
            count = Decimal(whole)
            # In whole numbers, because a double does not hold ns since 1970.
            fraction_ns = int(fraction[:9].ljust(9, "0") or 0) * time.unit_ns // 10**9
            time_ns = int(whole) * time.unit_ns + fraction_ns
        else:
            count = _parse_count(text)
            time_ns = int(count * time.unit_ns)
        if is_first:
            is_first = False
            if abs(count) < _LEAST_STAMP and time_ns < FIRST_NS:
                times.from_start = True
                times.elapsed = source.start_ns is None
                start_ns = source.start_ns or 0
        if start_ns is None:
            return check_ns(time_ns)
        if abs(time_ns) > LONGEST_NS:
            raise ValueError(f"the time {text[:40]!r}, where others count from a start")
        return start_ns + time_ns

    times = RowTimes(parse)
    return times


def _parse_count(text: str) -> Decimal:
    try:
        count = Decimal(text)
    except InvalidOperation:
        count = Decimal("NaN")
    if not count.is_finite() or count.adjusted() > _MOST_DIGITS:
        raise ValueError(f"the time {text[:40]!r}, not a number since 1970 or since a start")
    return count
