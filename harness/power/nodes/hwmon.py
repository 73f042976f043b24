"""Power from the sensors of Linux, /sys/class/hwmon: the ACPI power meter, NVIDIA Grace and others.

A feed is the label of a sensor, such as `Module Power Socket 0`, or its place, such as
`hwmon3/power1`. The label is the text of `powerN_label`, `powerN_oem_info` (ACPI and Grace) or the
`name` of the device. An entry in meters.toml may name another directory as `tree`.

The sensors of Grace give the average over 50 ms of a module. That is not the node, which also has
network cards, fans and the loss of its power supplies: declare the scope `module`. Power is in
microwatts; few sensors have an energy counter. Sources: Linux kernel, Documentation/hwmon,
sysfs-interface.rst and acpi_power_meter.rst; NVIDIA Grace Performance Tuning Guide, "Power
telemetry".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import MeterError
from harness.power.feeds.feed import FeedError
from harness.power.feeds.files import parse_count, read_text
from harness.power.feeds.frame import FramedMeter
from harness.power.node_meter import MeterAccess
from rules.bundle_format.records import FeedReading

TREE = "/sys/class/hwmon"
UNKNOWN_MW = 0xFFFF_FFFF
"""What the firmware of an ACPI power meter gives if it has no reading."""
POWER_FILE = re.compile(r"(power\d+)_(average|input)")


@dataclass(frozen=True)
class Sensor:
    """A power sensor."""

    place: str
    """The device and the number of the sensor, such as `hwmon3/power1`."""
    label: str
    power_path: Path
    energy_path: Path | None


class HwmonMeter(FramedMeter):
    """Reads power sensors of this node. Each feed is one sensor."""

    needs_access = False
    option_names = frozenset({"tree"})

    def __init__(self, access: MeterAccess) -> None:
        super().__init__(access)
        sensors = list(find_sensors(Path(access.options.get("tree", TREE))))
        self._sensors = {
            feed: _choose_sensor(access.id, sensors, text) for feed, text in access.feeds.items()
        }

    def prepare(self) -> None:
        for sensor in self._sensors.values():
            try:
                _read_sensor(sensor)
            except FeedError as error:
                raise FeedError(
                    error.status, f"{sensor.place} ({sensor.label}): {error.problem}"
                ) from None

    def read_feeds(self) -> list[tuple[str, FeedReading]]:
        readings = []
        for feed, sensor in self._sensors.items():
            try:
                reading = _read_sensor(sensor)
            except FeedError as error:
                reading = FeedReading(status=error.status)
            readings.append((feed, reading))
        return readings


def find_sensors(tree: Path) -> Iterator[Sensor]:
    """Yield the power sensors below the directory, in the order of their places. A sensor with both
    files is read by its average."""
    for device in sorted(tree.glob("hwmon*")):
        # Drivers of the older interface, such as that of ACPI, have their files in `device`.
        for directory in (device, device / "device"):
            names = sorted(path.name for path in directory.glob("power*"))
            paths = {m[1]: directory / n for n in reversed(names) if (m := POWER_FILE.fullmatch(n))}
            for sensor, power_path in sorted(paths.items()):
                energy_path = directory / f"{sensor.replace('power', 'energy')}_input"
                yield Sensor(
                    place=f"{device.name}/{sensor}",
                    label=_find_label(device, directory, sensor),
                    power_path=power_path,
                    energy_path=energy_path if energy_path.exists() else None,
                )


def _find_label(device: Path, directory: Path, sensor: str) -> str:
    label_files = (directory / f"{sensor}_label", directory / f"{sensor}_oem_info", device / "name")
    for path in label_files:
        try:
            if label := read_text(path):
                return label
        except FeedError:
            continue
    return ""


def _choose_sensor(meter: str, sensors: list[Sensor], text: str) -> Sensor:
    """The only sensor of this label or place. Raises MeterError if there is none, or several."""
    matches = [s for s in sensors if text.casefold() in (s.label.casefold(), s.place)]
    if len(matches) == 1:
        return matches[0]
    found = ", ".join(f"{s.place} ({s.label})" for s in matches or sensors) or "none"
    advice = "name it by its place, as in hwmon3/power1" if matches else "name one of them"
    raise MeterError(
        f"meter {meter}: {len(matches)} power sensors are called {text!r}; the sensors are "
        f"{found}; {advice}"
    )


def _read_sensor(sensor: Sensor) -> FeedReading:
    power_uw = parse_count(read_text(sensor.power_path), sensor.power_path.name)
    if power_uw >= 1000 * UNKNOWN_MW:
        raise FeedError("absent", "the firmware has no reading")
    energy_mj = None
    if sensor.energy_path is not None:
        energy_mj = parse_count(read_text(sensor.energy_path), sensor.energy_path.name) // 1000
    return FeedReading(power_mw=round(power_uw / 1000), energy_mj=energy_mj)
