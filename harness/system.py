"""What a bundle says of the system and of its software: system.json and environment.json."""

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import re
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from harness import __version__
from harness.power.source import Device
from harness.run.plan import PlanError
from rules.bundle_format.records import ENVIRONMENT_FORMAT, SYSTEM_FORMAT, Json

PACKAGES = (
    "torch",
    "torchvision",
    "nvidia-cuda-runtime",
    "nvidia-cuda-runtime-cu12",
    "timm",
    "triton",
    "numpy",
    "pandas",
    "jsonschema",
    "click",
    "jinja2",
    "rich",
    "nvidia-ml-py",
    "amdsmi",
    "diffusers",
    "transformers",
    "litgpt",
    "lightning",
    "torchao",
    "sglang",
    "sglang-kernel",
    "flashinfer-python",
)
VARIABLES = re.compile(
    r"((CUDA|HIP|ROCR)_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|NCCL_\w+|OMP_NUM_THREADS|PYTORCH_\w*ALLOC_CONF)$"
)
EXTRAS = {"timm": "vision", "diffusers": "diffusion", "litgpt": "litgpt", "sglang": "sglang"}
"""The extra of pyproject.toml that brings each stack; each is installed in an environment of its
own."""
CONTAINER_VARIABLE = "WATTMARK_CONTAINER"
DESCRIPTION = {"name": "", "site": "", "category": "research", "cooling": "", "interconnect": ""}
SOURCES = ("rules", "reference", "harness")


def read_description(path: Path | None) -> Json:
    """What the submitter says of the system in a TOML file: name, site, category, cooling,
    interconnect (all text).

    Raises PlanError that names the file, the key and what is allowed.
    """
    if path is None:
        return dict(DESCRIPTION)
    try:
        stated = tomllib.loads(path.read_text())
    except OSError as error:
        raise PlanError(
            f"--system {path}: cannot be read ({error.strerror}); name a TOML file that "
            "describes the system"
        ) from None
    except ValueError as error:
        raise PlanError(f"{path}: cannot be read as TOML: {error}") from None
    for key, value in stated.items():
        if key not in DESCRIPTION:
            raise PlanError(f"{path}: there is no key {key!r}; there are {', '.join(DESCRIPTION)}")
        if not isinstance(value, str):
            raise PlanError(f"{path}: {key} must be text in quotes, found {value!r}")
    if stated.get("category", "research") not in ("available", "preview", "research"):
        raise PlanError(
            f"{path}: category must be available, preview or research, found {stated['category']!r}"
        )
    return {**DESCRIPTION, **stated}


def describe_system(description: Json, nodes: list[Json]) -> Json:
    """system.json of these nodes (see `describe_node`)."""
    name = description["name"] or nodes[0]["accelerators"][0]["name"]
    return {"format": SYSTEM_FORMAT, **description, "name": name, "nodes": nodes}


def describe_node(name: str, devices: tuple[Device, ...]) -> Json:
    """This node and its accelerators in system.json. Host names are left out; a node is called by
    its number."""
    return {
        "name": name,
        "cpu": _first_value(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        "cpu_cores": os.cpu_count() or 1,
        "memory_bytes": int((_first_value(Path("/proc/meminfo"), "MemTotal") or "0 kB").split()[0])
        * 1024,
        "accelerators": [asdict(d) for d in devices],
    }


def describe_environment(
    driver: str | None, source_sha256: str, variables: Mapping[str, str]
) -> Json:
    """environment.json. The container's digest is what WATTMARK_CONTAINER says; no variable that
    may hold a path is kept."""
    return {
        "format": ENVIRONMENT_FORMAT,
        "wattmark": __version__,
        "source_sha256": source_sha256,
        "python": platform.python_version(),
        "os": _os_name(),
        "kernel": platform.release(),
        "driver": driver,
        "packages": package_versions(),
        "container": variables.get(CONTAINER_VARIABLE) or None,
        "git": git_state(Path(__file__).parent.parent),
        "variables": {k: v for k, v in sorted(variables.items()) if VARIABLES.match(k)},
    }


def source_hash() -> str:
    """SHA-256 over the Python files of rules, reference and harness as they are installed: names
    and contents, sorted."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(p for source in SOURCES for p in (root / source).rglob("*.py")):
        digest.update(
            path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
        )
    return digest.hexdigest()


def git_state(directory: Path) -> Json | None:
    """Commit and whether the sources have changes, None where `directory` is not the top of a git
    checkout."""
    if not (directory / ".git").exists():
        return None
    try:
        commit, changes = (
            subprocess.run(
                ["git", "-C", str(directory), *words], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", *SOURCES])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"commit": commit, "dirty": bool(changes)}


def package_versions() -> dict[str, str]:
    """The versions of those packages that are installed."""
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def _first_value(path: Path, key: str) -> str | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)
