"""What is looked at before a run: the machine, the accelerators, the submitter's description; and
the two listings."""

import json
import shutil
import subprocess
from dataclasses import replace

import pytest
from click.testing import CliRunner
from support.fakes.fake_nvml import FakeNvml

from harness import doctor
from harness.cli import main
from harness.errors import MeterError, PlanError
from harness.power.source import Readback
from harness.power.sources import open_source
from harness.power.sources.nvidia import NvidiaSource
from harness.power.sources.simulated import SimulatedSource
from harness.run import preflight
from harness.run.board_settings import determine_cap
from harness.system import describe_environment, hash_source, read_description, read_git_state
from rules.workloads import workloads

A, B = "GPU-aaaa0000-0000-0000-0000-000000000000", "GPU-bbbb0000-0000-0000-0000-000000000000"


def meter(**changes: object) -> NvidiaSource:
    nvml = FakeNvml(A, B)
    for name, value in changes.items():
        setattr(nvml, name, value)
    return NvidiaSource(nvml, None)


def test_a_machine_in_order_gives_no_objection():
    assert list(preflight.find_objections(meter(), meter().devices())) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pids": [4711]}, "1 other process(es) compute on it"),
        ({"mig": 1}, "MIG is on"),
        ({"ecc": 2}, "2 uncorrected ECC error(s)"),
    ],
)
def test_what_would_be_refused_later_is_an_objection_now(changes, message):
    source = meter(**changes)
    assert all(message in o for o in preflight.find_objections(source, source.devices()))
    assert len(list(preflight.find_objections(source, source.devices()))) == 2


def test_a_quantity_that_cannot_be_read_is_an_objection():
    nvml = FakeNvml(A)
    source = NvidiaSource(nvml, None)
    nvml.field_errors[186] = 999
    (objection,) = preflight.find_objections(source, source.devices())
    assert objection.startswith(f"{A}: a first reading failed (power_mw: ")


def test_a_cap_that_is_in_force_is_as_found_and_another_one_is_to_be_set():
    source = meter()
    assert determine_cap(source, source.devices(), None) == (700.0, None)
    assert determine_cap(source, source.devices(), 700.0) == (700.0, None)
    assert determine_cap(source, source.devices(), 700.0004) == (700.0004, None)
    assert determine_cap(source, source.devices(), 500.0) == (
        500.0,
        {A: 700_000, B: 700_000},
    )


@pytest.mark.parametrize("cap_w", [199.0, 701.0])
def test_a_cap_that_the_board_cannot_be_set_to_is_refused_with_its_limits(cap_w):
    source = meter()
    with pytest.raises(PlanError, match=rf"--cap {cap_w:g}: {A} can be set to 200 to 700 W"):
        determine_cap(source, source.devices(), cap_w)


def test_a_meter_without_limits_has_none_to_set():
    source = meter()
    source.readback = lambda uuid, run_pids: Readback()
    assert determine_cap(source, source.devices(), None) == (None, None)
    with pytest.raises(PlanError, match=f"--cap 400: {A} has no power limit; leave out --cap"):
        determine_cap(source, source.devices(), 400.0)


def test_what_is_found_is_the_limit_that_was_asked_for_not_the_lower_one_that_another_enforces():
    source = meter(fields={**FakeNvml().fields, 190: 500_000})
    assert determine_cap(source, source.devices(), 500.0) == (500.0, None)
    assert determine_cap(source, source.devices(), 400.0) == (
        400.0,
        {A: 700_000, B: 700_000},
    )


def test_accelerators_under_different_caps_are_refused_unless_a_cap_is_named():
    source = meter()
    state = source.readback(A, frozenset())
    states = {A: state, B: replace(state, enforced_mw=500_000, requested_mw=500_000)}
    source.readback = lambda uuid, run_pids: states[uuid]
    with pytest.raises(
        PlanError,
        match=rf"different power caps .*{B}: 500 W.*name one with --cap. setting a cap takes root",
    ):
        determine_cap(source, source.devices(), None)
    assert determine_cap(source, source.devices(), 500.0) == (
        500.0,
        {A: 700_000, B: 500_000},
    )


def test_accelerators_of_a_run_are_of_one_kind():
    source = meter()
    devices = [source.devices()[0], replace(source.devices()[1], name="NVIDIA H100 80GB HBM3")]
    source.devices = lambda: devices
    with pytest.raises(PlanError, match="must be of one kind, found NVIDIA H200, NVIDIA H100"):
        preflight.select_devices(source, 2)
    assert preflight.select_devices(source, 1) == (devices[0],)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = [", "cannot be read as TOML"),
        ("hostname = 'x'", "unknown key 'hostname'; the keys are name, site, category"),
        ("name = 3", "name must be text in quotes, found 3"),
        ("category = 'cheap'", "category must be available, preview or research, found 'cheap'"),
    ],
)
def test_a_description_that_cannot_be_used_is_refused(tmp_path, text, message):
    path = tmp_path / "system.toml"
    path.write_text(text)
    with pytest.raises(PlanError, match=message) as caught:
        read_description(path)
    assert str(path) in str(caught.value)


def test_a_description_is_taken_as_it_is(tmp_path):
    path = tmp_path / "system.toml"
    path.write_text("name = 'Alpha'\nsite = 'NHR'\n")
    assert read_description(path) == {
        "name": "Alpha",
        "site": "NHR",
        "category": "research",
        "cooling": "",
        "interconnect": "",
    }


def test_the_environment_keeps_no_variable_that_may_hold_a_path():
    variables = {
        "NCCL_DEBUG": "INFO",
        "OMP_NUM_THREADS": "4",
        "HOME": "/home/me",
        "TORCHINDUCTOR_CACHE_DIR": "/home/me/x",
    }
    found = describe_environment(
        "580", hash_source(), variables | {"WATTMARK_CONTAINER": "sha256:12"}
    )
    assert found["variables"] == {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "4"}
    assert found["container"] == "sha256:12" and found["packages"]["pandas"]


def test_git_state_tells_the_commit_and_changes_of_the_sources_alone(tmp_path):
    assert read_git_state(tmp_path) is None

    def git(*words: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@y"]
        subprocess.run(["git", *identity, "-C", tmp_path, *words], check=True, capture_output=True)

    git("init")
    for name in ("rules", "reference", "harness"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("")
    git("add", ".")
    git("commit", "-m", "x")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "bundle").write_text("")
    assert read_git_state(tmp_path)["dirty"] is False
    (tmp_path / "rules" / "a.py").write_text("1")
    assert read_git_state(tmp_path)["dirty"] is True


def test_workloads_lists_all_and_says_which_run():
    result = CliRunner().invoke(main, ["workloads"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    for workload in workloads().values():
        place = lines.index(f"{workload.id}: {workload.title}")
        assert f"  code     {workload.implementation or 'none yet'}" in lines[place:]
    assert max(map(len, lines)) <= 80
    document = json.loads(CliRunner().invoke(main, ["workloads", "--json"]).output)
    assert [entry["id"] for entry in document["workloads"]] == list(workloads())


def test_doctor_says_what_is_missing_and_what_to_do(monkeypatch):
    def no_meter(name: str) -> None:
        raise MeterError("there is no driver; load it")

    monkeypatch.setattr(doctor, "open_source", no_meter)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = CliRunner().invoke(main, ["doctor"])
    assert (
        "ssh-keygen is not installed" in result.output
        and "install OpenSSH's client" in result.output
    )
    for name in ("nvidia", "amd", "rapl"):
        assert f"meter {name}" in result.output
    assert "there is no driver; load it" in result.output


def test_doctor_shows_the_accelerators_of_a_meter(monkeypatch):
    monkeypatch.setattr(doctor, "open_source", lambda name: open_source("simulated:h200"))
    found = [c for c in doctor.examine() if c.name == "meter nvidia"]
    assert len(found) == 8
    assert all(c.ok for c in found) and "cap 700 W, energy counter" in found[0].result


@pytest.mark.parametrize(
    ("refusal", "ok", "message"),
    [
        (None, True, "may be set here"),
        ("ask", None, "may not be set here; caps are measured as found"),
    ],
)
def test_doctor_tells_whether_caps_can_be_set_without_trying_to(monkeypatch, refusal, ok, message):
    monkeypatch.setattr(doctor, "open_source", lambda name: open_source("simulated:h200"))
    monkeypatch.setattr(doctor, "explain_refusal", lambda name: refusal)
    monkeypatch.setattr(SimulatedSource, "set_cap", lambda *_: pytest.fail("it tried"))
    (check,) = [c for c in doctor.examine() if c.name == "caps nvidia"]
    assert check.ok is ok and check.result == f"200 W to 700 W, default 700 W; {message}"
    assert check.advice == (refusal or "")


def test_sign_has_few_options():
    names = sorted(o for p in main.commands["sign"].params for o in p.opts)
    assert names == ["--json", "--key", "--principal", "bundle"]
