"""AMD GPUs through AMD SMI (`amdsmi`, the binding that belongs to the ROCm on the machine).

What to know of AMD SMI; tests/support/fake_amdsmi.py names the source of each. Without ROCm its
import prints to stdout and raises KeyError. What a board lacks is "N/A" or all ones, not an error.
Power is in W, caps are in uW, energy is a count times a resolution in uJ. Power is that of a socket
and stands with its first partition or die only. Calls from several threads at once crash it or mix
up boards before ROCm 7.2: here all come from the caller's thread. Its order is not that of HIP, and
before ROCm 7.13 its UUIDs are not those of HIP: the order is taken from `hip_id`, the UUID from the
kernel.

The slowdown of a reading is a bit for each kind of throttling that went on since the reading
before: its residency counter in the GPU metrics table grew. `amdsmi_get_violation_status` says the
same and blocks for 100 ms.
"""

import contextlib
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.power.source import (
    CapControl,
    Device,
    MeterError,
    NotAllowedError,
    PowerSource,
    Readback,
)
from rules.bundle_format.records import Reading

PROCESSOR_HOT, PACKAGE_POWER, SOCKET_THERMAL, REGULATOR_THERMAL, MEMORY_THERMAL = (
    0x1,
    0x2,
    0x4,
    0x8,
    0x10,
)
"""Bits of a slowdown. Package power tracking (PPT) is the power cap at work; the others are
heat."""
RESIDENCIES = {
    PROCESSOR_HOT: "prochot_residency_acc",
    PACKAGE_POWER: "ppt_residency_acc",
    SOCKET_THERMAL: "socket_thm_residency_acc",
    REGULATOR_THERMAL: "vr_thm_residency_acc",
    MEMORY_THERMAL: "hbm_thm_residency_acc",
}
ESSENTIAL = ("power_mw", "power_avg_mw", "energy_mj", "cap_mw", "power_state", "slowdown")
"""A quantity of these that was there once and is gone has failed; clocks and temperatures of an
idle board come and go."""
NO_POWER = (
    "power: none reported; a socket has one reading, which stands with its first die or partition"
)
NO_PERMISSION = 10  # AMDSMI_STATUS_NO_PERM
NOT_SUPPORTED = (2, 3)  # AMDSMI_STATUS_NOT_SUPPORTED, AMDSMI_STATUS_NOT_YET_IMPLEMENTED
KFD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


@dataclass
class _Gpu:
    handle: Any
    residencies: dict[int, int] = field(default_factory=dict)
    """The residency counters of the reading before, by bit."""
    seen: set[str] = field(default_factory=set)
    """Essential quantities that it has had."""


class AmdSource(PowerSource, CapControl):
    """Reads AMD GPUs and sets their power limits and performance levels.

    A reading takes five calls, and each gives some of the quantities.
    """

    priority = 20
    torch_device = "cuda"
    state = "auto"

    @classmethod
    def open(cls, argument: str) -> "AmdSource":
        """The GPUs that ROCm's variables leave visible (see `visible_gpus`). Takes no argument."""
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):  # the sampler's stdout is a protocol
                import amdsmi
        except ModuleNotFoundError:
            raise MeterError(
                "amdsmi is not installed; install it with: pip install 'wattmark[amd]'"
            ) from None
        except Exception as error:  # whatever the loader of a C library comes upon
            reason = _line(said.getvalue()) or f"{type(error).__name__}: {_line(error)}"
            raise MeterError(
                f"amdsmi does not load ({reason}); it needs the libamd_smi of a ROCm of the same "
                "version"
            ) from None
        try:
            amdsmi.amdsmi_init()
        except amdsmi.AmdSmiException as error:
            raise MeterError(
                f"AMD SMI does not answer ({_line(error)}); is the amdgpu driver loaded? "
                "amd-smi list tells"
            ) from None
        return cls(amdsmi, os.environ)

    def __init__(self, smi: Any, environment: Mapping[str, str]) -> None:
        """Of `smi`, the module amdsmi, initialised. Raises MeterError where there is no GPU, or
        where it cannot tell which."""
        self._smi = smi
        # a function that this version lacks, a value that its own tables do not know, a text that
        # is not UTF-8
        self._errors: tuple[type[Exception], ...] = (
            smi.AmdSmiException,
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        )
        handles = self._try(smi.amdsmi_get_processor_handles)
        if not handles:
            raise MeterError("AMD SMI finds no GPU here; amd-smi list shows what it finds")
        counted = [
            (hip_id, n) for n, h in enumerate(handles) if (hip_id := self._hip_id(h)) is not None
        ]
        if not counted:
            _refuse_numbers(environment)
        in_order = [
            handles[n] for _, n in sorted(counted)
        ] or handles  # HIP cannot use one that it does not count
        uuids = [self._uuid(handle) for handle in in_order]
        self._gpus = {uuids[i]: _Gpu(in_order[i]) for i in visible_gpus(uuids, environment)}
        self.driver = self._try(
            lambda: smi.amdsmi_get_gpu_driver_info(handles[0])["driver_version"]
        )

    def devices(self) -> list[Device]:
        return [self._device(uuid, gpu.handle) for uuid, gpu in self._gpus.items()]

    def read(self, uuid: str) -> Reading:
        gpu = self._gpus[uuid]
        values: dict[str, Any] = {}
        failures: list[str] = []
        for get in (self._power, self._energy, self._cap, self._level, self._metrics):
            try:
                values |= get(gpu)
            except self._errors as error:
                if not _unsupported(error):
                    failures.append(f"{get.__name__[1:]}: {_line(error)}")
        gpu.seen |= {name for name in ESSENTIAL if values.get(name) is not None}
        failures += [
            f"{name}: not available this time"
            for name in ESSENTIAL
            if name in gpu.seen and values.get(name) is None
        ]
        if not gpu.seen & {"power_mw", "power_avg_mw"}:
            failures.append(NO_POWER)
        return Reading(**values, status=failures[0] if failures else "ok")

    def readback(self, uuid: str, own_pids: frozenset[int]) -> Readback:
        smi, handle = self._smi, self._gpus[uuid].handle
        caps = self._try(lambda: self._caps(handle)) or {}
        own = own_pids | {os.getpid()}
        pids = self._try(
            lambda: [process["pid"] for process in smi.amdsmi_get_gpu_process_list(handle)]
        )
        ecc = self._try(lambda: smi.amdsmi_get_gpu_total_ecc_count(handle)) or {}
        return Readback(
            min_mw=caps.get(
                "min_power_cap"
            ),  # 0 on MI300: the driver takes any cap, which does not say that it enforces it
            max_mw=caps.get("max_power_cap"),
            default_mw=caps.get("default_power_cap"),
            requested_mw=caps.get("power_cap"),
            enforced_mw=caps.get("power_cap"),
            foreign_processes=None if pids is None else sum(pid not in own for pid in pids),
            mig=self._partitioned(handle),
            ecc_uncorrected=_number(ecc.get("uncorrectable_count")),
            ecc_corrected=_number(ecc.get("correctable_count")),
        )

    def set_cap(self, uuid: str, cap_mw: int) -> None:
        asked = f"{uuid}: a power limit of {cap_mw / 1e3:g} W"
        self._change(
            asked, lambda: self._smi.amdsmi_set_power_cap(self._gpus[uuid].handle, 0, cap_mw * 1000)
        )

    def set_state(self, uuid: str, state: str) -> None:
        def change() -> None:
            level = getattr(self._smi.AmdSmiDevPerfLevel, state.upper())
            self._smi.amdsmi_set_gpu_perf_level(self._gpus[uuid].handle, level)

        self._change(f"{uuid}: the performance level {state}", change)

    def close(self) -> None:
        with contextlib.suppress(*self._errors):
            self._smi.amdsmi_shut_down()

    def _change(self, what: str, change: Callable[[], None]) -> None:
        """Raises NotAllowedError or MeterError that says what was refused, and how."""
        try:
            change()
        except self._errors as error:
            refused = f"{what} was refused by AMD SMI ({_line(error)})"
            if getattr(error, "err_code", None) == NO_PERMISSION:
                raise NotAllowedError(refused) from None
            raise MeterError(refused) from None

    def _power(self, gpu: _Gpu) -> dict[str, Any]:
        found = self._smi.amdsmi_get_power_info(gpu.handle)
        return {
            "power_mw": _milliwatts(found.get("current_socket_power")),
            "power_avg_mw": _milliwatts(found.get("average_socket_power")),
        }

    def _energy(self, gpu: _Gpu) -> dict[str, Any]:
        found = self._smi.amdsmi_get_energy_count(gpu.handle)
        count = _number(found.get("energy_accumulator", found.get("power")))  # its older name
        return {
            "energy_mj": None if count is None else round(count * found["counter_resolution"] / 1e3)
        }

    def _cap(self, gpu: _Gpu) -> dict[str, Any]:
        return {"cap_mw": self._caps(gpu.handle).get("power_cap")}

    def _level(self, gpu: _Gpu) -> dict[str, Any]:
        level = self._smi.amdsmi_get_gpu_perf_level(gpu.handle)
        return {"power_state": level.removeprefix("AMDSMI_DEV_PERF_LEVEL_").lower()}

    def _metrics(self, gpu: _Gpu) -> dict[str, Any]:
        table = self._smi.amdsmi_get_gpu_metrics_info(gpu.handle)
        clocks_mhz = [
            c for c in map(_number, table.get("current_gfxclks", ())) if c is not None
        ]  # one a compute die
        return {
            "sm_mhz": round(sum(clocks_mhz) / len(clocks_mhz))
            if clocks_mhz
            else _number(table.get("current_gfxclk")),
            "mem_mhz": _number(table.get("current_uclk")),
            "temp_c": _number(table.get("temperature_hotspot")),
            "mem_temp_c": _number(table.get("temperature_mem")),
            "util_pct": _number(table.get("average_gfx_activity")),
            "slowdown": _slowdown(gpu, table),
        }

    def _caps(self, handle: Any) -> dict[str, int]:
        """The caps that AMD SMI gives in uW, in mW."""
        found = self._smi.amdsmi_get_power_cap_info(handle)
        numbers = {name: _number(value) for name, value in found.items()}
        return {name: value // 1000 for name, value in numbers.items() if value is not None}

    def _device(self, uuid: str, handle: Any) -> Device:
        smi = self._smi
        max_mw = self._try(lambda: self._caps(handle)["max_power_cap"])
        return Device(
            uuid=uuid,
            name=self._try(lambda: smi.amdsmi_get_gpu_asic_info(handle)["market_name"])
            or "AMD GPU",
            vendor="AMD",
            memory_bytes=self._try(
                lambda: smi.amdsmi_get_gpu_memory_total(handle, smi.AmdSmiMemoryType.VRAM)
            ),
            vbios=self._try(lambda: smi.amdsmi_get_gpu_vbios_info(handle)["version"]),
            pci=self._try(lambda: smi.amdsmi_get_gpu_device_bdf(handle)),
            max_power_w=None if max_mw is None else max_mw / 1e3,
        )

    def _partitioned(self, handle: Any) -> bool:
        """Whether it is a slice of its socket. Every slice tells its number, the first one alone
        tells the mode."""
        mode = self._try(lambda: self._smi.amdsmi_get_gpu_compute_partition(handle))
        return bool(_number(self._kfd(handle).get("current_partition_id"))) or mode not in (
            None,
            "",
            "N/A",
            "SPX",
        )

    def _kfd(self, handle: Any) -> Mapping[str, Any]:
        return self._try(lambda: self._smi.amdsmi_get_gpu_kfd_info(handle)) or {}

    def _hip_id(self, handle: Any) -> int | None:
        return _number(
            (self._try(lambda: self._smi.amdsmi_get_gpu_enumeration_info(handle)) or {}).get(
                "hip_id"
            )
        )

    def _uuid(self, handle: Any) -> str:
        """What ROCr calls the GPU: made of the kernel's unique id, which virtual machines do not
        have."""
        try:
            properties = (
                KFD_NODES / str(self._kfd(handle).get("node_id")) / "properties"
            ).read_text()
        except OSError:
            properties = ""
        found = re.search(r"^unique_id (\d+)$", properties, re.MULTILINE)
        unique_id = int(found[1]) if found else 0
        return (
            f"GPU-{unique_id:016x}"
            if unique_id
            else f"PCI-{self._smi.amdsmi_get_gpu_device_bdf(handle)}"
        )

    def _try(self, get: Callable[[], Any]) -> Any:
        try:
            return get()
        except self._errors:
            return None


def visible_gpus(uuids: Sequence[str], environment: Mapping[str, str]) -> list[int]:
    """Indices into `uuids` (in HIP's order) of the GPUs that a HIP process would see, in its order.

    ROCR_VISIBLE_DEVICES chooses first, and none where it is empty. HIP_VISIBLE_DEVICES, or
    CUDA_VISIBLE_DEVICES where that is empty, chooses among those, counted anew. Both take numbers
    and UUIDs; the first wrong one ends the list. Source: ROCm documentation, GPU isolation
    techniques; ROCr's amd_filter_device.cpp and CLR's rocdevice.cpp.
    """
    rocr, hip, cuda = (environment.get(variable) for variable in VISIBLE)
    chosen = list(range(len(uuids))) if rocr is None else _named(uuids, rocr)
    if narrower := hip or cuda:
        chosen = [chosen[i] for i in _named([uuids[i] for i in chosen], narrower)]
    return chosen


def uuid_of_torch(text: str) -> str | None:
    """This meter's UUID of the GPU whose `torch.cuda.get_device_properties(i).uuid` is `text` on
    ROCm; None where it has none.

    HIP puts the 16 hexadecimal digits into the 16 bytes of its UUID as ASCII, and torch prints
    these bytes in hexadecimal once more. Source: Score-P's adapter for HIP, and CLR's
    hip_device.cpp.
    """
    digits = bytes.fromhex(text.replace("-", "")).decode("ascii", "replace").lower()
    return f"GPU-{digits}" if re.fullmatch(r"[0-9a-f]{16}", digits) else None


def _named(uuids: Sequence[str], value: str) -> list[int]:
    chosen: list[int] = []
    for token in (t.strip().lower() for t in value.split(",")):
        named = [
            i
            for i, uuid in enumerate(uuids)
            if token.startswith("gpu-") and uuid.lower().startswith(token)
        ]
        if token.isdigit() and int(token) < len(uuids):
            named = [int(token)]
        if len(named) != 1 or named[0] in chosen:
            break
        chosen.append(named[0])
    return chosen


def _refuse_numbers(environment: Mapping[str, str]) -> None:
    for variable in VISIBLE:
        if any(token.strip().isdigit() for token in environment.get(variable, "").split(",")):
            raise MeterError(
                f"{variable}={environment[variable]}: this AMD SMI does not tell in which "
                "order HIP counts (ROCm 6.4 and newer "
                "do); name the GPUs as GPU-…, which rocminfo shows, or unset it"
            )


def _slowdown(gpu: _Gpu, table: Mapping[str, Any]) -> int | None:
    """The bits of the residencies that grew since the last call; None where there is nothing to
    compare."""
    counts = {bit: _number(table.get(name)) for bit, name in RESIDENCIES.items()}
    now = {bit: count for bit, count in counts.items() if count is not None}
    before, gpu.residencies = gpu.residencies, gpu.residencies | now
    both = now.keys() & before.keys()
    return sum(bit for bit in both if now[bit] > before[bit]) if both else None


def _number(value: Any) -> int | None:
    """A value of AMD SMI, None where it is a mark for "not there": a text, or all ones in 32 or 64
    bits."""
    return (
        value
        if isinstance(value, int) and value not in (0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF)
        else None
    )


def _milliwatts(watts: Any) -> int | None:
    """Power in W as mW; None also for all ones in 16 bits, and for the 0 of a second die."""
    number = _number(watts)
    return None if number in (None, 0, 0xFFFF) else number * 1000


def _unsupported(error: Exception) -> bool:
    return isinstance(error, AttributeError) or getattr(error, "err_code", None) in NOT_SUPPORTED


def _line(said: object) -> str:
    """In one line: the messages of AMD SMI have several."""
    return " ".join(str(said).split())
