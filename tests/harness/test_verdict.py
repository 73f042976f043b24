"""What `doctor` prints: lines of 80 columns, the verdict, and JSON."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.fakes.fake_nvml import NVML_ERROR_NOT_SUPPORTED, FakeNvml

from harness import doctor
from harness.checks import Check
from harness.cli import main
from harness.errors import MeterError
from harness.power.source import STATE_VARIABLE, PowerSource
from harness.power.sources.nvidia import NvidiaSource
from harness.verdict import describe_verdict, format_check

A, B = "GPU-aaaa0000-0000-0000-0000-000000000000", "GPU-bbbb0000-0000-0000-0000-000000000000"


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeNvml:
    """Two H200; no other meter opens."""
    nvml = FakeNvml(A, B)

    def open_source(name: str) -> PowerSource:
        if name != "nvidia":
            raise MeterError(f"{name} is not installed; install it")
        return NvidiaSource(nvml, None)

    monkeypatch.setattr(doctor, "open_source", open_source)
    monkeypatch.setattr(doctor, "explain_refusal", lambda name: "it takes root; ask for it")
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    return nvml


def run_doctor(*arguments: str) -> str:
    return CliRunner().invoke(main, ["doctor", *arguments]).output


def find_verdict(output: str) -> str:
    words = " ".join(output.split())
    return words[words.index("this machine can measure") :]


def test_the_last_line_says_what_can_be_measured_and_what_cannot(nvml: FakeNvml) -> None:
    assert find_verdict(run_doctor()).startswith(
        "this machine can measure: 2 x NVIDIA H200; cannot: set caps because it takes root; "
        "amd because amd is not installed; rapl because rapl is not installed"
    )


def test_a_board_without_power_is_in_the_verdict_with_its_reason(nvml: FakeNvml) -> None:
    nvml.missing = {"nvmlDeviceGetPowerUsage"}
    nvml.field_errors[186] = NVML_ERROR_NOT_SUPPORTED
    assert find_verdict(run_doctor("--meter", "nvidia")).startswith(
        "this machine can measure: nothing; cannot: 2 x NVIDIA H200 because the driver gives no "
        "power of NVIDIA H200, so nothing can be measured;"
    )


def test_json_has_the_checks_and_the_verdict(nvml: FakeNvml) -> None:
    document = json.loads(run_doctor("--json"))
    assert document["can_measure"] == ["2 x NVIDIA H200"]
    assert {"what": "amd", "because": "amd is not installed"} in document["cannot"]
    assert document["verdict"].startswith("this machine can measure: 2 x NVIDIA H200")
    (check,) = [check for check in document["checks"] if check["name"] == "meter rapl"]
    assert check == {
        "name": "meter rapl",
        "ok": None,
        "result": "cannot be used",
        "advice": "rapl is not installed; install it",
    }


def test_lines_have_80_columns_and_no_path_is_broken(nvml: FakeNvml, tmp_path: Path) -> None:
    output = run_doctor()
    assert max(map(len, output.splitlines())) <= 80
    path = "/" + "/".join(["long-name_of.a-directory"] * 5)
    text = format_check(Check("code", True, f"found in {path} and at many other places"), 80)
    assert path in text.splitlines()[1]
    assert all(len(line) <= 80 for line in text.splitlines() if path not in line)


def test_the_verdict_names_whatever_prevents_a_run() -> None:
    checks = [
        Check("torch", False, "torch is not installed", "install a stack; or simulate"),
        Check("meter x", True, "", subject="Board"),
        Check("signing", None, "ssh-keygen is not installed", "install it"),
        Check("node meter pdu, feed a", None, "10 W", "its clock is late"),
    ]
    assert describe_verdict(checks) == (
        "this machine can measure: Board, node meter pdu, feed a; cannot: torch because torch is "
        "not installed"
    )
    assert describe_verdict([]) == "this machine can measure: nothing"
