"""Local times of a log as nanoseconds since 1970. Times that a change of the clocks doubles or
skips are refused."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


FIRST_NS, LAST_NS = 10**17, 7 * 10**18
"""No log is older or younger: March 1973 to 2191. The 64 bits of a column hold ns until 2262."""
LONGEST_NS = 3650 * 86_400 * 10**9
"""No log is longer."""


class LocalTimeError(ValueError):
    """A local time is not one instant. The message says why."""


class AmbiguousTimeError(LocalTimeError):
    """The local time occurs twice, at the end of daylight saving time."""


class SkippedTimeError(LocalTimeError):
    """The local time does not occur, at the start of daylight saving time."""


def find_zone(name: str) -> tzinfo:
    """The time zone of a name such as `Europe/Berlin`, `UTC` or `+02:00`. Raises ValueError."""
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        if offset < timedelta(days=1):
            return timezone(-offset if sign == "-" else offset)
    if name in ("UTC", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"{name!r} is no time zone; write a name such as Europe/Berlin or UTC, or an offset "
            "such as +02:00"
        ) from None


class LocalClock:
    """Converts the local times of a log to ns since 1970-01-01 UTC. Without a zone, local time is
    taken as if it were UTC: intervals are then right, except over a change of the clocks."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self._minute: datetime | None = None
        self._minute_ns = 0

    def to_ns(self, time: datetime) -> int:
        """The time of `time`, which has no zone of its own. Raises LocalTimeError, and ValueError
        for a time that no log has."""
        minute = time.replace(second=0, microsecond=0)
        # Clocks change on whole minutes, and successive readings are mostly of the same minute.
        if minute != self._minute:
            local_ns = check_ns((minute - _EPOCH) // _MICROSECOND * 1000)
            self._minute_ns = local_ns - self._find_offset(minute) // _MICROSECOND * 1000
            self._minute = minute
        return self._minute_ns + time.second * 10**9 + time.microsecond * 1000

    def _find_offset(self, minute: datetime) -> timedelta:
        if self._zone is None:
            return timedelta(0)
        before = self._zone.utcoffset(minute.replace(fold=0))
        after = self._zone.utcoffset(minute.replace(fold=1))
        if before is None or after is None:  # no zone of `find_zone` does this
            raise LocalTimeError(f"{self._zone} has no offset at {minute}")
        if before > after:
            raise AmbiguousTimeError(
                f"{minute:%Y-%m-%d %H:%M} occurs twice in {self._zone}, at the end of daylight "
                "saving time"
            )
        if before < after:
            raise SkippedTimeError(
                f"{minute:%Y-%m-%d %H:%M} does not occur in {self._zone}, at the start of daylight "
                "saving time"
            )
        return before


def count_ns(time: datetime) -> int:
    """Nanoseconds from 1970-01-01 UTC to `time`, which has a zone. Raises ValueError for a time
    that no log has."""
    return check_ns((time - _EPOCH_UTC) // _MICROSECOND * 1000)


def check_ns(time_ns: int) -> int:
    """Return a time in ns since 1970 as it is. Raises ValueError for a time that no log has."""
    if not FIRST_NS < time_ns < LAST_NS:
        raise ValueError("a time that is not between 1973 and 2191")
    return time_ns


def format_time(time_ns: int, has_zone: bool) -> str:
    """A time as ISO 8601 with milliseconds: in UTC with `Z`, or local without a zone."""
    text = (_EPOCH + timedelta(milliseconds=round(time_ns / 1e6))).isoformat(
        timespec="milliseconds"
    )
    return f"{text}Z" if has_zone else text
