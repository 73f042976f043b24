"""Each extra is installed from the wheel into an environment of its own, and what it brings can be
imported there."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
MODULES = {
    "vision": "torch torchvision timm",
    "diffusion": "torch diffusers transformers",
    "litgpt": "torch litgpt",
    "sglang": "torch sglang",
    "nvidia": "pynvml",
    "amd": "amdsmi",
    "meters": "gufo.snmp pyvisa_py yaml",
    "hdf5": "h5py",
    "report": "altair vl_convert",
    "monitoring": "prometheus_client",
    "publish": "mlcroissant rocrate",
    "docs": "mkdocstrings zensical",
}
LEFT_OUT = {
    "dev": "is the environment of these tests",
    "site": "is the environment of these tests",
}
STACKS = ("vision", "diffusion", "litgpt", "sglang")
WITHOUT_DEPENDENCIES = {"sglang": "sglang==0.5.15.post1"}
"""What pins a CUDA build of torch, and kernels of gigabytes that no CPU runs: it goes in alone,
beside what its file in constraints/ lists, as in the Makefile."""
IMPORTS = {
    # It loads a library of ROCm.
    "amdsmi": "import importlib.util as util; assert util.find_spec('amdsmi')",
    # An index may have torchvision for CUDA only, which a CPU build of torch does not load.
    "torchvision": "import importlib.util as util; assert util.find_spec('torchvision')",
    # It imports torchvision; tests/stacks/test_sglang.py runs its server.
    "sglang": "import importlib.util as util; assert util.find_spec('sglang')",
    "timm": "from reference.torchvision_shim import import_timm; import_timm()",
}
"""How a module is looked for that is not simply imported."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    directory = tmp_path_factory.mktemp("wheel")
    run_pip(Path(sys.executable), "wheel", "--no-deps", "--wheel-dir", directory, ROOT)
    (path,) = directory.glob("*.whl")
    return path


def run_python(python: Path, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run another Python without what the tests have on their path."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        [python, *arguments], env=variables, capture_output=True, text=True, check=False
    )


def run_pip(python: Path, *arguments: str | Path) -> None:
    """Run pip. Skips the test where the index lacks a package."""
    process = run_python(python, "-m", "pip", "--quiet", *arguments)
    if "No matching distribution found for" in process.stderr:
        pytest.skip(process.stderr.strip().splitlines()[-1])
    assert process.returncode == 0, process.stderr


def list_unmet(python: Path, extra: str) -> list[str]:
    """What the extra of the installed wheel asks for, and this environment does not have."""
    code = (
        "import sys\n"
        "from importlib import metadata\n"
        "from pip._vendor.packaging.requirements import Requirement\n"
        "found = metadata.distributions()\n"
        "versions = {d.name.lower().replace('_', '-'): d.version for d in found}\n"
        "for r in map(Requirement, metadata.requires('wattmark')):\n"
        "    if r.marker is None or r.marker.evaluate({'extra': sys.argv[1]}):\n"
        "        version = versions.get(r.name.lower().replace('_', '-'))\n"
        "        if version is None or not r.specifier.contains(version, True):\n"
        "            print(r)\n"
    )
    process = run_python(python, "-c", code, extra)
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


def test_every_extra_is_tested_or_left_out_for_a_reason() -> None:
    assert set(EXTRAS) == {*MODULES, *LEFT_OUT}


@pytest.mark.parametrize("extra", MODULES)
def test_extra_is_installed_from_the_wheel(wheel: Path, tmp_path: Path, extra: str) -> None:
    assert run_python(Path(sys.executable), "-m", "venv", tmp_path / "venv").returncode == 0
    python = tmp_path / "venv/bin/python"
    pins = ROOT / f"constraints/{extra if extra in STACKS else 'vision'}-cpu.txt"
    if extra in WITHOUT_DEPENDENCIES:
        run_pip(python, "install", "--no-compile", "--requirement", pins, wheel)
        run_pip(python, "install", "--no-compile", "--no-deps", WITHOUT_DEPENDENCIES[extra])
    else:
        run_pip(python, "install", "--no-compile", "--constraint", pins, f"{wheel}[{extra}]")
    assert list_unmet(python, extra) == []
    for module in MODULES[extra].split():
        process = run_python(python, "-c", IMPORTS.get(module, f"import {module}"))
        assert process.returncode == 0, process.stderr
    help_text = run_python(python, "-m", "checker", "--help")
    assert help_text.returncode == 0, help_text.stderr
