"""CPU packages through the kernel's powercap tree (RAPL on Intel and AMD).

RAPL has an energy counter and no power reading. Power is the difference of the counter between two
readings divided by their distance, an average over the sampling interval, and is recorded as
averaged power. The counter wraps at `max_energy_range_uj`. Some kernels give a counter of the
socket for each of its dies. Source: Linux kernel documentation,
power/powercap.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import MeterError
from harness.power.source import Device, PowerSource, Readback, SettingsReader
from rules.bundle_format.records import Reading

POWERCAP = Path("/sys/class/powercap")
SOCKET = re.compile(r"package-(\d+)")
"""The begin of the name of a package, as in `package-0` and `package-0-die-1`."""


@dataclass
class _Package:
    path: Path
    range_uj: int
    last_uj: int
    last_ns: int
    total_uj: int = 0


class RaplSource(PowerSource, SettingsReader):
    """Reads CPU packages. The energy counter starts at zero when the source is opened.

    It has no cap control: the limits of CPU packages are read and not set.
    """

    priority = 30

    @classmethod
    def open(cls, argument: str) -> "RaplSource":
        """Open the package domains below `argument`, a powercap tree (default:
        /sys/class/powercap)."""
        root = Path(argument) if argument else POWERCAP
        packages = [
            p
            for p in sorted(root.glob("intel-rapl:*"))
            # `intel-rapl:0:1` is a part of package 0 (core, uncore, dram). `intel-rapl:1` can be
            # `psys`, the whole platform, which contains the packages. Counting either would count
            # energy twice.
            if p.name.count(":") == 1 and _is_package(p)
        ]
        if not packages:
            raise MeterError(f"{root}: no RAPL package domains there")
        for package in packages:
            try:
                # Since CVE-2020-8694 (PLATYPUS) Linux lets only root read the counter.
                _read_number(package / "energy_uj")
            except PermissionError:
                raise MeterError(
                    f"{package}/energy_uj: only root may read it; an administrator can allow "
                    f"it with: chmod a+r {package}/energy_uj"
                ) from None
            except (OSError, ValueError) as error:
                raise MeterError(f"{package}/energy_uj cannot be read: {error}") from None
            try:
                _read_number(package / "max_energy_range_uj")
            except (OSError, ValueError) as error:
                raise MeterError(
                    f"{package}/max_energy_range_uj cannot be read ({_explain(error)}), so nobody "
                    "can tell when the counter wraps; give the run the whole powercap tree of the "
                    "host, or use a kernel that has this file"
                ) from None
        return cls(_drop_mirrors(packages))

    def __init__(self, packages: list[Path], clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._packages = {
            f"RAPL-{p.name.partition(':')[2]}": _Package(
                p, _read_number(p / "max_energy_range_uj"), _read_number(p / "energy_uj"), clock()
            )
            for p in packages
        }

    def devices(self) -> list[Device]:
        return [
            Device(uuid, _read_processor_name(), "RAPL", max_power_w=_read_max_power_w(p.path))
            for uuid, p in self._packages.items()
        ]

    def read(self, uuid: str) -> Reading:
        package = self._packages[uuid]
        try:
            now_uj, now_ns = _read_number(package.path / "energy_uj"), self._clock()
        except (OSError, ValueError) as error:
            return Reading(status=f"energy_uj: {error}")
        # The counter wraps to 0 after range_uj. At 100 ms it cannot wrap twice between two
        # readings.
        energy_uj = (now_uj - package.last_uj) % (package.range_uj + 1)
        elapsed_ns = now_ns - package.last_ns
        package.total_uj += energy_uj
        package.last_uj, package.last_ns = now_uj, now_ns
        return Reading(
            # uJ per ns is kW, and 1 kW is 1e6 mW.
            power_avg_mw=round(energy_uj * 1e6 / elapsed_ns) if elapsed_ns > 0 else None,
            energy_mj=package.total_uj // 1000,
            cap_mw=_read_limit_mw(package.path),
        )

    def readback(self, uuid: str, own_pids: frozenset[int]) -> Readback:
        # powercap has one number for the limit, so the requested limit is the one in force.
        limit = _read_limit_mw(self._packages[uuid].path)
        return Readback(requested_mw=limit, enforced_mw=limit)


def _read_number(path: Path) -> int:
    return int(path.read_text())


def _explain(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _drop_mirrors(packages: list[Path]) -> list[Path]:
    """The packages without dies that give the counter of another die of their socket. Such dies are
    one meter."""
    kept: list[Path] = []
    for package in packages:
        if not any(_is_mirror(package, other) for other in kept):
            kept.append(package)
    return kept


def _is_mirror(package: Path, other: Path) -> bool:
    sockets = [SOCKET.match((domain / "name").read_text()) for domain in (package, other)]
    if None in sockets or len({socket[1] for socket in sockets if socket}) > 1:
        return False
    try:
        # A counter advances between two reads, so that of a mirror lies between two of the other.
        before_uj, between_uj, after_uj = (
            _read_number(domain / "energy_uj") for domain in (other, package, other)
        )
    except (OSError, ValueError):
        return False
    return before_uj <= between_uj <= after_uj


def _is_package(domain: Path) -> bool:
    try:
        return (domain / "name").read_text().startswith("package")
    except OSError:
        return False


def _read_limit_mw(domain: Path) -> int | None:
    try:
        # Constraint 0 is the long-term limit. Some machines state 0 or nothing for it.
        return _read_number(domain / "constraint_0_power_limit_uw") // 1000 or None
    except (OSError, ValueError):
        return None


def _read_max_power_w(domain: Path) -> float | None:
    try:
        return _read_number(domain / "constraint_0_max_power_uw") / 1e6 or None
    except (OSError, ValueError):
        return None


def _read_processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "CPU"
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "CPU"
    )
