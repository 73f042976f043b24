"""Boards that answer less than an H200, or something else."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.fakes.fake_nvml import NVML_ERROR_NOT_SUPPORTED, FakeNvml, NVMLError

from harness.errors import MeterError
from harness.power.nvml_calls import ATTEMPTS
from harness.power.source import STATE_VARIABLE
from harness.power.sources.nvidia import NvidiaSource
from harness.run import preflight
from harness.run.plan import RunRequest

A = "GPU-aaaa0000-0000-0000-0000-000000000000"
TIMEOUT, IN_USE, UNKNOWN, GPU_IS_LOST = 10, 19, 999, 15


class OddNvml(FakeNvml):
    """Boards of which a test changes single answers."""

    def __init__(self, *uuids: str) -> None:
        super().__init__(*uuids)
        self.answers: dict[str, Any] = {}
        self.failures: dict[str, list[int]] = {}
        """The codes with which the next calls of a function fail."""

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            return super().__getattribute__(name)
        call = getattr(FakeNvml, name, None)
        call = super().__getattr__(name) if call is None else partial(call, self)

        def answer(*arguments: Any) -> Any:
            if codes := self.failures.get(name):
                raise NVMLError(codes.pop(0))
            return self.answers[name] if name in self.answers else call(*arguments)

        return answer


def list_objections(nvml: FakeNvml) -> list[str]:
    source = NvidiaSource(nvml, None)
    return list(preflight.find_objections(source, source.devices()))


def lack_power(nvml: OddNvml) -> None:
    nvml.missing = {"nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption"}
    nvml.field_errors |= dict.fromkeys((185, 186), NVML_ERROR_NOT_SUPPORTED)


def lack_power_beside_a_counter(nvml: OddNvml) -> None:
    nvml.missing = {"nvmlDeviceGetPowerUsage"}
    nvml.field_errors |= dict.fromkeys((185, 186), NVML_ERROR_NOT_SUPPORTED)


def give_zero(nvml: OddNvml) -> None:
    nvml.answers["nvmlDeviceGetPowerUsage"] = 0
    nvml.fields[186] = 0


@pytest.mark.parametrize("change", [lack_power, lack_power_beside_a_counter, give_zero])
def test_a_board_without_power_is_refused_before_the_run(change: Callable[[OddNvml], None]) -> None:
    nvml = OddNvml(A)
    nvml.answers["nvmlDeviceGetName"] = "GRID A100X-40C"
    change(nvml)
    (objection,) = list_objections(nvml)
    assert objection.startswith(f"{A}: the driver gives no power of GRID A100X-40C, so nothing")


def test_a_board_with_average_power_only_is_accepted() -> None:
    nvml = OddNvml(A)
    nvml.missing = {"nvmlDeviceGetTotalEnergyConsumption"}
    nvml.field_errors |= dict.fromkeys((185, 186), NVML_ERROR_NOT_SUPPORTED)
    assert list_objections(nvml) == []


@pytest.mark.parametrize("code", [TIMEOUT, IN_USE, UNKNOWN])
@pytest.mark.parametrize(
    "function", ["nvmlDeviceGetPowerUsage", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetName"]
)
def test_an_error_that_passes_is_no_failure(function: str, code: int) -> None:
    nvml = OddNvml(A)
    nvml.failures[function] = [code] * (ATTEMPTS - 1)
    source = NvidiaSource(nvml, None)
    assert source.devices()[0].name == "NVIDIA H200"
    nvml.failures[function] = [code] * (ATTEMPTS - 1)
    assert (source.read(A).status, source.read(A).power_avg_mw) == ("ok", 650_000)


def test_an_error_that_stays_is_told_after_the_last_attempt() -> None:
    nvml = OddNvml(A)
    source = NvidiaSource(nvml, None)
    nvml.failures["nvmlDeviceGetPowerUsage"] = [TIMEOUT] * ATTEMPTS
    assert source.read(A).status == "power_avg_mw: error 10"
    nvml.failures["nvmlDeviceGetPowerUsage"] = [GPU_IS_LOST]
    assert source.read(A).status == "power_avg_mw: error 15", "it does not pass"


def test_a_first_reading_that_fails_longer_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "PAUSE_S", 0)
    nvml = OddNvml(A)
    source = NvidiaSource(nvml, None)
    nvml.failures["nvmlDeviceGetPowerUsage"] = [TIMEOUT] * ATTEMPTS
    assert list(preflight.find_objections(source, source.devices())) == []


def test_a_board_that_is_busy_for_long_is_refused_with_its_error() -> None:
    nvml = OddNvml(A)
    nvml.failures["nvmlDeviceGetHandleByIndex"] = [IN_USE] * ATTEMPTS
    with pytest.raises(MeterError, match=r"NVML gives no access to GPU 0 \(error 19\)"):
        NvidiaSource(nvml, None)


@pytest.mark.parametrize(
    ("name", "state"), [("NVIDIA GeForce RTX 4090", "P2"), ("NVIDIA H200", "P0")]
)
def test_a_run_declares_the_state_in_which_its_board_computes(
    name: str, state: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nvml = OddNvml(A)
    nvml.answers["nvmlDeviceGetName"] = name
    monkeypatch.setattr(preflight, "open_source", lambda meter: NvidiaSource(nvml, None))
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    request = RunRequest("resnet50-train", meter="nvidia")
    checks = preflight.Preflight(request, tmp_path)
    notes = [check for check in checks.examine() if check.name == "power state"]
    assert checks.machine is not None and checks.machine.state == state
    assert [f"chooses the state of CUDA, in most cases {state}" in c.result for c in notes] == (
        [True] if state == "P2" else []
    )
