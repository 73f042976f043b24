"""NVIDIA GPUs through NVML (`nvidia-ml-py`).

Properties of NVML that this file depends on (from the API reference, and from readings on an H200):

- Power usage and field 185 are averages over 1 s on Hopper; field 186 is instantaneous.
- Each field value has its own return code.
- The energy counter advances every 100 ms and takes about 3 ms to read.
- NVML ignores CUDA_VISIBLE_DEVICES.
- A limit lasts until the driver is unloaded. Without persistence mode, the driver is unloaded when
  its last client ends.
- The binding of `nvmlDeviceSetPowerManagementLimit_v2` (nvidia-ml-py 13.615) drops its return code.
- No function returns the clocks that `nvidia-smi -lgc` locked. Application clocks show as slowdown
  reason 0x2.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from checker.extras import advise_extra
from harness.errors import MeterError, NotAllowedError
from harness.power.cuda_devices import choose_boards
from harness.power.nvml_calls import read_field, repeat_passing
from harness.power.source import (
    CapControl,
    ClockControl,
    CounterApart,
    Device,
    PowerSource,
    Readback,
)
from rules.boards import counter_covers_module
from rules.bundle_format.records import Reading

# Numbers of NVML field values (NVML_FI_DEV_…); older bindings lack some of the names.
POWER_AVERAGE, POWER_INSTANT = 185, 186
POWER_MIN, POWER_MAX, POWER_DEFAULT, POWER_ENFORCED, POWER_REQUESTED = 187, 188, 189, 190, 192
MEMORY_TEMPERATURE = 82
MEMORY_SCOPE = 2  # of nvmlPowerScopeType_t
COUNTER = "energy_mj"


class NvidiaSource(PowerSource, CapControl, ClockControl, CounterApart):
    """Reads NVIDIA GPUs, sets their power limits and locks their SM clocks.

    Handles are cached, and the quantities that a board supports are determined once.
    """

    priority = 10
    torch_device = "cuda"
    state = "P0"

    @classmethod
    def open(cls, argument: str) -> "NvidiaSource":
        """Open the GPUs that CUDA_VISIBLE_DEVICES leaves visible, or all of them if it is unset.
        `argument` is not used."""
        try:
            # Imported here, because the harness loads this file on machines without NVIDIA GPUs
            # too.
            import pynvml  # the module of the nvidia-ml-py distribution
        except ImportError:
            raise MeterError(f"nvidia-ml-py is not installed; {advise_extra('nvidia')}") from None
        try:
            repeat_passing(pynvml.nvmlInit)
        except pynvml.NVMLError as error:
            raise MeterError(
                f"NVML does not answer ({error}); is the NVIDIA driver loaded? Check with "
                "nvidia-smi"
            ) from None
        return cls(pynvml, os.environ.get("CUDA_VISIBLE_DEVICES"))

    def __init__(self, nvml: ModuleType, visible: str | None) -> None:
        self._nvml: Any = nvml
        self.driver = nvml.nvmlSystemGetDriverVersion()
        handles: dict[int, Any] = {}
        errors: dict[int, str] = {}
        uuids = [""] * nvml.nvmlDeviceGetCount()
        for index in range(len(uuids)):
            # NVML counts a GPU that a container or cgroup forbids, or that is lost, and gives no
            # handle.
            try:
                handles[index] = repeat_passing(nvml.nvmlDeviceGetHandleByIndex, index)
                uuids[index] = repeat_passing(nvml.nvmlDeviceGetUUID, handles[index])
            except nvml.NVMLError as error:
                errors[index] = str(error)
        indices = choose_boards(uuids, errors, visible)
        # Getting a handle and probing for support take time, so no tick repeats them.
        self._handles = {uuids[i]: handles[i] for i in indices}
        self._hidden_handles = {
            uuids[i]: handle
            for i, handle in handles.items()
            if i not in errors and i not in indices
        }
        self._installed = len(uuids)
        self._getters = {uuid: self._supported(handle) for uuid, handle in self._handles.items()}

    def hidden(self) -> list[str]:
        return list(self._hidden_handles)

    def count_installed(self) -> int:
        # NVML counts a GPU that it gives no access to.
        return self._installed

    def devices(self) -> list[Device]:
        return [self._device(uuid, handle) for uuid, handle in self._handles.items()]

    def _device(self, uuid: str, handle: Any) -> Device:
        nvml = self._nvml
        max_mw = self._try(lambda: self._field(handle, POWER_MAX))
        return Device(
            uuid=uuid,
            name=self._try(lambda: nvml.nvmlDeviceGetName(handle)) or "NVIDIA GPU",
            vendor="NVIDIA",
            memory_bytes=self._try(lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).total)),
            vbios=self._try(lambda: nvml.nvmlDeviceGetVbiosVersion(handle)),
            pci=self._try(lambda: nvml.nvmlDeviceGetPciInfo(handle).busId),
            max_power_w=None if max_mw is None else max_mw / 1e3,
        )

    def read(self, uuid: str) -> Reading:
        return self._read(uuid, self._find_getters(uuid))

    def read_state(self, uuid: str) -> Reading:
        getters = self._find_getters(uuid)
        return self._read(uuid, {name: getters[name] for name in getters if name != COUNTER})

    def read_counter(self, uuid: str) -> int | None:
        get = self._find_getters(uuid).get(COUNTER)
        try:
            return None if get is None else int(repeat_passing(get, self._find_handle(uuid)))
        except self._nvml.NVMLError as error:
            raise MeterError(str(error)) from None

    def read_buffer(self, uuid: str, after_ns: int) -> list[tuple[int, int]]:
        nvml = self._nvml
        # The driver's stamps are in us since 1970.
        offset_ns = time.time_ns() - time.monotonic_ns()
        after_us = (after_ns + offset_ns) // 1000
        try:
            _, samples = nvml.nvmlDeviceGetSamples(
                self._find_handle(uuid), nvml.NVML_TOTAL_POWER_SAMPLES, after_us
            )
        except nvml.NVMLError:
            # Not supported, or nothing new.
            return []
        return [
            (1000 * int(sample.timeStamp) - offset_ns, int(sample.sampleValue.uiVal))
            for sample in samples
            if sample.timeStamp > after_us
        ]

    def _find_handle(self, uuid: str) -> Any:
        handle = self._handles.get(uuid)
        return self._hidden_handles[uuid] if handle is None else handle

    def _find_getters(self, uuid: str) -> Mapping[str, Callable[[Any], Any]]:
        """The function that reads each quantity of the board. Those of a hidden GPU are probed when
        it is first read, because most processes read none."""
        if uuid not in self._getters:
            self._getters[uuid] = self._supported(self._find_handle(uuid))
        return self._getters[uuid]

    def _read(self, uuid: str, getters: Mapping[str, Callable[[Any], Any]]) -> Reading:
        handle = self._find_handle(uuid)
        values: dict[str, Any] = {}
        for name, get in getters.items():
            try:
                values[name] = repeat_passing(get, handle)
            except self._nvml.NVMLError as error:
                # The status has room for one text. The other quantities of this reading stay valid.
                values.setdefault("status", f"{name}: {error}")
        return Reading(**values)

    def readback(self, uuid: str, own_pids: frozenset[int]) -> Readback:
        handle, nvml = self._get_handle(uuid), self._nvml
        limits = {
            name: self._try(partial(self._field, handle, field))
            for name, field in (
                ("min_mw", POWER_MIN),
                ("max_mw", POWER_MAX),
                ("default_mw", POWER_DEFAULT),
                ("requested_mw", POWER_REQUESTED),
                ("enforced_mw", POWER_ENFORCED),
            )
        }
        pids = self._try(lambda: [p.pid for p in nvml.nvmlDeviceGetComputeRunningProcesses(handle)])
        return Readback(
            **limits,
            foreign_processes=None if pids is None else sum(pid not in own_pids for pid in pids),
            mig=self._is_partitioned(handle),
            ecc_uncorrected=self._ecc(handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
            ecc_corrected=self._ecc(handle, nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
            sm_set_mhz=self._application_clock(
                handle, "nvmlDeviceGetApplicationsClock", nvml.NVML_CLOCK_SM
            ),
            sm_default_mhz=self._application_clock(
                handle, "nvmlDeviceGetDefaultApplicationsClock", nvml.NVML_CLOCK_SM
            ),
            mem_set_mhz=self._application_clock(
                handle, "nvmlDeviceGetApplicationsClock", nvml.NVML_CLOCK_MEM
            ),
            mem_default_mhz=self._application_clock(
                handle, "nvmlDeviceGetDefaultApplicationsClock", nvml.NVML_CLOCK_MEM
            ),
        )

    def set_cap(self, uuid: str, cap_mw: int) -> None:
        handle = self._get_handle(uuid)
        with self._report_refusal(f"{uuid}: a power limit of {cap_mw / 1e3:g} W"):
            # Not `_v2`: the binding drops its return code, so a refusal would look like success.
            self._nvml.nvmlDeviceSetPowerManagementLimit(handle, cap_mw)

    def list_sm_clocks(self, uuid: str) -> list[int]:
        handle, nvml = self._get_handle(uuid), self._nvml
        try:
            # Under load the memory has its highest clock.
            memory_mhz = max(nvml.nvmlDeviceGetSupportedMemoryClocks(handle))
            return sorted(nvml.nvmlDeviceGetSupportedGraphicsClocks(handle, memory_mhz))
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_NOT_SUPPORTED:
                return []
            raise MeterError(f"{uuid}: NVML does not list the SM clocks ({error})") from None

    def lock_sm_clock(self, uuid: str, sm_mhz: int) -> None:
        handle = self._get_handle(uuid)
        with self._report_refusal(f"{uuid}: an SM clock of {sm_mhz} MHz"):
            self._nvml.nvmlDeviceSetGpuLockedClocks(handle, sm_mhz, sm_mhz)

    def reset_sm_clock(self, uuid: str) -> None:
        handle = self._get_handle(uuid)
        with self._report_refusal(f"{uuid}: to unlock the SM clock"):
            try:
                self._nvml.nvmlDeviceResetGpuLockedClocks(handle)
            except self._nvml.NVMLError as error:
                # Boards before Volta list their clocks, but have no lock that could be removed.
                if error.value != self._nvml.NVML_ERROR_NOT_SUPPORTED:
                    raise

    @contextlib.contextmanager
    def _report_refusal(self, request: str) -> Iterator[None]:
        """Raise NotAllowedError or MeterError for an error of NVML in the block."""
        nvml = self._nvml
        try:
            yield
        except nvml.NVMLError as error:
            message = f"{request} was refused by NVML ({error})"
            # Kept apart, because an administrator can help here and not with a limit out of range.
            if error.value == nvml.NVML_ERROR_NO_PERMISSION:
                raise NotAllowedError(message) from None
            raise MeterError(message) from None

    def set_state(self, uuid: str, state: str) -> None:
        raise MeterError(
            f"{uuid}: NVML sets no performance state; a board enters P0 when it computes"
        )

    def close(self) -> None:
        # A driver that fails at the end of a run must not turn a complete run into a failed one.
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def _get_handle(self, uuid: str) -> Any:
        """Raises MeterError for a board that this source did not find."""
        if uuid not in self._handles:
            raise MeterError(
                f"{uuid}: NVML gives no access to such a GPU; see with nvidia-smi -L whether it is "
                "there"
            )
        return self._handles[uuid]

    def _is_partitioned(self, handle: Any) -> bool | None:
        """Whether MIG is on. None if the board does not answer."""
        nvml = self._nvml
        try:
            return bool(nvml.nvmlDeviceGetMigMode(handle)[0] == nvml.NVML_DEVICE_MIG_ENABLE)
        except nvml.NVMLError as error:
            return False if error.value == nvml.NVML_ERROR_NOT_SUPPORTED else None

    def _application_clock(self, handle: Any, function: str, kind: int) -> int | None:
        get = getattr(self._nvml, function, None)  # CUDA 14 removes these functions
        clock_mhz: int | None = get and self._try(lambda: int(get(handle, kind)))
        return clock_mhz

    def _ecc(self, handle: Any, kind: int) -> int | None:
        counter = self._nvml.NVML_VOLATILE_ECC
        count: int | None = self._try(
            lambda: int(self._nvml.nvmlDeviceGetTotalEccErrors(handle, kind, counter))
        )
        return count

    def _field(self, handle: Any, field: int, scope: int | None = None) -> int:
        return read_field(self._nvml, handle, field, scope)

    def _try(self, get: Callable[[], Any]) -> Any:
        try:
            return repeat_passing(get)
        except self._nvml.NVMLError:
            return None

    def _supported(self, handle: Any) -> dict[str, Callable[[Any], Any]]:
        """The function that reads each quantity, without the quantities that the board lacks.

        Power comes first, so that its time is closest to the timestamp of the sample.
        """
        nvml = self._nvml
        # Older bindings, and the libraries of drivers before 535, have only the latter name.
        slowdown_names = (
            "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetCurrentClocksThrottleReasons",
        )
        slowdown_getters = [getattr(nvml, name, None) for name in slowdown_names]
        getters: dict[str, Callable[[Any], Any] | None] = {
            "power_mw": lambda h: self._field(h, POWER_INSTANT),
            "power_avg_mw": nvml.nvmlDeviceGetPowerUsage,
            COUNTER: nvml.nvmlDeviceGetTotalEnergyConsumption,
            "sm_mhz": lambda h: nvml.nvmlDeviceGetClockInfo(h, nvml.NVML_CLOCK_SM),
            "mem_mhz": lambda h: nvml.nvmlDeviceGetClockInfo(h, nvml.NVML_CLOCK_MEM),
            "temp_c": lambda h: nvml.nvmlDeviceGetTemperature(h, nvml.NVML_TEMPERATURE_GPU),
            "mem_temp_c": lambda h: self._field(h, MEMORY_TEMPERATURE),
            "power_state": lambda h: f"P{nvml.nvmlDeviceGetPerformanceState(h)}",
            "slowdown": next((get for get in slowdown_getters if self._has(handle, get)), None),
            "util_pct": lambda h: nvml.nvmlDeviceGetUtilizationRates(h).gpu,
            "cap_mw": nvml.nvmlDeviceGetEnforcedPowerLimit,
            "mem_power_mw": lambda h: self._field(h, POWER_AVERAGE, MEMORY_SCOPE),
        }
        if counter_covers_module(self._try(lambda: nvml.nvmlDeviceGetName(handle)) or ""):
            # It would be compared with the power of the GPU. The node meter `nvml_module` reads it.
            del getters[COUNTER]
        return {
            name: get for name, get in getters.items() if get is not None and self._has(handle, get)
        }

    def _has(self, handle: Any, get: Callable[[Any], Any] | None) -> bool:
        if get is None:
            return False
        try:
            repeat_passing(get, handle)
        except self._nvml.NVMLError as error:
            # Other errors can pass, so the quantity is kept and each failed read is recorded.
            return error.value not in (
                self._nvml.NVML_ERROR_NOT_SUPPORTED,
                self._nvml.NVML_ERROR_INVALID_ARGUMENT,
                # The library is older than the binding.
                self._nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
            )
        return True
