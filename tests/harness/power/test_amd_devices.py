"""Which AMD GPUs are found, in which order and under which names, and where none can be used."""

import sys

import pytest
from support.fakes.fake_amdsmi import (
    A,
    B,
    FakeAmdSmi,
    FakeGpu,
    make_gpu_a,
    make_gpu_b,
    write_kfd_nodes,
    write_package_without_rocm,
)
from support.harness.amd_boards import gpu as gpu
from support.harness.amd_boards import kernel as kernel
from support.harness.amd_boards import meter as meter

from harness.errors import MeterError
from harness.power import rocm_devices
from harness.power.rocm_devices import uuid_of_torch, visible_gpus
from harness.power.sources import amd, open_source
from harness.power.sources.amd import AmdSource
from rules.boards import find_board


def test_devices_come_in_the_order_of_hip():
    assert [d.uuid for d in AmdSource(FakeAmdSmi(make_gpu_b(), make_gpu_a()), {}).devices()] == [
        A,
        B,
    ]


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
    meter = AmdSource(FakeAmdSmi(make_gpu_b(), make_gpu_a()), environment)
    assert [d.uuid for d in meter.devices()] == [[A, B][i] for i in chosen]


def test_without_the_order_of_hip_numbers_are_refused_and_uuids_are_not():
    smi = FakeAmdSmi(make_gpu_b(), make_gpu_a())
    smi.lacks = {"amdsmi_get_gpu_enumeration_info"}
    with pytest.raises(
        MeterError,
        match="HIP_VISIBLE_DEVICES=1: this AMD SMI does not tell in which order HIP counts",
    ):
        AmdSource(smi, {"HIP_VISIBLE_DEVICES": "1"})
    assert [d.uuid for d in AmdSource(smi, {"ROCR_VISIBLE_DEVICES": A}).devices()] == [A]
    assert len(AmdSource(smi, {}).devices()) == 2


def test_a_gpu_that_hip_does_not_count_is_left_out(gpu):
    hidden = make_gpu_b()
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
    assert find_board(device.name) is not None
    assert device.memory_bytes == 206_141_652_992
    assert (meter.driver, meter.state, meter.torch_device) == ("6.10.5", "auto", "cuda")


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
    with pytest.raises(MeterError, match="amdsmi is not installed; pip install "):
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


def test_a_gpu_that_variables_hide_is_installed_and_can_be_read():
    smi = FakeAmdSmi(make_gpu_a(), make_gpu_b())
    meter = AmdSource(smi, {"ROCR_VISIBLE_DEVICES": A})
    assert (meter.hidden(), meter.count_installed()) == ([B], 2)
    assert meter.read(B).power_mw == AmdSource(smi, {}).read(B).power_mw is not None
    assert (AmdSource(smi, {}).hidden(), AmdSource(smi, {}).count_installed()) == ([], 2)


@pytest.mark.parametrize("name", ["power1_average", "power1_input"])
def test_readbacks_have_the_power_of_amd_smi_and_of_hwmon(tmp_path, monkeypatch, gpu, meter, name):
    monkeypatch.setattr(rocm_devices, "PCI_DEVICES", tmp_path)
    readback = meter.readback(A, frozenset())
    assert (readback.power_mw, readback.hwmon_mw) == (None, None)
    sensor = tmp_path / gpu.bdf / "hwmon" / "hwmon4" / name
    sensor.parent.mkdir(parents=True)
    sensor.with_name("power1_cap").write_text("750000000\n")
    sensor.write_text("689000000\n")
    readback = meter.readback(A, frozenset())
    assert (readback.power_mw, readback.hwmon_mw) == (717_000, 689_000)
    # The samples keep to AMD SMI.
    assert meter.read(A).power_mw == 717_000
    sensor.write_text("")
    assert meter.readback(A, frozenset()).hwmon_mw is None


def test_the_meter_names_the_reading_that_its_samples_have():
    new, old = make_gpu_a(), make_gpu_a()
    old.power = {"current_socket_power": "N/A", "average_socket_power": 300}
    assert AmdSource(FakeAmdSmi(new), {}).power_reading == "amd-smi current_socket_power"
    assert AmdSource(FakeAmdSmi(old), {}).power_reading == "amd-smi average_socket_power"
