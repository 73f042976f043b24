"""A stand-in for the module `amdsmi`, with the quirks that the backend must respect.

Each is followed by where it was read, on pages fetched in 2026. `binding` is the registry's amdsmi
7.0.2, whose Python sources were read; nothing here was seen on an AMD GPU.

Import
    without ROCm prints to stdout and raises KeyError: binding, amdsmi_wrapper.py; seen by importing
    it;
    the same in https://github.com/pytorch/pytorch/pull/188724 (`write_package_without_rocm`).
Power
    in W; MI300 has `current_socket_power` alone, MI200 `average_socket_power` alone, the other is
    "N/A":
    https://github.com/ROCm/pytorch/pull/1457; all ones in 16 bits become "N/A", but a newer
    library's all ones in 32 bits pass
    through: binding, amdsmi_get_power_info;
    https://rocm.docs.amd.com/projects/amdsmi/en/develop/doxygen/docBin/html/structamdsmi__power__info__t.html;
    "N/A" or 0 on the second die of a socket: https://github.com/ROCm/rocm_smi_lib/issues/160,
    https://git.zx2c4.com/linux-dev/commit/?id=076f55a45e9e41fcbc377ad064f10f29b26dc298;
    that of the socket on its first partition only, which alone tells the mode; the others tell
    their number:
    https://rocm.docs.amd.com/projects/amdsmi/en/develop/conceptual/partition.html.
Energy
    a count times a resolution of 15.3 as float32 is uJ; the count was called `power`:
    https://github.com/ml-energy/zeus/issues/123, https://github.com/AMDResearch/hpcfund/issues/21.
Caps
    in uW:
    https://rocm.docs.amd.com/projects/amdsmi/en/docs-6.2.1/doxygen/docBin/html/structamdsmi__power__cap__info__t.html
    (in W before ROCm 6.1.2: https://rocm.docs.amd.com/en/docs-6.1.2/about/changelog.html); the
    least reads 0 (design.md,
    section 5), and a cap that is set is that of a sensor, 0 on these boards:
    https://rocm.docs.amd.com/projects/amdsmi/en/docs-6.4.0/doxygen/docBin/html/group__tagPowerControl.html;
    the board says yes to one below what it enforces (design.md, section 5); limits that are not
    there are all ones in 64 bits: https://github.com/amd/MxGPU-Virtualization/issues/26.
Threads
    concurrent calls mix up boards: https://github.com/ROCm/amdsmi/issues/115; not safe before ROCm
    7.2:
    https://github.com/ml-energy/zeus/pull/256. Here every call from another thread than the first
    one's ends in Crash.
Throttling
    `amdsmi_get_violation_status` waits 100 ms between two looks at the residency counters:
    amd_smi.cc, kFASTEST_POLL_TIME_MS;
    https://rocm.docs.amd.com/projects/amdsmi/en/develop/conceptual/gpu-violations.html; the
    counters stand in the GPU
    metrics table, "N/A" on older boards: binding, amdsmi_get_gpu_metrics_info.
Order
    of handles is not HIP's, `hip_id` is: https://github.com/pytorch/pytorch/pull/160468,
    https://github.com/ml-energy/zeus/pull/229; `amdsmi_get_gpu_enumeration_info` is there since
    ROCm 6.4:
    https://rocm.docs.amd.com/en/docs-6.4.0/release/changelog.html.
    The variables that choose GPUs mean nothing to AMD SMI:
    https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html.
UUIDs
    HIP's is the unique id of the kernel's KFD, as 16 hexadecimal digits:
    https://github.com/ROCm/hipamd/issues/50;
    AMD SMI's text is another, 67c63ac3c3c637f9 as 67ff740f-0000-1000-80c6-3ac3c3c637f9:
    https://github.com/ROCm/legacy-rocm-build/issues/5480;
    `hip_uuid` and `asic_serial` need not be HIP's either:
    https://github.com/ROCm/rocm-systems/pull/3977.
    From ROCm 7.13 on the first is:
    https://rocm.docs.amd.com/projects/amdsmi/en/develop/conceptual/partition.html.
    Without a unique id, HIP says XX: https://github.com/Xilinx/XRT/pull/9146.
State
    the level to set is a member of an enumeration: binding, amdsmi_set_gpu_perf_level; only root
    may set anything;
    the performance level is a constant's name:
    https://rocm.docs.amd.com/projects/amdsmi/en/develop/_sources/conceptual/perf-determinism.md;
    one that the binding does not know raises KeyError: binding, amdsmi_get_gpu_perf_level.
Errors
    say their number in `err_code`, and their text has several lines: binding, amdsmi_exception.py;
    a function that a version
    lacks is an AttributeError.
Processes
    the list may hold the caller itself, and is of dictionaries: binding,
    amdsmi_get_gpu_process_list;
    https://github.com/ROCm/rocm-systems/pull/8396.
"""

import threading
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

INVALID, NOT_SUPPORTED, NO_PERMISSION, BUSY = 1, 2, 10, 30


class PerfLevel(IntEnum):
    AUTO, LOW, HIGH, MANUAL, STABLE_STD, STABLE_PEAK = range(6)


class AmdSmiException(Exception):
    pass


class AmdSmiLibraryException(AmdSmiException):
    def __init__(self, err_code: int) -> None:
        super().__init__(err_code)
        self.err_code = err_code

    def __str__(self) -> str:
        return f"Error code:\n\t{self.err_code} | AMDSMI_STATUS_SOMETHING - what it means"


class Crash(BaseException):
    """What a segmentation fault would be: nothing catches it."""


class FakeGpu:
    """A board: `answers` by function, `errors` by function; a test changes either. As an MI300X
    under load."""

    def __init__(self, unique_id: int, hip_id: int, bus: int) -> None:
        self.unique_id, self.node_id = unique_id, hip_id + 2  # nodes 0 and 1 are CPUs
        serial = f"{unique_id:016x}"
        self.errors: dict[str, int] = {}
        self.power = {
            "current_socket_power": 717,
            "average_socket_power": "N/A",
            "power_limit": 750_000_000,
        }
        self.energy = {
            "energy_accumulator": 4_750_896_266,
            "counter_resolution": 15.300000190734863,
            "timestamp": 1,
        }
        self.caps = {
            "power_cap": 600_000_000,
            "default_power_cap": 750_000_000,
            "dpm_cap": 0,
            "min_power_cap": 0,
            "max_power_cap": 750_000_000,
        }
        self.metrics: dict[str, Any] = {
            "temperature_edge": "N/A",
            "temperature_hotspot": 66,
            "temperature_mem": 48,
            "average_gfx_activity": 98,
            "current_gfxclk": 1300,
            "current_gfxclks": [1300, 1310, 1290, 1300, 1300, 1300, 1300, 1300],
            "current_uclk": 1300,
            "accumulation_counter": 10_000,
            "prochot_residency_acc": 0,
            "ppt_residency_acc": 5_000,
            "socket_thm_residency_acc": 0,
            "vr_thm_residency_acc": 0,
            "hbm_thm_residency_acc": 0,
        }
        self.enumeration: dict[str, Any] = {
            "drm_render": 128,
            "drm_card": 0,
            "hsa_id": 2,
            "hip_id": hip_id,
        }
        self.enumeration["hip_uuid"] = f"{serial[:2]}ff74a1-0000-1000-80{serial[2:4]}-{serial[4:]}"
        self.level: str | KeyError = "AMDSMI_DEV_PERF_LEVEL_AUTO"
        self.partition, self.partition_id = "SPX", 0
        self.pids: list[int] = []
        self.ecc = {"correctable_count": 3, "uncorrectable_count": 0, "deferred_count": 0}
        self.asic = {"market_name": "AMD Instinct MI300X", "asic_serial": f"0x{serial.upper()}"}
        self.bdf = f"0000:{bus:02x}:00.0"

    def answer(self, function: str) -> Any:
        answers = {
            "amdsmi_get_power_info": self.power,
            "amdsmi_get_energy_count": self.energy,
            "amdsmi_get_power_cap_info": self.caps,
            "amdsmi_get_gpu_metrics_info": self.metrics,
            "amdsmi_get_violation_status": self.metrics,
            "amdsmi_get_gpu_enumeration_info": self.enumeration,
            "amdsmi_get_gpu_kfd_info": {
                "kfd_id": 1,
                "node_id": self.node_id,
                "current_partition_id": self.partition_id,
            },
            "amdsmi_get_gpu_perf_level": self.level,
            "amdsmi_get_gpu_compute_partition": self.partition,
            "amdsmi_get_gpu_process_list": [
                {"name": "N/A", "pid": pid, "mem": 0} for pid in self.pids
            ],
            "amdsmi_get_gpu_total_ecc_count": self.ecc,
            "amdsmi_get_gpu_asic_info": self.asic,
            "amdsmi_get_gpu_device_bdf": self.bdf,
            "amdsmi_get_gpu_device_uuid": self.enumeration["hip_uuid"],
            "amdsmi_get_gpu_memory_total": 206_141_652_992,
            "amdsmi_get_gpu_vbios_info": {
                "name": "AMD MI300X",
                "version": "022.040.003.042.000001",
            },
            "amdsmi_get_gpu_driver_info": {"driver_name": "amdgpu", "driver_version": "6.10.5"},
        }
        return answers[function]


class FakeAmdSmi:
    """The module; `gpus` are its boards in its own order, the rest may be changed by a test."""

    AmdSmiException = AmdSmiException
    AmdSmiLibraryException = AmdSmiLibraryException
    AmdSmiMemoryType = SimpleNamespace(VRAM=0)
    AmdSmiDevPerfLevel = PerfLevel

    def __init__(self, *gpus: FakeGpu) -> None:
        self.gpus = gpus
        self.lacks: set[str] = set()
        """Functions that this version does not have."""
        self.init_error: int | None = None
        self.blocked_ms = 0
        self.closed = False
        self._thread: int | None = None

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("amdsmi_") or name in self.lacks:
            raise AttributeError(f"module 'amdsmi' has no attribute {name!r}")

        def call(gpu: FakeGpu, *arguments: object) -> Any:
            self._in_one_thread()
            if name == "amdsmi_get_violation_status":
                self.blocked_ms += 100
            if name in gpu.errors:
                raise AmdSmiLibraryException(gpu.errors[name])
            answer = gpu.answer(name)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    def amdsmi_init(self) -> None:
        self._in_one_thread()
        if self.init_error is not None:
            raise AmdSmiLibraryException(self.init_error)

    def amdsmi_shut_down(self) -> None:
        self._in_one_thread()
        self.closed = True

    def amdsmi_set_power_cap(self, gpu: FakeGpu, sensor: int, cap_uw: int) -> None:
        self._setting(gpu, "amdsmi_set_power_cap")
        if sensor != 0 or not gpu.caps["min_power_cap"] <= cap_uw <= gpu.caps["max_power_cap"]:
            raise AmdSmiLibraryException(INVALID)
        gpu.caps["power_cap"] = cap_uw // 1_000_000 * 1_000_000  # the driver keeps whole watts

    def amdsmi_set_gpu_perf_level(self, gpu: FakeGpu, level: PerfLevel) -> None:
        self._setting(gpu, "amdsmi_set_gpu_perf_level")
        if not isinstance(level, PerfLevel):
            raise AmdSmiException("parameter of another type")
        gpu.level = f"AMDSMI_DEV_PERF_LEVEL_{level.name}"

    def _setting(self, gpu: FakeGpu, function: str) -> None:
        self._in_one_thread()
        if function in gpu.errors:
            raise AmdSmiLibraryException(gpu.errors[function])

    def amdsmi_get_processor_handles(self) -> list[FakeGpu]:
        self._in_one_thread()
        return list(self.gpus)

    def _in_one_thread(self) -> None:
        self._thread = self._thread or threading.get_ident()
        if self._thread != threading.get_ident():
            raise Crash("AMD SMI was called from two threads")


def write_kfd_nodes(root: Path, *gpus: FakeGpu) -> Path:
    """The kernel's topology of the boards below `root`, behind two CPUs; returns the directory of
    the nodes."""
    nodes = {0: 0, 1: 0, **{gpu.node_id: gpu.unique_id for gpu in gpus}}
    for node, unique_id in nodes.items():
        (root / str(node)).mkdir(parents=True)
        (root / str(node) / "properties").write_text(
            f"simd_count 1216\nunique_id {unique_id}\nnum_xcc 8\n"
        )
    return root


def write_package_without_rocm(root: Path) -> None:
    """A package `amdsmi` below `root` that does on import what the real one does where there is no
    ROCm."""
    (root / "amdsmi").mkdir()
    (root / "amdsmi" / "__init__.py").write_text(
        "print('libamd_smi.so: cannot open shared object file')\n"
        "print('Unable to find libamd_smi.so library try installing amd-smi-lib')\n"
        "raise KeyError('libamd_smi.so')\n"
    )


A, B = "GPU-00c63ac3c3c637f9", "GPU-5d2e1f00a1b2c3d4"


def make_gpu_a() -> FakeGpu:
    return FakeGpu(0x00C63AC3C3C637F9, hip_id=0, bus=0xE5)


def make_gpu_b() -> FakeGpu:
    return FakeGpu(0x5D2E1F00A1B2C3D4, hip_id=1, bus=0x05)
