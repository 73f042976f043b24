"""Power of parts of an NVIDIA board or of the module around it, through NVML (`nvidia-ml-py`).

A feed is a scope and the number of a GPU, such as `module-0` or `memory-1`, in the order of NVML;
without a number it is GPU 0. The scopes are `gpu`, `module` (on Grace Hopper: GPU, CPU and their
memory) and `memory`. Declare a meter for each scope: a meter of the scope `module`, or one of the
scope `board` with the memory as its feed.

NVML gives field 186 (instantaneous power) and field 185 (average power) for a scope, each with a
return code of its own. Where the energy counter covers the module (GH200), the feed of the module
has it. On one H200 with driver 580.159, the scope `module` is not supported.
Source: NVML API reference, NVML_FI_DEV_POWER_INSTANT and nvmlPowerScopeType_t.
"""

import contextlib
import re
from types import ModuleType
from typing import Any, Self

from checker.extras import advise_extra
from harness.errors import MeterError
from harness.power.feeds.feed import FeedError
from harness.power.feeds.frame import FramedMeter
from harness.power.node_meter import MeterAccess
from harness.power.nvml_calls import read_field, repeat_passing
from harness.power.sources.nvidia import POWER_AVERAGE, POWER_INSTANT
from rules.boards import counter_covers_module
from rules.bundle_format.records import FeedReading

SCOPES = {"gpu": 0, "module": 1, "memory": 2}
MODULE = SCOPES["module"]
FEED = re.compile(rf"({'|'.join(SCOPES)})(?:-(\d+))?", re.ASCII)
STATUSES = {3: "absent", 4: "refused", 10: "timeout", 15: "absent"}
"""The status for each return code: not supported, no permission, timeout, and GPU is lost."""


class NvmlModuleMeter(FramedMeter):
    """Reads the power of scopes. Whether a scope has instantaneous power is determined once."""

    needs_access = False

    def __init__(self, access: MeterAccess, nvml: ModuleType) -> None:
        super().__init__(access)
        self._nvml: Any = nvml
        self._fields: dict[str, tuple[Any, int, int]] = {}
        """Handle, field and scope of each feed."""
        for feed, text in access.feeds.items():
            if (match := FEED.fullmatch(text)) is None:
                raise MeterError(
                    f"meter {access.id}: feed {text!r}: give a scope and the number of a GPU, as "
                    f"in memory-0; the scopes are {', '.join(SCOPES)}"
                )
            scope, number = match[1], int(match[2] or 0)
            try:
                handle = nvml.nvmlDeviceGetHandleByIndex(number)
                field = self._choose_field(handle, SCOPES[scope])
            except (nvml.NVMLError, FeedError) as error:
                raise MeterError(
                    f"meter {access.id}: NVML gives no power of the scope {scope} of GPU {number} "
                    f"({error}); leave the feed out if the board does not have it"
                ) from None
            self._fields[feed] = (handle, field, SCOPES[scope])

    @classmethod
    def make(cls, access: MeterAccess) -> Self:
        try:
            import pynvml  # the module of the nvidia-ml-py distribution
        except ImportError:
            raise MeterError(
                f"meter {access.id}: nvidia-ml-py is not installed; {advise_extra('nvidia')}"
            ) from None
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            raise MeterError(
                f"meter {access.id}: NVML does not answer ({error}); is the NVIDIA driver loaded?"
            ) from None
        try:
            return cls(access, pynvml)
        except MeterError:
            pynvml.nvmlShutdown()
            raise

    def read_feeds(self) -> list[tuple[str, FeedReading]]:
        readings = []
        for feed, (handle, field, scope) in self._fields.items():
            try:
                reading = FeedReading(
                    power_mw=self._read_field(handle, field, scope),
                    energy_mj=self._read_module_counter(handle) if scope == MODULE else None,
                )
            except FeedError as error:
                reading = FeedReading(status=error.status)
            readings.append((feed, reading))
        return readings

    def close(self) -> None:
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def _choose_field(self, handle: Any, scope: int) -> int:
        """The field of instantaneous power, else that of average power. Raises FeedError if the
        board has neither."""
        try:
            self._read_field(handle, POWER_INSTANT, scope)
        except FeedError:
            self._read_field(handle, POWER_AVERAGE, scope)
            return POWER_AVERAGE
        return POWER_INSTANT

    def _read_module_counter(self, handle: Any) -> int | None:
        """The counter of the module in mJ; None where the counter is that of the GPU."""
        nvml = self._nvml
        try:
            if not counter_covers_module(nvml.nvmlDeviceGetName(handle)):
                return None
            return int(repeat_passing(nvml.nvmlDeviceGetTotalEnergyConsumption, handle))
        except nvml.NVMLError:
            return None

    def _read_field(self, handle: Any, field: int, scope: int) -> int:
        """Power in mW. Raises FeedError."""
        nvml = self._nvml
        try:
            return int(repeat_passing(read_field, nvml, handle, field, scope))
        except nvml.NVMLError as error:
            raise FeedError(STATUSES.get(error.value, "malformed"), str(error)) from None
