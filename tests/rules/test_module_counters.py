"""Boards whose energy counter covers more than their power: GH200."""

from pathlib import Path

import numpy as np
import pytest
from support.bundles import make_evidence
from support.fakes.fake_nvml import NVML_ERROR_NOT_SUPPORTED, FakeNvml

from harness.power.meter_access import MeterAccess
from harness.power.nodes.nvml_module import NvmlModuleMeter
from harness.power.sources.nvidia import NvidiaSource
from rules.boards import counter_covers_module
from rules.bundle import Bundle
from rules.registry import rules_by_id
from rules.testing.frames import EvidenceFrames

A = "GPU-aaaa0000-0000-0000-0000-000000000000"
ENERGY_RULES = ("E101", "E102", "E103", "E104", "E106", "E107", "E108")
REST_OF_MODULE_W = 120


class Superchip(FakeNvml):
    """A GH200: field 186 of scope 1 is the power of the module."""

    def __init__(self) -> None:
        super().__init__(A)
        self.fields[(186, 1)] = 900_000

    def nvmlDeviceGetName(self, handle: str) -> str:
        return "NVIDIA GH200 480GB"


def make_run(name: str) -> Bundle:
    """A run whose counter counts the rest of the module too."""
    evidence: EvidenceFrames = make_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = name
    samples = evidence.samples
    since_s = (samples["read_ns"] - samples["read_ns"].min()) / 1e9
    samples["energy_mj"] += np.round(1e3 * REST_OF_MODULE_W * since_s).astype("int64")
    return Bundle(Path("center/system/run"), (), evidence.evidence())


def list_reporting(bundle: Bundle) -> set[str]:
    return {id for id in ENERGY_RULES if list(rules_by_id()[id].judge(bundle))}


@pytest.mark.parametrize("name", ["NVIDIA GH200 480GB", "NVIDIA GH200 120GB"])
def test_the_counter_of_a_module_is_compared_with_nothing_and_is_no_energy_of_record(
    name: str,
) -> None:
    bundle = make_run(name)
    assert list_reporting(bundle) == set()
    assert bundle.figures is not None and bundle.figures.energy_of_record == "trapezoid"
    assert all(epoch.energy_j_counter is None for epoch in bundle.figures.epochs)


def test_another_board_with_such_a_counter_is_reported() -> None:
    assert {"E103", "E104"} <= list_reporting(make_run("NVIDIA H200"))
    assert not counter_covers_module("NVIDIA H200")


def test_a_run_on_such_a_board_may_leave_the_counter_out() -> None:
    evidence = make_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = "NVIDIA GH200 480GB"
    evidence.samples["energy_mj"] = np.nan
    bundle = Bundle(Path("center/system/run"), (), evidence.evidence())
    assert list_reporting(bundle) == set()


def test_the_meter_of_the_board_leaves_the_counter_to_the_meter_of_the_module() -> None:
    source = NvidiaSource(Superchip(), None)
    reading = source.read(A)
    assert (reading.energy_mj, reading.power_mw, reading.status) == (None, 690_000, "ok")
    assert source.read_counter(A) is None
    access = MeterAccess("module", "nvml_module", feeds={"a": "module-0", "b": "gpu-0"})
    readings = dict(NvmlModuleMeter(access, Superchip()).read())
    assert (readings["a"].power_mw, readings["a"].energy_mj) == (900_000, 123_456_789)
    assert (readings["b"].power_mw, readings["b"].energy_mj) == (0, None)


def test_the_module_of_another_board_has_no_counter() -> None:
    nvml = FakeNvml(A)
    nvml.field_errors[(186, 1)] = NVML_ERROR_NOT_SUPPORTED
    access = MeterAccess("module", "nvml_module", feeds={"a": "module-0"})
    ((_, reading),) = NvmlModuleMeter(access, nvml).read()
    assert reading.energy_mj is None
