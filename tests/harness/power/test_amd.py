"""AMD's meter on a fake that has each documented quirk of AMD SMI (tests/support/fake_amdsmi.py),
alone and under the sampler."""

import csv
import os
import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from support.fake_amdsmi import (
    BUSY,
    NO_PERMISSION,
    NOT_SUPPORTED,
    FakeAmdSmi,
    FakeGpu,
    write_kfd_nodes,
    write_package_without_rocm,
)

from harness.power.sampler import Settings, _Loop
from harness.power.source import Device, MeterError, NotAllowedError
from harness.power.sources import amd, open_source
from harness.power.sources.amd import AmdSource, uuid_of_torch, visible_gpus
from harness.run import command, preflight, session, worker
from harness.run.plan import Machine, Plan, RunRequest, make_plan
from harness.system import DESCRIPTION, describe_environment
from reference import sglang_server
from rules.boards import board

A, B = "GPU-00c63ac3c3c637f9", "GPU-5d2e1f00a1b2c3d4"


def gpu_a() -> FakeGpu:
    return FakeGpu(0x00C63AC3C3C637F9, hip_id=0, bus=0xE5)


def gpu_b() -> FakeGpu:
    return FakeGpu(0x5D2E1F00A1B2C3D4, hip_id=1, bus=0x05)


@pytest.fixture(autouse=True)
def kernel(tmp_path, monkeypatch):
    """The kernel's topology of the two boards."""
    monkeypatch.setattr(amd, "KFD_NODES", write_kfd_nodes(tmp_path / "nodes", gpu_a(), gpu_b()))


@pytest.fixture
def gpu() -> FakeGpu:
    return gpu_a()


@pytest.fixture
def meter(gpu) -> AmdSource:
    return AmdSource(FakeAmdSmi(gpu), {})


def test_an_mi300x_is_read_in_the_units_of_a_reading(meter):
    reading = meter.read(A)
    assert (reading.power_mw, reading.power_avg_mw, reading.cap_mw) == (717_000, None, 600_000)
    assert (
        reading.energy_mj == 72_688_714 and type(reading.energy_mj) is int
    )  # 4 750 896 266 of 15.3 uJ
    assert (reading.mem_mhz, reading.temp_c, reading.mem_temp_c, reading.util_pct) == (
        1300,
        66,
        48,
        98,
    )
    assert (reading.power_state, reading.status) == ("auto", "ok")


def test_the_clock_is_the_mean_of_the_compute_dies_and_of_the_one_where_there_are_none(gpu, meter):
    gpu.metrics["current_gfxclks"] = [1400, 1100, "N/A", "N/A"]
    assert meter.read(A).sm_mhz == 1250
    gpu.metrics |= {"current_gfxclks": ["N/A"] * 8, "current_gfxclk": 1700}
    assert meter.read(A).sm_mhz == 1700


def test_an_mi200_has_averaged_power_only(gpu, meter):
    gpu.power |= {"current_socket_power": "N/A", "average_socket_power": 94}
    reading = meter.read(A)
    assert (reading.power_mw, reading.power_avg_mw, reading.status) == (None, 94_000, "ok")


@pytest.mark.parametrize("mark", ["N/A", 0xFFFF, 0xFFFF_FFFF, 0])
def test_a_mark_for_no_power_is_not_taken_for_power(gpu, meter, mark):
    gpu.power["current_socket_power"] = mark
    reading = meter.read(A)
    assert (reading.power_mw, reading.power_avg_mw) == (None, None)
    assert reading.status.startswith("power: none reported")


def test_a_second_die_is_refused_before_a_run(gpu, meter):
    gpu.power["current_socket_power"] = 0
    (objection,) = preflight.objections(meter, meter.devices())
    assert "first die or partition" in objection


def test_power_that_was_there_and_is_gone_is_a_failed_reading(gpu, meter):
    meter.read(A)
    gpu.power["current_socket_power"] = 0xFFFF
    reading = meter.read(A)
    assert (reading.power_mw, reading.status) == (None, "power_mw: not available this time")
    assert reading.energy_mj is not None


def test_the_counter_is_found_under_its_older_name(gpu, meter):
    before = meter.read(A).energy_mj
    gpu.energy["power"] = gpu.energy.pop("energy_accumulator")
    assert meter.read(A).energy_mj == before


def test_caps_are_read_from_microwatts_and_the_least_is_told_as_it_is(meter):
    state = meter.readback(A, frozenset())
    assert (state.min_mw, state.max_mw, state.default_mw, state.enforced_mw) == (
        0,
        750_000,
        750_000,
        600_000,
    )
    assert meter.devices()[0].max_power_w == 750.0
    assert preflight.cap_for(meter, meter.devices(), 600.0) == (600.0, None)


def test_a_limit_is_set_in_microwatts_and_read_back_in_watts(gpu, meter):
    meter.set_cap(A, 400_000)
    assert gpu.caps["power_cap"] == 400_000_000
    assert meter.readback(A, frozenset()).enforced_mw == meter.read(A).cap_mw == 400_000
    with pytest.raises(
        MeterError, match=rf"{A}: a power limit of 751 W was refused by AMD SMI \(Error code: 1 "
    ):
        meter.set_cap(A, 751_000)


def test_with_a_least_limit_of_zero_any_lower_cap_is_taken(gpu, meter):
    """Whether the board enforces it is for the load to show: rule C102."""
    assert preflight.cap_for(meter, meter.devices(), 200.0) == (200.0, {A: 600_000})
    meter.set_cap(A, 200_000)
    assert meter.readback(A, frozenset()).enforced_mw == 200_000


@pytest.mark.parametrize("level", ["auto", "high", "stable_peak"])
def test_a_performance_level_is_set_by_its_name(gpu, meter, level):
    meter.set_state(A, level)
    assert meter.read(A).power_state == level


def test_a_performance_level_that_does_not_exist_is_refused(meter):
    with pytest.raises(MeterError, match=f"{A}: the performance level turbo was refused"):
        meter.set_state(A, "turbo")


def test_setting_without_the_right_to_is_told_apart_from_other_refusals(gpu, meter):
    gpu.errors = dict.fromkeys(("amdsmi_set_power_cap", "amdsmi_set_gpu_perf_level"), NO_PERMISSION)
    for change in (lambda: meter.set_cap(A, 400_000), lambda: meter.set_state(A, "auto")):
        with pytest.raises(NotAllowedError, match=r"refused by AMD SMI \(Error code: 10 "):
            change()
    gpu.errors = {"amdsmi_set_power_cap": BUSY}
    with pytest.raises(MeterError) as caught:
        meter.set_cap(A, 400_000)
    assert not isinstance(caught.value, NotAllowedError)


@pytest.mark.parametrize("level", ["MANUAL", "DETERMINISM"])
def test_a_level_whose_clocks_could_not_be_restored_is_refused_before_a_run(gpu, meter, level):
    gpu.level = f"AMDSMI_DEV_PERF_LEVEL_{level}"
    (objection,) = preflight.objections(meter, meter.devices())
    assert f"performance level is {level.lower()}" in objection and "--perf-level auto" in objection


def test_limits_that_a_guest_does_not_have_are_no_limits(gpu, meter):
    gpu.caps |= {"min_power_cap": 2**64 - 1, "max_power_cap": 2**64 - 1}
    state = meter.readback(A, frozenset())
    assert (state.min_mw, state.max_mw, state.enforced_mw) == (None, None, 600_000)
    assert meter.devices()[0].max_power_w is None


def test_slowdown_is_what_grew_since_the_last_reading(gpu, meter):
    assert meter.read(A).slowdown is None  # nothing to compare with
    gpu.metrics["ppt_residency_acc"] += 90
    assert meter.read(A).slowdown == amd.PACKAGE_POWER
    assert meter.read(A).slowdown == 0
    for bit, name in amd.RESIDENCIES.items():
        gpu.metrics[name] += 1
        assert meter.read(A).slowdown == bit
    gpu.metrics |= {"prochot_residency_acc": 9, "hbm_thm_residency_acc": 9}
    assert meter.read(A).slowdown == amd.PROCESSOR_HOT | amd.MEMORY_THERMAL


def test_throttling_during_a_failed_reading_shows_in_the_next_and_a_counter_begun_anew_is_none(
    gpu, meter
):
    meter.read(A)
    gpu.errors["amdsmi_get_gpu_metrics_info"] = BUSY
    gpu.metrics["vr_thm_residency_acc"] += 1
    assert meter.read(A).slowdown is None
    gpu.errors.clear()
    assert meter.read(A).slowdown == amd.REGULATOR_THERMAL
    gpu.metrics["ppt_residency_acc"] = 1
    assert meter.read(A).slowdown == 0


def test_an_older_board_has_no_residencies_and_is_not_at_fault(gpu, meter):
    gpu.metrics |= dict.fromkeys(amd.RESIDENCIES.values(), "N/A")
    meter.read(A)
    reading = meter.read(A)
    assert (reading.slowdown, reading.status) == (None, "ok")


def test_no_reading_waits_for_a_violation_status(gpu):
    smi = FakeAmdSmi(gpu)
    meter = AmdSource(smi, {})
    for _ in range(3):
        meter.read(A)
    meter.readback(A, frozenset())
    assert smi.blocked_ms == 0


def test_devices_come_in_the_order_of_hip():
    assert [d.uuid for d in AmdSource(FakeAmdSmi(gpu_b(), gpu_a()), {}).devices()] == [A, B]


@pytest.mark.parametrize(
    ("environment", "chosen"),
    [
        ({}, [0, 1]),
        ({"HIP_VISIBLE_DEVICES": "1"}, [1]),
        ({"CUDA_VISIBLE_DEVICES": "1,0"}, [1, 0]),
        ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, [0]),
        ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "1"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "1"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": ""}, []),
        ({"ROCR_VISIBLE_DEVICES": "1,0", "HIP_VISIBLE_DEVICES": "0"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, []),
        ({"ROCR_VISIBLE_DEVICES": B}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-5D2E"}, [1]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-,0"}, []),
        ({"ROCR_VISIBLE_DEVICES": "0,7,1"}, [0]),
        ({"ROCR_VISIBLE_DEVICES": "0,0,1"}, [0]),
        ({"HIP_VISIBLE_DEVICES": "-1"}, []),
    ],
)
def test_the_variables_that_amd_smi_ignores_choose_as_in_rocm(environment, chosen):
    assert visible_gpus([A, B], environment) == chosen
    meter = AmdSource(FakeAmdSmi(gpu_b(), gpu_a()), environment)
    assert [d.uuid for d in meter.devices()] == [[A, B][i] for i in chosen]


def test_without_the_order_of_hip_numbers_are_refused_and_uuids_are_not():
    smi = FakeAmdSmi(gpu_b(), gpu_a())
    smi.lacks = {"amdsmi_get_gpu_enumeration_info"}
    with pytest.raises(
        MeterError,
        match="HIP_VISIBLE_DEVICES=1: this AMD SMI does not tell in which order HIP counts",
    ):
        AmdSource(smi, {"HIP_VISIBLE_DEVICES": "1"})
    assert [d.uuid for d in AmdSource(smi, {"ROCR_VISIBLE_DEVICES": A}).devices()] == [A]
    assert len(AmdSource(smi, {}).devices()) == 2


def test_a_gpu_that_hip_does_not_count_is_left_out(gpu):
    hidden = gpu_b()
    hidden.enumeration["hip_id"] = "N/A"
    assert [d.uuid for d in AmdSource(FakeAmdSmi(hidden, gpu), {}).devices()] == [A]


def test_the_uuid_is_the_kernels_and_that_of_torch_is_the_same(gpu, meter):
    gpu.enumeration["hip_uuid"] = gpu.asic["asic_serial"] = "another"
    (device,) = AmdSource(FakeAmdSmi(gpu), {}).devices()
    assert device.uuid == A
    assert uuid_of_torch("30306336-3361-6333-6333-633633376639") == A  # the digits of A as ASCII


def test_without_a_unique_id_the_pci_address_names_the_gpu(tmp_path, monkeypatch):
    guest = FakeGpu(0, hip_id=0, bus=0x05)
    monkeypatch.setattr(amd, "KFD_NODES", write_kfd_nodes(tmp_path / "guest", guest))
    (device,) = AmdSource(FakeAmdSmi(guest), {}).devices()
    assert (device.uuid, device.pci) == ("PCI-0000:05:00.0", "0000:05:00.0")
    assert uuid_of_torch("58580000-0000-0000-0000-000000000000") is None


def test_a_device_is_described(meter):
    (device,) = meter.devices()
    assert (device.vendor, device.vbios, device.pci) == (
        "AMD",
        "022.040.003.042.000001",
        "0000:e5:00.0",
    )
    assert board(device.name) is not None
    assert device.memory_bytes == 206_141_652_992
    assert (meter.driver, meter.state, meter.torch_device) == ("6.10.5", "auto", "cuda")


@pytest.mark.parametrize(
    ("level", "state"),
    [
        ("AMDSMI_DEV_PERF_LEVEL_STABLE_PEAK", "stable_peak"),
        ("AMDSMI_DEV_PERF_LEVEL_MANUAL", "manual"),
    ],
)
def test_the_performance_level_is_the_power_state(gpu, meter, level, state):
    gpu.level = level
    assert meter.read(A).power_state == state


def test_a_level_that_the_binding_does_not_know_is_a_failed_reading(gpu, meter):
    gpu.level = KeyError(77)
    reading = meter.read(A)
    assert (reading.power_state, reading.power_mw, reading.status) == (None, 717_000, "level: 77")


def test_an_error_is_told_in_one_line_and_costs_its_quantities_only(gpu, meter):
    gpu.errors["amdsmi_get_energy_count"] = BUSY
    reading = meter.read(A)
    assert reading.status == "energy: Error code: 30 | AMDSMI_STATUS_SOMETHING - what it means"
    assert (reading.power_mw, reading.energy_mj, reading.temp_c) == (717_000, None, 66)


def test_what_a_board_or_a_version_lacks_is_no_failure(gpu):
    smi = FakeAmdSmi(gpu)
    smi.lacks = {"amdsmi_get_gpu_metrics_info", "amdsmi_get_gpu_compute_partition"}
    gpu.errors["amdsmi_get_energy_count"] = NOT_SUPPORTED
    meter = AmdSource(smi, {})
    reading = meter.read(A)
    assert (reading.energy_mj, reading.sm_mhz, reading.status) == (None, None, "ok")
    assert meter.readback(A, frozenset()).mig is False


def test_a_board_that_vanishes_is_survived(gpu, meter):
    meter.read(A)
    gpu.errors = dict.fromkeys(
        (
            "amdsmi_get_power_info",
            "amdsmi_get_energy_count",
            "amdsmi_get_power_cap_info",
            "amdsmi_get_gpu_perf_level",
        ),
        BUSY,
    )
    reading = meter.read(A)
    assert (reading.power_mw, reading.energy_mj, reading.cap_mw, reading.power_state) == (
        None,
        None,
        None,
        None,
    )
    assert reading.status.startswith("power: Error code: 30")
    assert meter.readback(A, frozenset()).enforced_mw is None


@pytest.mark.parametrize(
    ("partition", "mig"), [("SPX", False), ("CPX", True), ("DPX", True), ("N/A", False)]
)
def test_a_partitioned_gpu_counts_as_one_in_slices(gpu, meter, partition, mig):
    gpu.partition = partition
    assert meter.readback(A, frozenset()).mig is mig


def test_a_later_partition_counts_as_one_though_it_does_not_tell_the_mode(gpu, meter):
    gpu.errors["amdsmi_get_gpu_compute_partition"] = NOT_SUPPORTED
    assert meter.readback(A, frozenset()).mig is False
    gpu.partition_id = 1
    assert meter.readback(A, frozenset()).mig is True


def test_only_the_processes_of_others_are_foreign(gpu, meter):
    gpu.pids = [10, 11, os.getpid()]
    assert meter.readback(A, frozenset({11})).foreign_processes == 1
    gpu.errors["amdsmi_get_gpu_process_list"] = NO_PERMISSION
    assert meter.readback(A, frozenset()).foreign_processes is None


def test_ecc_counts_are_read(gpu, meter):
    gpu.ecc["uncorrectable_count"] = 2
    state = meter.readback(A, frozenset())
    assert (state.ecc_uncorrected, state.ecc_corrected) == (2, 3)


def test_without_rocm_the_meter_is_refused_quietly(tmp_path, monkeypatch, capfd):
    write_package_without_rocm(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "amdsmi", raising=False)
    for _ in range(2):
        with pytest.raises(
            MeterError, match=r"amdsmi does not load \(libamd_smi.so: cannot open .*; it needs"
        ):
            open_source("amd")
    assert capfd.readouterr() == ("", "")


def test_without_the_binding_the_way_to_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    with pytest.raises(MeterError, match=r"pip install 'wattmark\[amd\]'"):
        open_source("amd")


def test_without_a_driver_or_a_gpu_the_meter_is_refused(monkeypatch):
    smi = FakeAmdSmi()
    monkeypatch.setitem(sys.modules, "amdsmi", smi)
    with pytest.raises(MeterError, match="finds no GPU here"):
        open_source("amd")
    smi.init_error = 34
    with pytest.raises(
        MeterError, match=r"does not answer \(Error code: 34 .*is the amdgpu driver loaded"
    ):
        open_source("amd")


def test_the_sampler_reads_amds_gpus_from_one_thread(gpu, tmp_path, monkeypatch):
    smi = FakeAmdSmi(gpu_b(), gpu)
    monkeypatch.setitem(sys.modules, "amdsmi", smi)
    for variable in amd.VISIBLE:
        monkeypatch.delenv(variable, raising=False)
    meter = open_source("amd")
    read_end, write_end = os.pipe()
    said: list[dict] = []
    table = (tmp_path / "table.csv").open("w")
    loop = _Loop(meter, Settings("amd", (A, B), "node0", 20, str(tmp_path)), table, said.append)
    plain_tick = loop._tick

    def tick(scheduled_ns: int) -> None:
        gpu.energy["energy_accumulator"] += 1_000_000
        gpu.metrics["ppt_residency_acc"] += loop.ticks % 2
        plain_tick(scheduled_ns)
        if loop.ticks == 3:
            os.write(write_end, b'{"do": "flush"}\n{"do": "readback", "own_pids": []}\n')
        if loop.ticks == 6:
            os.write(write_end, b'{"do": "stop"}\n')

    monkeypatch.setattr(loop, "_tick", tick)
    with os.fdopen(read_end, "rb", buffering=0) as commands:
        loop.run(commands)
    os.close(write_end)
    meter.close()
    table.close()
    rows = [
        row for row in csv.DictReader((tmp_path / "table.csv").open()) if row["accelerator"] == A
    ]
    assert len(rows) == loop.ticks >= 7
    assert {
        (row["power_mw"], row["cap_mw"], row["power_state"], row["status"]) for row in rows
    } == {("717000", "600000", "auto", "ok")}
    assert [row["slowdown"] for row in rows[:7]] == ["", "2", "0", "2", "0", "2", "0"]
    counter_mj = [int(row["energy_mj"]) for row in rows]
    assert all(later - earlier in (15_300, 15_301) for earlier, later in pairwise(counter_mj))
    (states,) = [one["accelerators"] for one in said if one["said"] == "readback"]
    assert [(s["accelerator"], s["enforced_mw"], s["foreign_processes"]) for s in states] == [
        (A, 600_000, 0),
        (B, 600_000, 0),
    ]
    assert smi.closed


def plan(*uuids: str, vendor: str = "AMD", pci: str | None = None) -> Plan:
    """A plan of a run on these GPUs."""
    devices = tuple(Device(uuid, "AMD Instinct MI300X", vendor, pci=pci) for uuid in uuids)
    machine = Machine("amd", "cuda", None, devices, "auto", 750.0)
    return make_plan(RunRequest("resnet50-train"), machine, dict(DESCRIPTION), "0" * 64)


def test_bench_submit_finds_amds_gpus_where_there_are_no_nvidias(gpu, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setitem(sys.modules, "amdsmi", FakeAmdSmi(gpu))
    for variable in amd.VISIBLE:
        monkeypatch.delenv(variable, raising=False)
    planned = command.plan_for(RunRequest("resnet50-train", cap_w=400))
    assert (planned.meter, planned.torch_device, planned.state) == ("amd", "cuda", "auto")
    assert [d.uuid for d in planned.devices] == [A]
    assert (planned.cap_w, planned.found_mw) == (400, {A: 600_000})
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    with pytest.raises(
        MeterError, match=r"nvidia-ml-py is not installed; .*amdsmi is not installed"
    ):
        command.plan_for(RunRequest("resnet50-train"))


def test_workers_are_given_amds_gpus_by_rocms_variable_alone(monkeypatch):
    for variable in amd.VISIBLE:
        monkeypatch.setenv(variable, "0,1")
    given = session.workers_environment(plan(A, B))
    assert {v: given.get(v) for v in amd.VISIBLE} == dict(
        zip(amd.VISIBLE, (f"{A},{B}", None, None), strict=True)
    )
    as_it_was = session.workers_environment(plan("PCI-0000:05:00.0"))
    assert {as_it_was.get(v) for v in amd.VISIBLE} == {
        "0,1"
    }  # a virtual machine's GPU has no name that ROCm knows
    nvidia = session.workers_environment(plan(A, vendor="NVIDIA"))
    assert nvidia["CUDA_VISIBLE_DEVICES"] == A and nvidia["ROCR_VISIBLE_DEVICES"] == "0,1"


def test_the_environment_of_a_bundle_tells_rocms_choice():
    variables = {"ROCR_VISIBLE_DEVICES": A, "HIP_VISIBLE_DEVICES": "0", "ROCM_PATH": "/opt/rocm"}
    assert describe_environment(None, "0" * 64, variables)["variables"] == {
        "HIP_VISIBLE_DEVICES": "0",
        "ROCR_VISIBLE_DEVICES": A,
    }


@pytest.mark.parametrize(
    ("hip", "uuid", "found"),
    [
        ("7.0", "30306336-3361-6333-6333-633633376639", A),
        ("7.0", "58580000-0000-0000-0000-000000000000", "PCI-0000:e5:00.0"),
        (None, "aaaa0000-0000-0000-0000-000000000000", "GPU-aaaa0000-0000-0000-0000-000000000000"),
        (
            None,
            "GPU-aaaa0000-0000-0000-0000-000000000000",
            "GPU-aaaa0000-0000-0000-0000-000000000000",
        ),
    ],
)
def test_a_rank_knows_its_gpu_by_torchs_uuid_or_its_address(monkeypatch, hip, uuid, found):
    properties = SimpleNamespace(uuid=uuid, pci_domain_id=0, pci_bus_id=0xE5, pci_device_id=0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda local: properties)
    monkeypatch.setattr(torch.version, "hip", hip)
    assert worker.accelerator_of(plan("PCI-0000:e5:00.0", pci="0000:e5:00.0"), 0) == found


def test_sglang_is_not_given_nvidias_numbers_for_amds_gpus(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(torch.version, "hip", "7.0")
    assert sglang_server._numbered({"CUDA_VISIBLE_DEVICES": A}) == {}
    monkeypatch.setattr(torch.version, "hip", None)
    with pytest.raises(ImportError):
        sglang_server._numbered({"CUDA_VISIBLE_DEVICES": A})
