"""Describe the system and its software for a bundle, in system.json and environment.json."""

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.command_line.toml_text import parse_toml
from harness import __version__
from harness.container_image import find_container_image
from harness.errors import PlanError
from harness.meter_tables import read_meter_tables, select_meters
from harness.node_table import read_node_table
from harness.power.source import Device
from rules.bundle_format.records import ENVIRONMENT_FORMAT, SYSTEM_FORMAT, Json
from rules.json_record import to_json

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
NVML_BINDING = "nvidia-ml-py"
NVML_DISTRIBUTIONS = (NVML_BINDING, "pynvml", "nvidia-ml-py3")
"""The distributions that have a module `pynvml`. Before version 12, `pynvml` has a package of this
name, which Python finds before the module of nvidia-ml-py."""
VARIABLES = re.compile(
    r"((CUDA|HIP|ROCR)_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|NCCL_\w+|OMP_NUM_THREADS|PYTORCH_\w*ALLOC_CONF)$"
)
EXTRAS = {"timm": "vision", "diffusers": "diffusion", "litgpt": "litgpt", "sglang": "sglang"}
"""The extra of pyproject.toml that installs each stack. Every stack needs its own environment."""
DESCRIPTION = {"name": "", "site": "", "category": "research", "cooling": "", "interconnect": ""}
SOURCES = ("rules", "reference", "harness")


def read_description(path: Path | None) -> Json:
    """Read the submitter's description of the system from a TOML file. Its keys are name, site,
    category, cooling and interconnect, whose values are text, a table `[node]`, which becomes
    `node` of the description, and tables `[[meter]]`, which become its `meters`.

    Raises PlanError, which names the file, the key and the allowed values.
    """
    if path is None:
        return dict(DESCRIPTION)
    try:
        values = parse_toml(path.read_bytes())
    except OSError as error:
        raise PlanError(
            f"--system {path}: cannot be read ({error.strerror}); give a TOML file that "
            "describes the system, such as a changed copy of submissions/reference/system.toml"
        ) from None
    except ValueError as error:
        raise PlanError(f"{path}: cannot be read as TOML: {error}") from None
    tables, node_table = values.pop("meter", None), values.pop("node", None)
    for key, value in values.items():
        if key not in DESCRIPTION:
            raise PlanError(
                f"{path}: unknown key {key!r}; the keys are {', '.join(DESCRIPTION)}, a table "
                "[node] and tables [[meter]]"
            )
        if not isinstance(value, str):
            raise PlanError(f"{path}: {key} must be text in quotes, found {value!r}")
    if values.get("category", "research") not in ("available", "preview", "research"):
        raise PlanError(
            f"{path}: category must be available, preview or research, found {values['category']!r}"
        )
    meters = {} if tables is None else {"meters": read_meter_tables(path, tables)}
    node = {} if node_table is None else {"node": read_node_table(path, node_table)}
    return {**DESCRIPTION, **values, **node, **meters}


@dataclass(frozen=True)
class NodeDescription:
    """A node and its accelerators of a run, as system.json lists them. It contains no host name: a
    node is identified by its number."""

    name: str
    cpu: str
    cpu_cores: int
    memory_bytes: int
    accelerators: tuple[Device, ...]
    accelerators_installed: int | None = None
    """None if it is not known."""

    def to_json(self) -> Json:
        """Return the entry of the node in system.json."""
        return {name: value for name, value in to_json(self).items() if value is not None}


def describe_system(description: Json, nodes: Sequence[NodeDescription]) -> Json:
    """Return system.json for these nodes, each with the rating that the description states, and
    with the meters that have feeds of them. A system without a name gets that of its accelerators.
    """
    name = description["name"] or nodes[0].accelerators[0].name
    document = {"format": SYSTEM_FORMAT, **description, "name": name}
    rating = document.pop("node", {})
    document["nodes"] = [{**node.to_json(), **rating} for node in nodes]
    meters = select_meters(document.pop("meters", ()), [node.name for node in nodes])
    return {**document, "meters": meters} if meters else document


def describe_node(
    name: str, devices: tuple[Device, ...], installed: int | None = None
) -> NodeDescription:
    """Describe this node under the name that the bundle gives it."""
    memory_kib = int((_read_first_value(Path("/proc/meminfo"), "MemTotal") or "0 kB").split()[0])
    return NodeDescription(
        name=name,
        cpu=_read_first_value(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        cpu_cores=os.cpu_count() or 1,
        memory_bytes=memory_kib * 1024,
        accelerators=devices,
        accelerators_installed=installed,
    )


def describe_environment(
    driver: str | None, source_sha256: str, variables: Mapping[str, str]
) -> Json:
    """Return environment.json. Only variables that cannot contain a path are listed."""
    return {
        "format": ENVIRONMENT_FORMAT,
        "wattmark": __version__,
        "source_sha256": source_sha256,
        "python": platform.python_version(),
        "os": _read_os_name(),
        "kernel": platform.release(),
        "driver": driver,
        "packages": read_package_versions(),
        "container": find_container_image(variables).declared,
        "git": read_git_state(Path(__file__).parent.parent),
        "variables": {k: v for k, v in sorted(variables.items()) if VARIABLES.match(k)},
    }


def hash_source() -> str:
    """Return the SHA-256 over the names and contents, sorted by name, of the installed Python files
    of rules, reference and harness."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(p for source in SOURCES for p in (root / source).rglob("*.py")):
        digest.update(
            path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0"
        )
    return digest.hexdigest()


def read_git_state(directory: Path) -> Json | None:
    """Return the commit, and whether the sources have uncommitted changes. None if `directory` is
    not the top of a git checkout."""
    if not (directory / ".git").exists():
        return None
    try:
        commit, status = (
            subprocess.run(
                ["git", "-C", str(directory), *words], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--", *SOURCES])
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"commit": commit, "dirty": bool(status)}


def read_package_versions() -> dict[str, str]:
    """Return the versions of the packages in `PACKAGES` that are installed."""
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    binding = find_nvml_binding()
    if binding is not None and binding.name != NVML_BINDING:
        # Its module hides that of nvidia-ml-py.
        versions.pop(NVML_BINDING, None)
        if binding.name:
            versions[binding.name] = binding.version
    return versions


@dataclass(frozen=True)
class Binding:
    """The distribution whose file `import pynvml` loads."""

    name: str
    """Empty if the file belongs to none."""
    version: str
    file: str


def find_nvml_binding() -> Binding | None:
    """Return which distribution the module `pynvml` belongs to, without importing it; None if there
    is no such module, or if the distributions here do not list their files."""
    try:
        spec = importlib.util.find_spec("pynvml")
    except ValueError:  # a module without a file
        return None
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin).resolve()
    is_listed = False
    for name in NVML_DISTRIBUTIONS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            distribution = importlib.metadata.distribution(name)
            files = distribution.files or []
            is_listed |= bool(files)
            if any(
                file.name == origin.name and Path(str(file.locate())).resolve() == origin
                for file in files
            ):
                return Binding(name, distribution.version, str(origin))
    return Binding("", "", str(origin)) if is_listed else None


def _read_os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def _read_first_value(path: Path, key: str) -> str | None:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)
