"""A stand-in for the module of nvidia-ml-py, with the quirks that the backend must respect.

Each has its source in NVML's API reference, or was read on an H200 (driver 580.159): field values carry a return code each
instead of raising; field 186 is instantaneous and `nvmlDeviceGetPowerUsage` a 1 s average; a quantity that a board lacks raises
NotSupported; CUDA_VISIBLE_DEVICES means nothing to it; a reading can fail at any time.
"""

from types import SimpleNamespace
from typing import Any

NVML_SUCCESS = 0
NVML_ERROR_INVALID_ARGUMENT = 2
NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NO_PERMISSION = 4
NVML_ERROR_GPU_IS_LOST = 15
NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
NVML_TEMPERATURE_GPU = 0
NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 0, 1
NVML_VOLATILE_ECC = 0
NVML_DEVICE_MIG_ENABLE = 1


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


class FakeNvml:
    """The module; `uuids` are its boards, the rest is what they answer and may be changed by a test."""

    NVMLError = NVMLError

    def __init__(self, *uuids: str) -> None:
        self.uuids = uuids
        self.fields = {82: 61, 185: 650_000, 186: 690_000, 187: 200_000, 188: 700_000, 189: 700_000, 190: 700_000, 192: 700_000}
        self.field_errors: dict[int, int] = {}
        self.missing: set[str] = set()
        self.lost = False
        self.forbidden: set[str] = set()
        self.pids: list[int] = []
        self.mig = 0
        self.ecc = 0
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
            "nvmlDeviceGetEnforcedPowerLimit": 700_000,
            "nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=p) for p in self.pids],
            "nvmlDeviceGetMigMode": (self.mig, 0),
            "nvmlDeviceGetTotalEccErrors": self.ecc,
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

    def nvmlDeviceGetFieldValues(self, handle: str, fields: list[int]) -> list[Any]:
        if self.lost:
            raise NVMLError(NVML_ERROR_GPU_IS_LOST)
        return [
            SimpleNamespace(nvmlReturn=self.field_errors.get(f, NVML_SUCCESS), value=SimpleNamespace(uiVal=self.fields[f]))
            for f in fields
        ]
