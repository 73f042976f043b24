"""The wheel alone, in a clean environment with its base dependencies, gives three working
commands."""

import os
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("harness", "reference", "rules", "checker", "reporting")
PUBLISHED = ROOT / "submissions" / "published"

pytestmark = pytest.mark.xdist_group("wheel")  # one worker, so one build


@dataclass(frozen=True)
class Installed:
    """A wheel, and an environment that it was installed in."""

    wheel: Path
    bin: Path

    def run(self, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run one of the environment's own commands from `cwd`, with nothing of this tree on the
        path."""
        env = {
            name: value
            for name, value in os.environ.items()
            if name not in {"PYTHONPATH", "VIRTUAL_ENV"}
        }
        return subprocess.run(
            [self.bin / command[0], *command[1:]],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", base, ROOT], check=True)
    (wheel,) = base.glob("wattmark-*.whl")
    venv.create(base / "venv", with_pip=False, symlinks=True)
    bin_dir = base / "venv" / "bin"
    # The tested pins only constrain versions here: no extra is asked for.
    pins = ROOT / "constraints" / "vision-cpu.txt"
    install = ["install", "--no-compile", "--constraint", pins, wheel]
    subprocess.run([*pip, "--python", bin_dir / "python", *install], check=True)
    return Installed(wheel, bin_dir)


@pytest.mark.parametrize("command", ["bench-submit", "bench-check", "bench-report"])
def test_command_answers_from_another_directory(
    installed: Installed, command: str, tmp_path: Path
) -> None:
    result = installed.run(command, "--help", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Usage:" in result.stdout


def test_wheel_holds_every_file_of_the_packages_and_the_published_figures(
    installed: Installed,
) -> None:
    in_tree = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.parts[-len(path.relative_to(ROOT).parts) :][:2] != ("rules", "testing")
    }
    published = {
        f"reporting/published/{path.relative_to(PUBLISHED).as_posix()}": path
        for path in PUBLISHED.rglob("*")
        if path.is_file()
    }
    with zipfile.ZipFile(installed.wheel) as archive:
        in_wheel = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert in_wheel == in_tree | published.keys()
        assert all(archive.read(name) == path.read_bytes() for name, path in published.items())


def test_metadata_name_a_source_and_types(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    assert metadata.get_all("Project-URL")
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert all((ROOT / package / "py.typed").is_file() for package in PACKAGES)


def test_page_of_a_rule_is_printed_outside_a_clone(installed: Installed, tmp_path: Path) -> None:
    result = installed.run("bench-check", "explain", "M108", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    page = (ROOT / "docs/rules/M108-git-dirty.md").read_text()
    # The page in docs/ has a list of mutations below what the rule itself says.
    text = page.partition("## What it does")[2].partition("## Tested with")[0]
    assert text.strip() in result.stdout


def test_installed_report_finds_the_published_figures_of_the_wheel(
    installed: Installed, tmp_path: Path
) -> None:
    program = (
        "from reporting.collect import list_shipped_figures\n"
        "print(*list_shipped_figures([]), sep='\\n')\n"
    )
    result = installed.run("python", "-c", program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    files = [Path(line) for line in result.stdout.splitlines()]
    assert all(file.is_relative_to(installed.bin.parent) for file in files)
    assert sorted(file.name for file in files) == sorted(
        path.name for path in PUBLISHED.rglob("*.json")
    )


def test_schemas_are_readable_where_installed(installed: Installed, tmp_path: Path) -> None:
    program = (
        "import json\n"
        "from importlib.resources import files\n"
        "schemas = [f for f in files('rules.bundle_format').joinpath('schemas').iterdir() if "
        "f.name.endswith('.json')]\n"
        "print(*sorted(json.loads(f.read_text())['$schema'] for f in schemas), sep='\\n')\n"
    )
    result = installed.run("python", "-c", program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert set(result.stdout.split()) == {"https://json-schema.org/draft/2020-12/schema"}


def test_base_dependencies_bring_no_stack(installed: Installed, tmp_path: Path) -> None:
    stacks = (
        *("torch", "timm", "diffusers", "litgpt", "sglang", "pynvml", "amdsmi", "altair"),
        *("vl_convert",),
    )
    program = (
        f"from importlib.util import find_spec; print([name for name in {stacks} if "
        "find_spec(name)])"
    )
    assert installed.run("python", "-c", program, cwd=tmp_path).stdout.strip() == "[]"
