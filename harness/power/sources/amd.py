"""AMD GPUs through AMD SMI (`amdsmi`, the binding that belongs to the ROCm on the machine).

Properties of AMD SMI that this file depends on, with sources in tests/support/fakes/fake_amdsmi.py:

- Without ROCm, the import prints to stdout and raises KeyError.
- A quantity that a board lacks is "N/A" or all ones, not an error.
- Power is in W, caps are in uW, energy is a count times a resolution in uJ.
- Power is that of a socket. Only its first partition or die reports it. Each die of a card of two
  dies is a GPU of the run here, with half of the power, energy and cap of the card.
- Before ROCm 7.2, calls from several threads at once crash it or mix up boards. Here all calls come
  from the thread of the caller.
- Its order of GPUs is not that of HIP; `hip_id` gives HIP's order.
- Before ROCm 7.13, its UUIDs are not those of HIP; the kernel gives HIP's UUIDs.

The slowdown of a reading has a bit for each kind of throttling since the previous reading: its
residency counter in the GPU metrics table grew. `amdsmi_get_violation_status` gives the same and
blocks for 100 ms.
"""

import contextlib
import io
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from checker.extras import advise_extra
from harness.errors import MeterError, NotAllowedError
from harness.power.rocm_cards import Die, divide, pair_dies
from harness.power.rocm_devices import (
    is_unsupported,
    join_lines,
    known_milliwatts,
    known_number,
    read_hwmon_mw,
    refuse_numbers,
    visible_gpus,
)
from harness.power.rocm_slowdown import find_slowdown
from harness.power.source import CapControl, Device, PowerSource, Readback
from rules.bundle_format.records import Reading

ESSENTIAL = ("power_mw", "power_avg_mw", "energy_mj", "cap_mw", "power_state", "slowdown")
"""If one of these quantities was available once and is not any more, the read has failed. Clocks
and temperatures of an idle board come and go, so their absence is no failure."""
NO_POWER = (
    "power: none reported; a socket has one reading, which stands with its first die or partition"
)
NO_PERMISSION = 10  # AMDSMI_STATUS_NO_PERM
KFD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")


@dataclass
class _Gpu:
    handle: Any
    residencies: dict[int, int] = field(default_factory=dict)
    """Residency counters of the previous reading, by bit."""
    available: set[str] = field(default_factory=set)
    """Essential quantities that an earlier reading had."""


class AmdSource(PowerSource, CapControl):
    """Reads AMD GPUs and sets their power limits and performance levels.

    A reading takes five calls, and each gives some of the quantities.
    """

    priority = 20
    torch_device = "cuda"
    state = "auto"

    @classmethod
    def open(cls, argument: str) -> "AmdSource":
        """Open the GPUs that ROCm's variables leave visible (see `visible_gpus`). `argument` is
        not used."""
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output):  # the stdout of the sampler is a protocol
                import amdsmi
        # Before the general case: without ROCm the package is there and its import raises KeyError.
        except ModuleNotFoundError:
            raise MeterError(f"amdsmi is not installed; {advise_extra('amd')}") from None
        except Exception as error:  # loading a C library can fail in many ways
            reason = join_lines(output.getvalue()) or f"{type(error).__name__}: {join_lines(error)}"
            raise MeterError(
                f"amdsmi does not load ({reason}); it needs the libamd_smi of a ROCm of the same "
                "version"
            ) from None
        try:
            amdsmi.amdsmi_init()
        except amdsmi.AmdSmiException as error:
            raise MeterError(
                f"AMD SMI does not answer ({join_lines(error)}); is the amdgpu driver loaded? "
                "Check with amd-smi list"
            ) from None
        return cls(amdsmi, os.environ)

    def __init__(self, smi: Any, environment: Mapping[str, str]) -> None:
        """`smi` is the initialised module amdsmi. Raises MeterError if there is no GPU, or if it is
        unclear which GPUs the environment names."""
        self._smi = smi
        # Beside its own exception it raises AttributeError for a function that its version lacks,
        # KeyError for a value that its tables lack, and ValueError for a text that is not UTF-8.
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
        hip_ids = [(self._get_hip_id(handle), n) for n, handle in enumerate(handles)]
        order = sorted((hip_id, n) for hip_id, n in hip_ids if hip_id is not None)
        if not order:
            refuse_numbers(environment)
        # HIP cannot use a GPU without a number of HIP, so such GPUs are left out.
        ordered = [handles[n] for _, n in order] or handles
        # A lost GPU gives no UUID. It keeps a place, because the variables may count it.
        uuids = [self._try(partial(self._get_uuid, handle)) or "" for handle in ordered]
        if not any(uuids):
            raise MeterError(
                "AMD SMI gives no access to any GPU here; check with amd-smi list, or ask an "
                "administrator"
            )
        indices = visible_gpus(uuids, environment)
        self._gpus = {uuids[i]: _Gpu(ordered[i]) for i in indices if uuids[i]}
        self._hidden_gpus = {
            uuid: _Gpu(ordered[i]) for i, uuid in enumerate(uuids) if uuid and i not in indices
        }
        self._installed = len(uuids)
        self._cards, self._partners = self._find_cards(uuids)
        powers = [self._try(partial(self._get_power, gpu)) or {} for gpu in self._gpus.values()]
        reading = "current" if any(power.get("power_mw") for power in powers) else "average"
        self.power_reading = f"amd-smi {reading}_socket_power"
        self.driver = self._try(
            lambda: smi.amdsmi_get_gpu_driver_info(handles[0])["driver_version"]
        )

    def hidden(self) -> list[str]:
        return list(self._hidden_gpus)

    def count_installed(self) -> int:
        # AMD SMI counts a GPU that is lost.
        return self._installed

    def devices(self) -> list[Device]:
        return [self._describe_device(uuid, gpu.handle) for uuid, gpu in self._gpus.items()]

    def find_sharers(self, uuid: str) -> list[str]:
        return [self._partners[uuid]] if uuid in self._partners else []

    def read(self, uuid: str) -> Reading:
        gpu, (card, dies) = self._find_gpu(uuid), self._find_card(uuid)
        values: dict[str, Any] = {}
        failures: list[str] = []
        for name, get in (
            # Power comes first, so that its time is closest to the timestamp of the sample.
            ("power", lambda _: divide(self._get_power(card), dies)),
            ("energy", lambda _: divide(self._get_energy(card), dies)),
            ("cap", lambda _: divide(self._get_cap(card), dies)),
            ("level", self._get_level),
            ("metrics", self._get_metrics),
        ):
            try:
                values |= get(gpu)
            except self._errors as error:
                # Some boards lack a quantity for good. That is no failure of this reading.
                if not is_unsupported(error):
                    failures.append(f"{name}: {join_lines(error)}")
        gpu.available |= {name for name in ESSENTIAL if values.get(name) is not None}
        failures += [
            f"{name}: not available this time"
            for name in ESSENTIAL
            if name in gpu.available and values.get(name) is None
        ]
        if not gpu.available & {"power_mw", "power_avg_mw"}:
            failures.append(NO_POWER)
        return Reading(**values, status=failures[0] if failures else "ok")

    def readback(self, uuid: str, own_pids: frozenset[int]) -> Readback:
        smi, handle = self._smi, self._get_handle(uuid)
        card, dies = self._find_card(uuid)
        caps = divide(self._try(lambda: self._get_caps(card.handle)) or {}, dies)
        # The list can hold every process that has the board open, this one too.
        own_pids |= {os.getpid()}
        pids = self._try(
            lambda: [process["pid"] for process in smi.amdsmi_get_gpu_process_list(handle)]
        )
        ecc = self._try(lambda: smi.amdsmi_get_gpu_total_ecc_count(handle)) or {}
        address = self._try(lambda: smi.amdsmi_get_gpu_device_bdf(handle))
        hwmon_mw = read_hwmon_mw(str(address))
        return Readback(
            # The samples have this power. Only with the other one can they disagree.
            power_mw=None if hwmon_mw is None else self._read_power_mw(handle),
            hwmon_mw=hwmon_mw,
            # 0 on MI300: the driver accepts any cap, which does not mean that it enforces it.
            min_mw=caps.get("min_power_cap"),
            max_mw=caps.get("max_power_cap"),
            default_mw=caps.get("default_power_cap"),
            # AMD SMI has one cap, which is both the requested one and the one in force.
            requested_mw=caps.get("power_cap"),
            enforced_mw=caps.get("power_cap"),
            foreign_processes=None if pids is None else sum(pid not in own_pids for pid in pids),
            mig=self._is_partitioned(handle),
            ecc_uncorrected=known_number(ecc.get("uncorrectable_count")),
            ecc_corrected=known_number(ecc.get("correctable_count")),
        )

    def set_cap(self, uuid: str, cap_mw: int) -> None:
        self._get_handle(uuid)
        card, dies = self._find_card(uuid)
        setting = f"{uuid}: a power limit of {cap_mw / 1e3:g} W"
        self._change(
            setting,
            # Sensor 0 is the cap of the socket. AMD SMI takes uW.
            lambda: self._smi.amdsmi_set_power_cap(card.handle, 0, dies * cap_mw * 1000),
        )

    def set_state(self, uuid: str, state: str) -> None:
        handle = self._get_handle(uuid)

        def change() -> None:
            level = getattr(self._smi.AmdSmiDevPerfLevel, state.upper())
            self._smi.amdsmi_set_gpu_perf_level(handle, level)

        self._change(f"{uuid}: the performance level {state}", change)

    def close(self) -> None:
        with contextlib.suppress(*self._errors):
            self._smi.amdsmi_shut_down()

    def _get_handle(self, uuid: str) -> Any:
        """Raises MeterError for a board that this source did not find."""
        if uuid not in self._gpus:
            raise MeterError(
                f"{uuid}: AMD SMI gives no access to such a GPU; see with amd-smi list whether it "
                "is there"
            )
        return self._gpus[uuid].handle

    def _change(self, setting: str, change: Callable[[], None]) -> None:
        """Raises NotAllowedError or MeterError that names the setting and the error."""
        try:
            change()
        except self._errors as error:
            message = f"{setting} was refused by AMD SMI ({join_lines(error)})"
            if getattr(error, "err_code", None) == NO_PERMISSION:
                raise NotAllowedError(message) from None
            raise MeterError(message) from None

    def _get_power(self, gpu: _Gpu) -> dict[str, Any]:
        power = self._smi.amdsmi_get_power_info(gpu.handle)
        return {
            "power_mw": known_milliwatts(power.get("current_socket_power")),
            "power_avg_mw": known_milliwatts(power.get("average_socket_power")),
        }

    def _read_power_mw(self, handle: Any) -> int | None:
        power = self._try(lambda: self._get_power(_Gpu(handle))) or {}
        return power.get("power_mw") or power.get("power_avg_mw")

    def _get_energy(self, gpu: _Gpu) -> dict[str, Any]:
        energy = self._smi.amdsmi_get_energy_count(gpu.handle)
        # Older versions call the count "power".
        count = known_number(energy.get("energy_accumulator", energy.get("power")))
        return {
            "energy_mj": None
            if count is None
            else round(count * energy["counter_resolution"] / 1e3)
        }

    def _get_cap(self, gpu: _Gpu) -> dict[str, Any]:
        return {"cap_mw": self._get_caps(gpu.handle).get("power_cap")}

    def _get_level(self, gpu: _Gpu) -> dict[str, Any]:
        level = self._smi.amdsmi_get_gpu_perf_level(gpu.handle)
        return {"power_state": level.removeprefix("AMDSMI_DEV_PERF_LEVEL_").lower()}

    def _get_metrics(self, gpu: _Gpu) -> dict[str, Any]:
        table = self._smi.amdsmi_get_gpu_metrics_info(gpu.handle)
        slowdown, gpu.residencies = find_slowdown(gpu.residencies, table)
        # A clock for each compute die.
        clocks_mhz = [
            c for c in map(known_number, table.get("current_gfxclks", ())) if c is not None
        ]
        return {
            "sm_mhz": round(sum(clocks_mhz) / len(clocks_mhz))
            if clocks_mhz
            else known_number(table.get("current_gfxclk")),
            "mem_mhz": known_number(table.get("current_uclk")),
            "temp_c": known_number(table.get("temperature_hotspot")),
            "mem_temp_c": known_number(table.get("temperature_mem")),
            "util_pct": known_number(table.get("average_gfx_activity")),
            "slowdown": slowdown,
        }

    def _get_caps(self, handle: Any) -> dict[str, int]:
        """Caps in mW."""
        caps = self._smi.amdsmi_get_power_cap_info(handle)
        numbers = {name: known_number(value) for name, value in caps.items()}
        # From uW to mW.
        return {name: value // 1000 for name, value in numbers.items() if value is not None}

    def _describe_device(self, uuid: str, handle: Any) -> Device:
        smi = self._smi
        card, dies = self._find_card(uuid)
        max_mw = self._try(lambda: self._get_caps(card.handle)["max_power_cap"] // dies)
        return Device(
            uuid=uuid,
            name=self._get_asic(handle).get("market_name") or "AMD GPU",
            vendor="AMD",
            memory_bytes=self._try(
                lambda: smi.amdsmi_get_gpu_memory_total(handle, smi.AmdSmiMemoryType.VRAM)
            ),
            vbios=self._try(lambda: smi.amdsmi_get_gpu_vbios_info(handle)["version"]),
            pci=self._try(lambda: smi.amdsmi_get_gpu_device_bdf(handle)),
            max_power_w=None if max_mw is None else max_mw / 1e3,
        )

    def _get_asic(self, handle: Any) -> Mapping[str, Any]:
        return self._try(lambda: self._smi.amdsmi_get_gpu_asic_info(handle)) or {}

    def _find_gpu(self, uuid: str) -> _Gpu:
        return self._gpus.get(uuid) or self._hidden_gpus[uuid]

    def _find_cards(self, uuids: list[str]) -> tuple[dict[str, _Gpu], dict[str, str]]:
        """For each die of a card with one reading, by UUID: the die that has the reading, and the
        UUID of the other die, empty if it is not there."""
        dies = [Die("", "", False) if not uuid else self._describe_die(uuid) for uuid in uuids]
        cards, partners = {}, {}
        for n, other in pair_dies(dies).items():
            first = n if other is None or dies[n].has_power else other
            cards[uuids[n]] = self._find_gpu(uuids[first])
            partners[uuids[n]] = "" if other is None else uuids[other]
        return cards, partners

    def _describe_die(self, uuid: str) -> Die:
        gpu = self._find_gpu(uuid)
        asic, power = self._get_asic(gpu.handle), self._try(partial(self._get_power, gpu)) or {}
        serial = str(asic.get("asic_serial") or "")
        return Die(str(asic.get("market_name")), serial, any(power.values()))

    def _find_card(self, uuid: str) -> tuple[_Gpu, int]:
        """The GPU that has the readings of power, energy and cap, and the number of GPUs that share
        them."""
        return self._cards.get(uuid) or self._find_gpu(uuid), 2 if self._partners.get(uuid) else 1

    def _is_partitioned(self, handle: Any) -> bool | None:
        """Whether the GPU is a partition of its socket. Each partition gives its number; only the
        first one gives the mode. None if the GPU gives neither."""
        mode = self._try(lambda: self._smi.amdsmi_get_gpu_compute_partition(handle))
        number = known_number(self._get_kfd_info(handle).get("current_partition_id"))
        if mode is None and number is None:
            return None
        return bool(number) or mode not in (None, "", "N/A", "SPX")

    def _get_kfd_info(self, handle: Any) -> Mapping[str, Any]:
        return self._try(lambda: self._smi.amdsmi_get_gpu_kfd_info(handle)) or {}

    def _get_hip_id(self, handle: Any) -> int | None:
        return known_number(
            (self._try(lambda: self._smi.amdsmi_get_gpu_enumeration_info(handle)) or {}).get(
                "hip_id"
            )
        )

    def _get_uuid(self, handle: Any) -> str:
        """The UUID of the GPU in ROCr, from the unique id of the kernel. Virtual machines have no
        unique id; their GPUs are named by PCI address."""
        try:
            properties = (
                KFD_NODES / str(self._get_kfd_info(handle).get("node_id")) / "properties"
            ).read_text()
        except OSError:
            properties = ""
        match = re.search(r"^unique_id (\d+)$", properties, re.MULTILINE)
        unique_id = int(match[1]) if match else 0
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
