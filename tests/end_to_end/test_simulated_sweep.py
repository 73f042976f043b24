"""scripts/simulated_sweep.py: its page, and how it goes on."""

import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from rules.metrics.sweeps.points import Point


@pytest.fixture
def script_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """scripts/simulated_sweep.py with its build directory in `tmp_path`."""
    path = Path(__file__).parents[2] / "scripts/simulated_sweep.py"
    spec = importlib.util.spec_from_file_location("simulated_sweep", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where its dataclass looks for it
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "BUILD", tmp_path)
    monkeypatch.setattr(module, "SUBMISSIONS", tmp_path / "submissions")
    return module


def test_page_of_simulated_sweeps_has_differences_peaks_and_marks(
    script_module: ModuleType,
) -> None:
    points = (
        Point(200.0, 110.0, 1.0, False),
        Point(300.0, 95.0, 2.0, True),
        Point(400.0, 100.0, 4.0, True),
    )
    sweep = script_module.SimulatedSweep(
        "H100",
        "resnet50-train",
        points,
        {200.0: 100, 300.0: 100, 400.0: 100},
        300,
    )
    text = "\n".join(
        script_module.render_page([sweep, replace(sweep, board="MI300X", stated_peak_w=None)])
    )
    prose = " ".join(text.split())  # its lines are wrapped
    assert "at most 10.0 %" in prose and "1 of 1 efficiency peaks" in prose
    assert "6 runs" in prose and "make simulated-sweep" in prose
    assert "| H100 | resnet50-train | 200 to 400 | 200 | 300 | 300 | 0.5 | 10.0 |" in text
    assert "| MI300X | resnet50-train | 200 to 400 | 200 | not stated | 300 | 0.5 | 10.0 |" in text


def test_every_published_row_of_the_five_workloads_is_in_a_simulated_sweep(
    script_module: ModuleType,
) -> None:
    swept = list(script_module.read_sweeps())
    assert len(swept) == 15 and sum(len(sweep.published) for sweep in swept) == 95
    assert sum(sweep.stated_peak_w is not None for sweep in swept) == 10


def test_simulated_sweep_that_has_a_plan_goes_on_with_it(
    script_module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []

    def run(command: list[object], **_: object) -> subprocess.CompletedProcess:
        commands.append([str(argument) for argument in command[1:]])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(script_module.subprocess, "run", run)
    out = tmp_path / "submissions/demo/h200/sd2-train"
    assert script_module.run_sweep("h200", "sd2-train") == 0
    out.mkdir(parents=True)
    (out / "x.sweep.json").touch()
    assert script_module.run_sweep("h200", "sd2-train") == 0
    assert commands[0][:4] == ["sweep", "sd2-train", "--simulate", "h200"] and commands[0][-2:] == [
        "--out",
        str(out),
    ]
    assert commands[1] == ["sweep", "--resume", str(out / "x.sweep.json")]
