"""Runs on AMD GPUs: the sampler, the plan, and the environment of the workers."""

import csv
import os
import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest
from support.fakes.fake_amdsmi import (
    A,
    B,
    FakeAmdSmi,
    make_gpu_b,
)
from support.harness.amd_boards import gpu as gpu
from support.harness.amd_boards import kernel as kernel
from support.harness.amd_boards import meter as meter
from support.lazy_module import LazyModule

from harness.errors import MeterError
from harness.power.rocm_devices import VISIBLE_VARIABLES
from harness.power.sampler import Settings, _Loop
from harness.power.source import Device
from harness.power.sources import open_source
from harness.run import command
from harness.run.plan import Machine, Plan, RunRequest
from harness.run.planning import make_plan
from harness.run.workers import worker
from harness.run.workers.launch import make_worker_environment
from harness.system import DESCRIPTION, describe_environment

torch, sglang_server = LazyModule("torch"), LazyModule("reference.sglang_server")


def test_the_sampler_reads_amds_gpus_from_one_thread(gpu, tmp_path, monkeypatch):
    smi = FakeAmdSmi(make_gpu_b(), gpu)
    monkeypatch.setitem(sys.modules, "amdsmi", smi)
    for variable in VISIBLE_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    meter = open_source("amd")
    read_end, write_end = os.pipe()
    messages: list[dict] = []
    table = (tmp_path / "table.csv").open("w")
    loop = _Loop(meter, Settings("amd", (A, B), "node0", 20, str(tmp_path)), table, messages.append)
    plain_tick = loop.tick

    def tick(scheduled_ns: int) -> None:
        gpu.energy["energy_accumulator"] += 1_000_000
        gpu.metrics["ppt_residency_acc"] += loop.ticks % 2
        plain_tick(scheduled_ns)
        if loop.ticks == 3:
            os.write(write_end, b'{"command": "flush"}\n{"command": "readback", "own_pids": []}\n')
        if loop.ticks == 6:
            os.write(write_end, b'{"command": "stop"}\n')

    monkeypatch.setattr(loop, "tick", tick)
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
    (states,) = [message["accelerators"] for message in messages if message["kind"] == "readback"]
    assert [(s["accelerator"], s["enforced_mw"], s["foreign_processes"]) for s in states] == [
        (A, 600_000, 0),
        (B, 600_000, 0),
    ]
    assert smi.closed


def make_amd_plan(*uuids: str, vendor: str = "AMD", pci: str | None = None) -> Plan:
    """A plan of a run on these GPUs."""
    devices = tuple(Device(uuid, "AMD Instinct MI300X", vendor, pci=pci) for uuid in uuids)
    machine = Machine("amd", "cuda", None, devices, "auto", 750.0)
    return make_plan(RunRequest("resnet50-train"), machine, dict(DESCRIPTION), "0" * 64)


def test_bench_submit_finds_amds_gpus_where_there_are_no_nvidias(gpu, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setitem(sys.modules, "amdsmi", FakeAmdSmi(gpu))
    for variable in VISIBLE_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    planned = command.plan_run(RunRequest("resnet50-train", cap_w=400), tmp_path)
    assert (planned.meter, planned.machine.torch_device, planned.state) == ("amd", "cuda", "auto")
    assert [d.uuid for d in planned.devices] == [A]
    assert (planned.cap_w, planned.found_mw) == (400, {A: 600_000})
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    with pytest.raises(
        MeterError, match=r"nvidia-ml-py is not installed; .*\n  amdsmi is not installed"
    ):
        command.plan_run(RunRequest("resnet50-train"), tmp_path)


def test_workers_are_given_amds_gpus_by_rocms_variable_alone(monkeypatch):
    for variable in VISIBLE_VARIABLES:
        monkeypatch.setenv(variable, "0,1")
    environment = make_worker_environment(make_amd_plan(A, B))
    assert {v: environment.get(v) for v in VISIBLE_VARIABLES} == dict(
        zip(VISIBLE_VARIABLES, (f"{A},{B}", None, None), strict=True)
    )
    for uuids in (["PCI-0000:05:00.0"], [A, "PCI-0000:05:00.0"]):
        as_it_was = make_worker_environment(make_amd_plan(*uuids))
        # A virtual machine's GPU has no name that ROCm knows.
        assert {as_it_was.get(v) for v in VISIBLE_VARIABLES} == {"0,1"}
    nvidia = make_worker_environment(make_amd_plan(A, vendor="NVIDIA"))
    assert nvidia["CUDA_VISIBLE_DEVICES"] == A and nvidia["ROCR_VISIBLE_DEVICES"] == "0,1"


def test_the_environment_of_a_bundle_tells_rocms_choice():
    variables = {"ROCR_VISIBLE_DEVICES": A, "HIP_VISIBLE_DEVICES": "0", "ROCM_PATH": "/opt/rocm"}
    assert describe_environment(None, "0" * 64, variables)["variables"] == {
        "HIP_VISIBLE_DEVICES": "0",
        "ROCR_VISIBLE_DEVICES": A,
    }


@pytest.mark.xdist_group("torch")  # one test process imports it
@pytest.mark.parametrize(
    ("hip", "uuid", "expected"),
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
def test_a_rank_knows_its_gpu_by_torchs_uuid_or_its_address(monkeypatch, hip, uuid, expected):
    properties = SimpleNamespace(uuid=uuid, pci_domain_id=0, pci_bus_id=0xE5, pci_device_id=0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda local: properties)
    monkeypatch.setattr(torch.version, "hip", hip)
    assert (
        worker.find_accelerator(make_amd_plan("PCI-0000:e5:00.0", pci="0000:e5:00.0"), 0)
        == expected
    )


@pytest.mark.xdist_group("torch")
def test_sglang_is_not_given_nvidias_numbers_for_amds_gpus(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(torch.version, "hip", "7.0")
    assert sglang_server._number_gpus({"CUDA_VISIBLE_DEVICES": A}) == {}
    monkeypatch.setattr(torch.version, "hip", None)
    with pytest.raises(ImportError):
        sglang_server._number_gpus({"CUDA_VISIBLE_DEVICES": A})
