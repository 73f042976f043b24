"""The container definitions, as far as they can be checked without building them, and the two
scripts beside them."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import jsonschema
import pytest
from packaging.requirements import Requirement

from harness.system import describe_environment

ROOT = Path(__file__).parents[2]
CONTAINERS = ROOT / "containers"
README = CONTAINERS / "README.md"
STACKS = ("vision", "diffusion", "litgpt", "sglang")
SECTIONS = {"arguments", "files", "post", "environment", "labels", "runscript", "test"}
INSTALL = "bash /opt/wattmark/containers/install.sh"
NGC = "nvcr.io/nvidia/pytorch:25.05-py3"
ROCM = "rocm/pytorch:rocm7.1.1_ubuntu24.04_py3.12_pytorch_release_2.9.1"
OWN_BASE = "sglang"
"""SGLang pins one exact torch, so its images are its own; and those bring it."""
TORCH = re.compile(
    r"\b(torch|torchvision|torchaudio|triton)\s*(==|>=|~=|@)|install\b[^\n]*\s(torch|torchvision|torchaudio)(\s|$)"
)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def read_sections(text: str) -> dict[str, list[str]]:
    """The lines of each section, without comments and blanks; those before the first are of the
    section ``""``."""
    lines_by_section: dict[str, list[str]] = {"": []}
    current = ""
    for line in text.splitlines():
        if line.startswith("%"):
            current = line[1:].strip()
            lines_by_section[current] = []
        elif line.strip() and not line.strip().startswith("#"):
            lines_by_section[current].append(line.strip())
    return lines_by_section


def find_shell_error(script: str) -> str:
    """What bash says of the syntax of a script; empty where it has nothing to say."""
    return subprocess.run(
        ["bash", "-n"], input=script, capture_output=True, check=False, text=True
    ).stderr


def is_pinned(image: str) -> bool:
    """Whether an image is named with a tag that is a version."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return any(c.isdigit() for c in tag) and "latest" not in tag


def lint(stack: str, text: str) -> list[str]:
    """What is wrong with the definition of a stack."""
    problems = []
    parts = read_sections(text)
    if parts[""] != ["Bootstrap: docker", "From: {{ base }}"]:
        problems.append(f"header: {parts['']}")
    if set(parts) - {""} != SECTIONS:
        problems.append(f"sections: {set(parts) ^ SECTIONS}")
        return problems
    arguments = dict(line.split("=", 1) for line in parts["arguments"])
    if set(arguments) != {"base"} or not is_pinned(arguments["base"]):
        problems.append(f"base: {arguments}")
    if undefined := set(re.findall(r"\{\{\s*(\w+)\s*\}\}", text)) - set(arguments):
        problems.append(f"undefined: {undefined}")
    problems += [f"file: {line}" for line in parts["files"] if not is_copied(line)]
    problems += [
        f"shell: {name}: {e}"
        for name in ("post", "environment", "runscript", "test")
        if (e := find_shell_error("\n".join(parts[name])))
    ]
    if parts["post"][:1] != ["set -eu"]:
        problems.append("post: does not stop at the first error")
    calls = [
        line.removeprefix(INSTALL).split() for line in parts["post"] if line.startswith(INSTALL)
    ]
    if (
        len(calls) != 1
        or "containers/install.sh /opt/wattmark/containers/install.sh" not in parts["files"]
    ):
        problems.append(f"install: {parts['post']}")
    elif stack == OWN_BASE:
        problems += [f"extra: {calls[0]}"] if calls[0] else []
    else:
        problems += find_uninstallable(stack, calls[0])
    if TORCH.search("\n".join(parts["post"])):
        problems.append("torch: is installed over that of the base")
    if "export PYTHONNOUSERSITE=1" not in parts["environment"]:
        problems.append("environment: packages of the home directory are imported")
    if any(
        "WATTMARK_CONTAINER" in line for name in ("environment", "post") for line in parts[name]
    ):
        problems.append("digest: an image cannot know its own")
    if parts["runscript"] != ['exec bench-submit "$@"']:
        problems.append(f"runscript: {parts['runscript']}")
    if parts["test"][:1] != ["bench-submit --version"] or not any(
        "import torch, " in line for line in parts["test"]
    ):
        problems.append(f"test: {parts['test']}")
    return problems


def is_copied(line: str) -> bool:
    """Whether a line of %files copies something of the repository to where `install.sh` looks for
    it."""
    source, _, target = line.partition(" ")
    return (ROOT / source).exists() and target == f"/opt/wattmark/{source}"


def find_uninstallable(stack: str, words: list[str]) -> list[str]:
    """What is wrong with what `install.sh` is asked for: an extra, and exact versions of packages
    that it names."""
    if words[:1] != [stack] or stack not in EXTRAS:
        return [f"extra: {words}"]
    allowed = {r.name: r.specifier for r in map(Requirement, EXTRAS[stack])}
    expected = [Requirement(word) for word in words[1:]]
    return [
        f"pin: {requirement}"
        for requirement in expected
        if requirement.name not in allowed
        or [s.operator for s in requirement.specifier] != ["=="]
        or not all(allowed[requirement.name].contains(s.version) for s in requirement.specifier)
    ] or ([] if expected else ["pin: none"])


def read_definition(stack: str) -> str:
    return (CONTAINERS / f"{stack}.def").read_text()


def find_table_row(stack: str) -> list[str]:
    (row,) = [line for line in README.read_text().splitlines() if line.startswith(f"| {stack} |")]
    return [cell.strip().strip("`") for cell in row.strip("|").split("|")]


def test_there_is_a_definition_for_every_stack_and_no_other():
    assert {p.stem for p in CONTAINERS.glob("*.def")} == set(STACKS)


@pytest.mark.parametrize("stack", STACKS)
def test_a_definition_is_well_formed(stack):
    assert lint(stack, read_definition(stack)) == []


@pytest.mark.parametrize(
    ("stack", "original", "replacement", "says"),
    [
        ("vision", "Bootstrap: docker", "Bootstrap: library", "header"),
        ("vision", "From: {{ base }}", "From: ubuntu:24.04", "header"),
        (
            "vision",
            "base=nvcr.io/nvidia/pytorch:25.05-py3",
            "base=nvcr.io/nvidia/pytorch:latest",
            "base",
        ),
        ("vision", "base=nvcr.io/nvidia/pytorch:25.05-py3", "base=nvcr.io/nvidia/pytorch", "base"),
        ("vision", "%labels", "%lables", "sections"),
        ("vision", '"$@"', '"$@" {{ extra }}', "undefined"),
        ("vision", "LICENSE /opt/wattmark/LICENSE", "LICENCE /opt/wattmark/LICENCE", "file"),
        ("vision", "/opt/wattmark/rules", "/opt/rules", "file"),
        ("vision", "set -eu", "if true", "shell"),
        ("vision", "    set -eu\n", "", "post"),
        ("vision", "install.sh vision timm==1.0.31", "install.sh television timm==1.0.31", "extra"),
        ("vision", "timm==1.0.31", "timm>=1.0.31", "pin"),
        ("vision", "timm==1.0.31", "timm==0.9.0", "pin"),
        ("vision", "timm==1.0.31", "", "pin"),
        ("vision", "timm==1.0.31", "timm==1.0.31 torch==2.11.0", "torch"),
        ("vision", "set -eu\n", "set -eu\n    pip install torch\n", "torch"),
        (
            "vision",
            "    bash /opt/wattmark/containers/install.sh vision timm==1.0.31\n",
            "    pip install wattmark\n",
            "install",
        ),
        (
            "vision",
            "    containers/install.sh /opt/wattmark/containers/install.sh\n",
            "",
            "install",
        ),
        ("vision", "export PYTHONNOUSERSITE=1", "export PYTHONNOUSERSITE=", "environment"),
        (
            "vision",
            "PYTHONNOUSERSITE=1",
            "PYTHONNOUSERSITE=1\n    export WATTMARK_CONTAINER=sha256:0",
            "digest",
        ),
        ("vision", "exec bench-submit", "bench-submit", "runscript"),
        ("vision", "bench-submit --version", "true", "test"),
        (
            "sglang",
            "containers/install.sh\n\n%environment",
            "containers/install.sh sglang\n\n%environment",
            "extra",
        ),
    ],
)
def test_the_linter_sees_what_is_wrong(stack, original, replacement, says):
    text = read_definition(stack)
    assert original in text
    assert says in [
        problem.partition(":")[0] for problem in lint(stack, text.replace(original, replacement))
    ]


@pytest.mark.parametrize("stack", STACKS)
def test_the_readme_names_both_bases_and_what_is_installed(stack):
    _, name, _, cuda, rocm, versions = find_table_row(stack)
    text = read_definition(stack)
    assert name == f"{stack}.def"
    assert read_sections(text)["arguments"] == [f"base={cuda}"]
    assert is_pinned(cuda) and is_pinned(rocm) and "rocm" in rocm
    if stack != OWN_BASE:
        assert (cuda, rocm) == (NGC, ROCM)
    for version in re.findall(r"==(\S+)", "\n".join(read_sections(text)["post"])):
        assert version in versions


@pytest.mark.parametrize("stack", [s for s in STACKS if s != OWN_BASE])
def test_the_extra_lets_the_torch_of_both_bases_be(stack):
    (torch,) = [r for r in map(Requirement, EXTRAS[stack]) if r.name == "torch"]
    assert torch.specifier.contains("2.8.0a0+5228986c39.nv25.5", prereleases=True)
    assert torch.specifier.contains("2.9.1+rocm7.1.1")


@pytest.mark.parametrize("script", ["run.sh", "install.sh"])
def test_the_scripts_stop_at_errors_and_can_be_executed(script):
    path = CONTAINERS / script
    assert "\nset -euo pipefail\n" in path.read_text()
    assert find_shell_error(path.read_text()) == ""
    assert os.access(path, os.X_OK)


def write_stub(directory: Path, name: str, body: str) -> dict[str, str]:
    """An environment in which a command is a stub of ours."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/bash\n{body}\n")
    (directory / name).chmod(0o755)
    return {**os.environ, "PATH": f"{directory}:/usr/bin:/bin"}


def test_the_digest_of_the_image_comes_into_the_bundle(tmp_path):
    image = tmp_path / "wattmark vision.sif"
    image.write_bytes(b"an image")
    environment = write_stub(tmp_path / "bin", "apptainer", 'printf "%s\\n" "$@"')
    command = [CONTAINERS / "run.sh", image, "run", "resnet50-train", "--option", "a=b c"]
    output = subprocess.run(
        command, env=environment, capture_output=True, check=True, text=True
    ).stdout.splitlines()
    assert output[0] == "run" and output[-5:] == [
        str(image),
        "run",
        "resnet50-train",
        "--option",
        "a=b c",
    ]
    variable, _, value = output[output.index("--env") + 1].partition("=")
    assert value == f"sha256:{hashlib.sha256(b'an image').hexdigest()}"
    described = describe_environment(None, "0" * 64, {variable: value})
    assert described["container"] == value
    schema = ROOT / "rules" / "bundle_format" / "schemas" / "environment-1.json"
    jsonschema.validate(described, json.loads(schema.read_text()))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "usage: containers/run.sh IMAGE.sif"),
        (["missing.sif"], "missing.sif: no such image; containers/README.md says how to build it"),
        ([str(README)], "neither apptainer nor singularity is on the PATH"),
    ],
)
def test_what_cannot_be_run_is_said(tmp_path, arguments, says):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bash").symlink_to(shutil.which("bash"))
    environment = {"PATH": str(tmp_path / "bin")}  # nothing else: some machine may have Apptainer
    command = [CONTAINERS / "run.sh", *arguments]
    process = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, check=False, text=True
    )
    assert (
        process.returncode == 2 and process.stderr.startswith("run.sh: ") and says in process.stderr
    )


FOUND = (
    "numpy==1.26.4",
    "pandas==2.2.3",
    "pytorch-triton==3.3.0",
    "torch==2.8.0a0+5228986c39.nv25.5",
    "torchao==0.11.0",
    "torchvision==0.22.0a0",
)
HELD = [FOUND[0], *FOUND[2:4], FOUND[5]]
PYTHON = f"""
case "$*" in
  -c*) echo VENDOR ;;
  *"pip list"*) printf '%s\\n' {" ".join(FOUND)} ;;
  *--constraint*) echo "$PIP_BREAK_SYSTEM_PACKAGES ${{PIP_CONSTRAINT-unset}} $*"
    while [ "$1" != --constraint ]; do shift; done
    cat "$2" ;;
esac
"""


@pytest.mark.parametrize(
    ("arguments", "vendor", "extras"),
    [
        (["vision", "timm==1.0.31"], "nvidia", "vision,nvidia"),
        (["vision"], "amd", "vision,amd"),
        ([], "nvidia", "nvidia"),
    ],
)
def test_install_holds_the_torch_that_it_finds(tmp_path, arguments, vendor, extras):
    environment = write_stub(tmp_path / "bin", "python3", PYTHON.replace("VENDOR", vendor)) | {
        "PIP_CONSTRAINT": "/etc/pip/constraint.txt"
    }
    command = [CONTAINERS / "install.sh", *arguments]
    lines = subprocess.run(
        command, env=environment, capture_output=True, check=True, text=True
    ).stdout.splitlines()
    (install,) = [line for line in lines if "--constraint" in line]
    assert install.startswith("1 unset ") and f" {ROOT}[{extras}]" in install
    assert all(word in install for word in arguments[1:])
    assert lines[lines.index(install) + 1 :] == HELD


def test_install_refuses_a_base_without_torch(tmp_path):
    environment = write_stub(tmp_path / "bin", "python3", "exit 1")
    process = subprocess.run(
        [CONTAINERS / "install.sh", "vision"],
        env=environment,
        capture_output=True,
        check=False,
        text=True,
    )
    assert process.returncode == 1 and "the base image must bring PyTorch" in process.stderr


def test_what_the_definitions_copy_is_all_that_the_wheel_needs():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {
        *wheel["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"],
        wheel["project"]["readme"],
        "pyproject.toml",
    }
    for stack in STACKS:
        assert needed <= {
            line.split()[0] for line in read_sections(read_definition(stack))["files"]
        }
