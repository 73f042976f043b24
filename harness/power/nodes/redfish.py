"""Power of a chassis, a sensor or an outlet from a Redfish service, such as a BMC or a PDU.

A feed in meters.toml is a resource, and optionally a JSON pointer into it:

    /redfish/v1/Chassis/ID/EnvironmentMetrics          PowerWatts, and EnergykWh if it has it
    /redfish/v1/PowerEquipment/RackPDUs/1/Outlets/A1   PowerWatts of an outlet
    /redfish/v1/Chassis/ID/Sensors/ID                  Reading of a sensor in W
    /redfish/v1/Chassis/ID/Power#/Oem/MAKER/NAME       a maker's own property, whose name ends in W

The other keys are user, a secret called password, ca_file or pin_sha256, and systems.

PowerConsumedWatts of PowerControl can differ by 10 % from PowerWatts of the same chassis (344 and
374 W in DMTF's own sample of a 1U server). The kind `redfish_power_control` reads it, so that the
bundle says which property was read, and none takes the place of the other.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from harness.errors import MeterError
from harness.power.feeds.feed import FeedError
from harness.power.feeds.frame import FramedMeter
from harness.power.node_meter import MeterAccess
from harness.power.nodes._redfish_properties import find_property, look_up, refuse_parts
from harness.power.nodes._redfish_session import RedfishSession
from rules.bundle_format.records import FeedReading

LARGEST_VALUE = 1e9
"""In W, kWh, V or A."""


class RedfishMeter(FramedMeter):
    """Reads resources of one Redfish service."""

    blocking_timeout_s = 3.0
    option_names = frozenset({"user", "ca_file", "pin_sha256", "systems"})

    def __init__(self, access: MeterAccess) -> None:
        super().__init__(access)
        self._session = RedfishSession(access, self.blocking_timeout_s)
        self._power_properties: dict[str, tuple[str, str]] = {}

    def prepare(self) -> None:
        self._power_properties = _choose_properties(self._access, self._session)

    def read_feeds(self) -> list[tuple[str, FeedReading]]:
        answers: dict[str, Any] = {}
        readings = []
        for feed, resource in self._access.feeds.items():
            path, _, _ = resource.partition("#")
            pointer, power_property = self._power_properties[feed]
            try:
                if path not in answers:
                    answers[path] = self._session.get(path)
                reading = _parse_reading(_follow(answers[path], pointer), power_property)
            except FeedError as error:
                reading = FeedReading(status=error.status)
                if error.status in ("timeout", "refused"):
                    # The other feeds would wait for the same service as long.
                    return [(name, reading) for name in self._access.feeds]
            readings.append((feed, reading))
        return readings

    def close(self) -> None:
        self._session.close()


def _choose_properties(access: MeterAccess, session: RedfishSession) -> dict[str, tuple[str, str]]:
    """For each feed the pointer to its object, and the property of it that is its power. Raises
    MeterError if a feed has none, if feeds contain each other, or if a chassis has more systems
    than `systems` says."""
    properties, members = {}, {}
    for feed, resource in access.feeds.items():
        path, _, pointer = resource.partition("#")
        try:
            document = session.get(path)
            properties[feed] = find_property(document, pointer, access.kind)
            members[feed] = _follow(document, properties[feed][0])
            _require_systems(access, session, path)
        except FeedError as error:
            raise MeterError(f"meter {access.id}, feed {feed}: {error.problem}") from None
    try:
        refuse_parts(members)
    except FeedError as error:
        raise MeterError(f"meter {access.id}: {error.problem}") from None
    return properties


def _require_systems(access: MeterAccess, session: RedfishSession, path: str) -> None:
    """Refuse a chassis with more computer systems than the entry says: its power is that of all."""
    match = re.match(r"/redfish/v1/Chassis/[^/]+", path)
    if not match:
        return
    systems = _part(_part(session.get(match[0]), "Links"), "ComputerSystems")
    count = len(systems) if isinstance(systems, list) else 0
    expected = access.options.get("systems", "1")
    if count > 1 and str(count) != expected:
        raise FeedError(
            "refused",
            f"its chassis has {count} computer systems and measures all of them; set systems = "
            f'"{count}" in meters.toml, and scope = "chassis" and nodes_covered = {count} in '
            "system.toml",
        )


def _follow(document: Any, pointer: str) -> Mapping[str, Any]:
    """The object at a JSON pointer. Raises FeedError."""
    content = look_up(document, pointer)
    if not isinstance(content, dict):
        raise FeedError("malformed", "the resource is not a JSON object")
    return content


def _parse_reading(content: Mapping[str, Any], power_property: str) -> FeedReading:
    """Quantities of a resource. Raises FeedError without power."""
    if _part(content.get("Status"), "State") in ("Absent", "Disabled", "UnavailableOffline"):
        raise FeedError("absent", "the resource is absent, disabled or offline")
    power_w = _number(content.get(power_property))
    if power_w is None:
        raise FeedError("absent", f"{power_property} has no value")
    highest_w = _number(content.get("ReadingRangeMax"))
    if highest_w is not None and power_w > highest_w:
        raise FeedError("over-range", f"{power_property} is above ReadingRangeMax")
    energy_kwh = _number(content.get("EnergykWh"))
    factor = _number(_part(content.get(power_property), "PowerFactor"))
    return FeedReading(
        power_mw=round(1e3 * power_w),
        energy_mj=None if energy_kwh is None else round(energy_kwh * 3.6e9),
        voltage_mv=_in_thousandths(_number(content.get("Voltage"))),
        current_ma=_in_thousandths(_number(content.get("CurrentAmps"))),
        pf_ppm=None if factor is None else round(1e6 * factor),
        meter_ns=_parse_stamp(content.get("ReadingTime")),
    )


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _number(value: Any) -> float | None:
    """A property that is a number, or an excerpt of a sensor with its `Reading`."""
    if isinstance(value, dict):
        value = value.get("Reading")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FeedError("malformed", "the resource has no number where one belongs")
    if not abs(value) <= LARGEST_VALUE:
        raise FeedError("malformed", "the resource has an impossible number")
    return float(value)


def _in_thousandths(value: float | None) -> int | None:
    return None if value is None else round(1e3 * value)


def _parse_stamp(text: Any) -> int | None:
    """A date and time with zone (ISO 8601) as ns since 1970-01-01 UTC; None without one."""
    try:
        stamp = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    if stamp.tzinfo is None:
        return None
    elapsed = stamp - datetime(1970, 1, 1, tzinfo=UTC)
    return (elapsed.days * 86_400 + elapsed.seconds) * 10**9 + elapsed.microseconds * 1000
