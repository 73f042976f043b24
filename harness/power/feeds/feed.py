"""What the kinds of meters share: the failure of a feed, pauses after refused logins, stale
values."""

import ssl
from collections.abc import Sequence
from dataclasses import replace
from http.client import HTTPException

from harness.errors import MeterError
from rules.bundle_format.records import FeedReading

LOGIN_PAUSE_S = 30.0
"""Pause after a refused login. A management controller locks the account after a few of them."""
STALE_AFTER_S = 15.0
"""How long all quantities of a feed may stay the same. Power of a node in use changes with every
measurement; real management controllers repeat 1 to 20 % of their values."""
QUANTITIES = ("power_mw", "energy_mj", "voltage_mv", "current_ma")
"""Fields of `FeedReading`."""


class FeedError(Exception):
    """A feed cannot be read. `problem` contains neither address nor secret."""

    def __init__(self, status: str, problem: str) -> None:
        super().__init__(problem)
        self.status = status
        """One of `rules.bundle_format.records.METER_STATUSES`."""
        self.problem = problem

    @classmethod
    def from_network(cls, error: Exception) -> "FeedError":
        """Name the failure of a connection without the text of its library, which contains
        addresses."""
        match error:
            case FeedError():
                return error
            case TimeoutError():
                return cls("timeout", "it does not answer; check host and port")
            case ssl.SSLCertVerificationError():
                return cls(
                    "refused",
                    "its certificate is not the expected one; set ca_file to the certificate of "
                    "its authority, or pin_sha256 to the SHA-256 of its own",
                )
            case ssl.SSLError():
                return cls("refused", "it does not speak TLS; check the port")
            case ConnectionError():
                return cls("refused", "it refuses the connection; check host and port")
            case OSError():
                return cls("timeout", "it cannot be reached; check host, port and route")
            case HTTPException() | ValueError():
                return cls("malformed", "it gives no answer that wattmark understands")
        return cls("malformed", f"it cannot be read ({type(error).__name__})")

    @classmethod
    def from_secret(cls, error: MeterError) -> "FeedError":
        """Name the reason why a secret cannot be read, without the id of the meter."""
        return cls("refused", str(error).partition(": ")[2])


class LoginPause:
    """Refuses logins for `LOGIN_PAUSE_S` after a refused one. Times are seconds of the monotonic
    clock."""

    def __init__(self) -> None:
        self._end_s = float("-inf")

    def begin(self, now_s: float) -> None:
        """Note a refused login."""
        self._end_s = now_s + LOGIN_PAUSE_S

    def require_end(self, now_s: float) -> None:
        """Raise FeedError (`refused`) during the pause."""
        if now_s < self._end_s:
            raise FeedError("refused", "it refused the last login; check user and password")


class StaleDetector:
    """Finds feeds whose measurements are no longer renewed.

    A measurement is new if its sequence number (`fresh`) is. Without such a number, it is new if
    one of `fields` of `FeedReading` has changed.
    """

    def __init__(self, fields: Sequence[str] = QUANTITIES) -> None:
        self._fields = fields
        self._changes: dict[str, tuple[tuple[int | None, ...], float]] = {}

    def mark(self, feed: str, reading: FeedReading, now_s: float) -> FeedReading:
        """Give the reading the status `stale` if its measurement was not renewed for
        `STALE_AFTER_S`. It keeps its values. A reading without any of the fields is left as it
        is."""
        fields = self._fields if reading.fresh is None else ("fresh",)
        content = tuple(getattr(reading, field) for field in fields)
        if reading.status != "ok" or content.count(None) == len(content):
            return reading
        last_content, changed_s = self._changes.get(feed, (None, now_s))
        if content != last_content:
            self._changes[feed] = (content, now_s)
            return reading
        return replace(reading, status="stale") if now_s - changed_s >= STALE_AFTER_S else reading
