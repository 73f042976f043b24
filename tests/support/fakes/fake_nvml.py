"""A stand-in for the module of nvidia-ml-py, with the quirks that the backend must respect.

Each has its source in NVML's API reference, or was read on an H200 (driver 580.159): field values
carry a return code each instead of raising; field 186 is instantaneous and
`nvmlDeviceGetPowerUsage` a 1 s average; a quantity that a board lacks raises NotSupported;
CUDA_VISIBLE_DEVICES means nothing to it; a reading can fail at any time. A limit is set by root
only and within the board's limits; the second version of that call, in the binding 13.615, returns
success whatever the library said.

`of_file` is a module whose limits are in a file, so that several processes see the same boards:
`write_module` leaves a `pynvml.py` that is one.
"""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

NVML_SUCCESS = 0
NVML_ERROR_INVALID_ARGUMENT = 2
NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NO_PERMISSION = 4
NVML_ERROR_FUNCTION_NOT_FOUND = 13
NVML_ERROR_GPU_IS_LOST = 15
NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM = 0, 1, 2
NVML_TEMPERATURE_GPU = 0
NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 0, 1
NVML_VOLATILE_ECC = 0
NVML_DEVICE_MIG_ENABLE = 1


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


class FakeNvml:
    """The module; `uuids` are its boards, the rest is what they answer and may be changed by a
    test."""

    NVMLError = NVMLError

    def __init__(self, *uuids: str) -> None:
        self.uuids = uuids
        self.fields = {
            82: 61,
            185: 650_000,
            186: 690_000,
            187: 200_000,
            188: 700_000,
            189: 700_000,
            190: 700_000,
            192: 700_000,
        }
        self.field_errors: dict[int | tuple[int, int], int] = {(185, 2): NVML_ERROR_NOT_SUPPORTED}
        """By field, or by field and scope: that of the memory is not supported."""
        self.missing: set[str] = set()
        self.lost = False
        self.forbidden: set[str] = set()
        self.pids: list[int] = []
        self.mig = 0
        self.ecc = 0
        self.clocks = {NVML_CLOCK_SM: 1980, NVML_CLOCK_MEM: 3201}
        self.default_clocks = dict(self.clocks)
        self.file: Path | None = None
        self.boards: dict[str, Any] = {"limits": {}, "root": True, "deaf": [], "locks": {}}
        """Limits that were set, in mW; whether this process may; boards that take a limit and do
        not keep it; locked SM clocks in MHz."""
        for name, value in globals().items():
            if name.startswith("NVML_"):
                setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        answers = {
            "nvmlInit": None,
            "nvmlShutdown": None,
            "nvmlSystemGetDriverVersion": "580.159.04",
            "nvmlDeviceGetCount": len(self.uuids),
            "nvmlDeviceGetName": "NVIDIA H200",
            "nvmlDeviceGetVbiosVersion": "96.00.BC.00.01",
            "nvmlDeviceGetPciInfo": SimpleNamespace(busId="00000000:01:00.0"),
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=150_754_820_096),
            "nvmlDeviceGetPowerUsage": 650_000,
            "nvmlDeviceGetTotalEnergyConsumption": 123_456_789,
            "nvmlDeviceGetTemperature": 55,
            "nvmlDeviceGetPerformanceState": 0,
            "nvmlDeviceGetCurrentClocksEventReasons": 4,
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=99),
            "nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=p) for p in self.pids],
            "nvmlDeviceGetMigMode": (self.mig, 0),
            "nvmlDeviceGetTotalEccErrors": self.ecc,
            "nvmlDeviceGetSupportedMemoryClocks": [3201, 1593],
        }
        if name not in answers:
            raise AttributeError(name)

        def call(*arguments: object) -> Any:
            if self.lost and name.startswith("nvmlDevice"):
                raise NVMLError(NVML_ERROR_GPU_IS_LOST)
            if name in self.missing:
                raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
            return answers[name]

        return call

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        if self.uuids[index] in self.forbidden:
            raise NVMLError(NVML_ERROR_NO_PERMISSION)
        return self.uuids[index]

    def nvmlDeviceGetUUID(self, handle: str) -> str:
        return handle

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:
        return {NVML_CLOCK_SM: 1755, NVML_CLOCK_MEM: 3201}[kind]

    def nvmlDeviceGetApplicationsClock(self, handle: str, kind: int) -> int:
        return self._clock(self.clocks, kind)

    def nvmlDeviceGetDefaultApplicationsClock(self, handle: str, kind: int) -> int:
        return self._clock(self.default_clocks, kind)

    def nvmlDeviceGetFieldValues(self, handle: str, fields: list[Any]) -> list[Any]:
        if self.lost:
            raise NVMLError(NVML_ERROR_GPU_IS_LOST)
        limits = self._boards()["limits"]
        values = {
            **self.fields,
            **({190: limits[handle], 192: limits[handle]} if handle in limits else {}),
        }
        return [
            SimpleNamespace(
                nvmlReturn=self.field_errors.get(f, NVML_SUCCESS),
                value=SimpleNamespace(uiVal=values.get(f, 0)),
            )
            for f in fields
        ]

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: str) -> int:
        return int(self.nvmlDeviceGetFieldValues(handle, [190])[0].value.uiVal)

    def nvmlDeviceSetPowerManagementLimit(self, handle: str, limit_mw: int) -> None:
        if value := self._set_limit(handle, limit_mw):
            raise NVMLError(value)

    def nvmlDeviceSetPowerManagementLimit_v2(
        self, handle: str, scope: int, limit_mw: int, version: int = 2
    ) -> int:
        self._set_limit(handle, limit_mw)
        return NVML_SUCCESS

    def _set_limit(self, handle: str, limit_mw: int) -> int:
        boards = self._boards()
        if not boards["root"]:
            return NVML_ERROR_NO_PERMISSION
        if not self.fields[187] <= limit_mw <= self.fields[188]:
            return NVML_ERROR_INVALID_ARGUMENT
        if handle not in boards["deaf"]:
            boards["limits"][handle] = limit_mw
            if self.file is not None:
                replace_json(self.file, boards)
        return NVML_SUCCESS

    def nvmlDeviceGetSupportedGraphicsClocks(self, handle: str, memory_mhz: int) -> list[int]:
        if "nvmlDeviceGetSupportedGraphicsClocks" in self.missing:
            raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
        return list(range(1980 if memory_mhz == 3201 else 345, 344, -15))

    def nvmlDeviceSetGpuLockedClocks(self, handle: str, min_mhz: int, max_mhz: int) -> None:
        assert min_mhz == max_mhz
        self._change_lock(handle, max_mhz)

    def nvmlDeviceResetGpuLockedClocks(self, handle: str) -> None:
        self._change_lock(handle, None)

    def _change_lock(self, handle: str, locked_mhz: int | None) -> None:
        boards = self._boards()
        if not boards["root"]:
            raise NVMLError(NVML_ERROR_NO_PERMISSION)
        locks = boards.setdefault("locks", {})
        locks.pop(handle, None)
        if locked_mhz is not None:
            locks[handle] = locked_mhz
        if self.file is not None:
            replace_json(self.file, boards)

    def _boards(self) -> dict[str, Any]:
        return self.boards if self.file is None else json.loads(self.file.read_text())

    def _clock(self, clocks: dict[int, int], kind: int) -> int:
        if kind not in clocks:
            raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
        return clocks[kind]

    @staticmethod
    def of_file(path: Path) -> "FakeNvml":
        nvml = FakeNvml(*json.loads(path.read_text())["uuids"])
        nvml.file = path
        return nvml


def replace_json(path: Path, value: object) -> None:
    """Write it so that no other process ever sees half of it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(value))
    draft.rename(path)


def write_module(directory: Path, boards: Path) -> None:
    """A module `pynvml` in `directory` that is the fake of the file `boards`."""
    code = (
        "import pathlib, sys\nfrom support.fakes import fake_nvml\nsys.modules[__name__] = "
        f"fake_nvml.FakeNvml.of_file(pathlib.Path({str(boards)!r}))\n"
    )
    (directory / "pynvml.py").write_text(code)
