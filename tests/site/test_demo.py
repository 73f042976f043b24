"""`make demo` as a newcomer sees it, in a clone of its own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from support.console.clone import make_clone


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    # Of a name that an address has to escape.
    return make_clone(tmp_path / "a clone")


def run_demo(clone: Path) -> list[str]:
    """The lines that `make demo` prints. Fails if it fails."""
    hidden = ("PYTHONPATH", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    # A busy machine takes longer than the demo grants.
    script = clone / "scripts/demo.sh"
    script.write_text(script.read_text().replace("most_s=60\n", "most_s=600\n"))
    process = subprocess.run(
        ["make", "--assume-old=.venv/ready", "demo"],
        cwd=clone,
        # The environment of the tests is editable: this path comes before that of its project.
        env={**variables, "PYTHONPATH": str(clone)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout
    return process.stdout.splitlines()


def test_demo_shows_a_plausible_run_and_real_code_and_ends_with_the_page(clone: Path) -> None:
    lines = run_demo(clone)
    full, smoke = (lines.index(line) for line in lines if line.startswith("== bench-submit run"))
    end = [line for line in lines[full:smoke] if line][-3:]
    assert [line.partition(":")[0] for line in end] == ["throughput", "energy", "pre-check"]
    rate = float(re.findall(r"([\d.]+) images/s", end[0])[0])
    power = float(re.findall(r"mean power ([\d.]+) W", end[1])[0])
    assert 2000 < rate < 2300 and 680 < power < 710
    assert not [line for line in lines if "MFU" in line or "unused boards" in line]
    # What a CPU computes beside simulated boards has no energy, no interval and no idle power.
    end = next(n for n in range(smoke, len(lines)) if lines[n].startswith("pre-check: "))
    meaningless = re.compile(r"J/image|within this run|^idle")
    assert [line for line in lines[smoke:end] if meaningless.search(line)] == []
    assert any(line.startswith("Shown: ") for line in lines)
    assert any(line.startswith("Not shown: ") for line in lines)
    address = lines[-1].removeprefix("The page: file://")
    assert " " not in address and unquote(address) == str(clone / "build/demo/report.html")
    assert Path(unquote(address)).stat().st_size > 100_000


def test_demo_goes_on_where_real_code_does_not_run(clone: Path) -> None:
    programs = clone / ".venv/bin"
    programs.unlink()
    shutil.copytree(Path(sys.prefix) / "bin", programs, symlinks=True)
    program = programs / "bench-submit"
    real = program.rename(programs / "real-submit")
    program.write_text(f'#!/bin/sh\ncase "$*" in *--smoke*) exit 5;; esac\nexec "{real}" "$@"\n')
    program.chmod(0o755)
    lines = run_demo(clone)
    assert "failed, or did not end within 600 s" in "".join(lines)
    assert lines[-1].startswith("The page: file://")
