"""What `bench-submit run --export` refuses before a run. tests/site/test_prometheus.py exports."""

import importlib.util
import os
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from support.harness.session_runs import make_test_plan

from harness.cli import main
from harness.errors import MachineError, PlanError
from harness.run.export import ExportTarget, RunExport, check_export, parse_target


def require_client() -> None:
    pytest.importorskip("prometheus_client", reason="the extra monitoring is not installed")


def test_target_is_a_port_or_an_absolute_path(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_target("prometheus:9400") == ExportTarget(port=9400)
    target = parse_target("textfile:run.prom")
    assert target == ExportTarget(path=tmp_path / "run.prom")
    assert parse_target(str(target)) == target


@pytest.mark.parametrize(
    "text",
    [
        *("prometheus", "prometheus:", "prometheus:0", "prometheus:65536", "prometheus:-1"),
        *("prometheus:٩٤", "prometheus:http", "textfile:", "statsd:8125", ""),
    ],
)
def test_other_target_is_refused_with_both_forms(text: str) -> None:
    with pytest.raises(PlanError, match=r"give prometheus:PORT .* or textfile:FILE"):
        parse_target(text)


def test_file_that_node_exporter_would_not_read_is_refused() -> None:
    with pytest.raises(PlanError, match=r"files that end in \.prom only"):
        parse_target("textfile:run.txt")


def test_missing_package_is_named_with_the_command_that_installs_it(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MachineError, match=r"prometheus-client is not installed; pip install"):
        check_export(ExportTarget(port=9400))


def test_resumed_run_without_the_package_is_refused_too(monkeypatch) -> None:
    plan = make_test_plan()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with (
        pytest.raises(MachineError, match="prometheus-client is not installed"),
        RunExport(plan, ExportTarget(port=9400)),
    ):
        pass


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_port_in_use_is_refused_before_the_run(tmp_path: Path, options: list[str]) -> None:
    require_client()
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        arguments = ["run", "resnet50-train", "--simulate", "h200", "--out", str(tmp_path)]
        result = CliRunner().invoke(main, [*arguments, *options, "--export", f"prometheus:{port}"])
    assert result.exit_code == 3
    assert f"--export prometheus:{port}: another process uses this port" in result.output
    assert not list(tmp_path.iterdir())


def test_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    require_client()
    with pytest.raises(MachineError, match=r"missing/run\.prom: No such file .* give a file in"):
        check_export(ExportTarget(path=tmp_path / "missing/run.prom"))
    (tmp_path / "run.prom").mkdir()
    with pytest.raises(MachineError, match=r"run\.prom: Is a directory"):
        check_export(ExportTarget(path=tmp_path / "run.prom"))


def test_file_that_others_write_is_refused_and_kept(tmp_path: Path) -> None:
    require_client()
    path = tmp_path / "run.prom"
    for text, says in (
        ("# HELP smartmon_device_active …\n", "another program has written this file"),
        ("# HELP wattmark_power_watts …\n", "another run writes this file"),
    ):
        path.write_text(text)
        with pytest.raises(MachineError, match=says):
            check_export(ExportTarget(path=path))
        assert path.read_text() == text
    os.utime(path, (0, 0))
    check_export(ExportTarget(path=path))
    assert list(tmp_path.iterdir()) == [path]


def test_readings_are_taken_over_once_a_second(tmp_path: Path, monkeypatch) -> None:
    require_client()
    taken_s = []
    with RunExport(make_test_plan(), ExportTarget(path=tmp_path / "run.prom")) as run_export:
        for now_s in (100.0, 100.0, 100.9, 101.0, 101.5):
            clock = SimpleNamespace(monotonic=lambda now_s=now_s: now_s, time=time.time)
            monkeypatch.setattr("harness.run.export.time", clock)
            run_export.update(lambda now_s=now_s: taken_s.append(now_s) or (), None)
    assert taken_s == [100.0, 101.0]
