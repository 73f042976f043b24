"""The frame of the kinds of node meters: what each does when it is opened and when it is read."""

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from harness.errors import MeterError
from harness.power.feeds.feed import QUANTITIES, FeedError, StaleDetector
from harness.power.node_meter import MeterAccess, NodeMeter
from rules.bundle_format.records import FeedReading


class FramedMeter(NodeMeter):
    """A meter that refuses unknown keys, is read once when it is opened, and marks feeds that are
    no longer renewed."""

    option_names: ClassVar[frozenset[str]] = frozenset()
    """The keys that its table in meters.toml may have, beside those of all kinds."""
    stale_fields: ClassVar[Sequence[str]] = QUANTITIES
    """The fields of `StaleDetector`."""

    def __init__(self, access: MeterAccess) -> None:
        self._access = access
        self._stale = StaleDetector(self.stale_fields)

    @classmethod
    def open(cls, access: MeterAccess) -> Self:
        for key in access.options:
            if key not in cls.option_names:
                known = ", ".join(sorted(cls.option_names)) or "none"
                raise MeterError(
                    f"meter {access.id}: meters.toml has the key {key}, which the kind "
                    f"{access.kind} does not have; correct or remove it (keys of this kind: "
                    f"{known})"
                )
        meter = cls.make(access)
        try:
            meter.prepare()
        except FeedError as error:
            meter.close()
            raise MeterError(f"meter {access.id}: {error.problem}") from None
        except BaseException:
            meter.close()
            raise
        return meter

    @classmethod
    def make(cls, access: MeterAccess) -> Self:
        """The meter of an entry of meters.toml, not yet read. Raises MeterError."""
        return cls(access)

    def prepare(self) -> None:
        """Read the meter once, so that a wrong entry is told before the run. Raises FeedError or
        MeterError."""
        self.read_feeds()

    @abstractmethod
    def read_feeds(self) -> Sequence[tuple[str, FeedReading]]:
        """Read all feeds. Raises FeedError if none can be read."""

    def read(self) -> list[tuple[str, FeedReading]]:
        try:
            readings = self.read_feeds()
        except FeedError as error:
            return [(feed, FeedReading(status=error.status)) for feed in self._access.feeds]
        now_s = time.monotonic()
        return [(feed, self._stale.mark(feed, reading, now_s)) for feed, reading in readings]
