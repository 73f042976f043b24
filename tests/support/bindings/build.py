"""Compiles the C libraries of this directory and starts processes that load them."""

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import pynvml
import pytest
from support.bindings.boards import FILE_VARIABLE, Boards
from support.bindings.c_declarations import declare

from harness.power.rocm_devices import VISIBLE_VARIABLES
from harness.simulation import server as simulator

TESTS = Path(__file__).parents[2]
SOURCES = Path(__file__).parent
NVML_SOURCE, NVML_LIBRARY = SOURCES / "nvml.c", "libnvidia-ml.so.1"
AMD_SMI_SOURCE, AMD_SMI_LIBRARY = SOURCES / "amd_smi.c", "libamd_smi.so"
CUDA_LIBRARY = "libcuda.so.1"
CLOCK_LIBRARY = "libclock.so"
"""A wall clock that jumps, for LD_PRELOAD."""
CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(
    CC is None,
    reason="no C compiler: cc builds the libraries that stand in for those of the drivers",
)
_NVML_STRUCTURES = (
    pynvml.c_nvmlFieldValue_t,
    pynvml.c_nvmlMemory_t,
    pynvml.nvmlPciInfo_t,
    pynvml.c_nvmlProcessInfo_v3_t,
    pynvml.c_nvmlPowerValue_v2_t,
    pynvml.c_nvmlUtilization_t,
    pynvml.c_nvmlSample_t,
)
_AMD_SMI_STRUCTURES = (
    *("asic_info", "driver_info", "enumeration_info", "error_count", "gpu_metrics"),
    *("kfd_info", "power_cap_info", "power_info", "proc_info", "vbios_info"),
)


def build_libraries(directory: Path) -> None:
    """Compile the libraries into `directory`, under the names by which the bindings load them."""
    (directory / "boards.h").write_text(declare(Boards))
    (directory / "nvml_structures.h").write_text(declare(*_NVML_STRUCTURES))
    wrapper = _load_amdsmi_wrapper()
    structures = [getattr(wrapper, f"amdsmi_{name}_t") for name in _AMD_SMI_STRUCTURES]
    (directory / "amd_smi_structures.h").write_text(declare(*structures, wrapper.amdsmi_bdf_t))
    (directory / "amd_smi_stubs.h").write_text(_write_stubs(wrapper))
    for source, library in (
        (NVML_SOURCE, NVML_LIBRARY),
        (AMD_SMI_SOURCE, AMD_SMI_LIBRARY),
        (SOURCES / "cuda.c", CUDA_LIBRARY),
        (SOURCES / "clock.c", CLOCK_LIBRARY),
    ):
        options = ["-Wall", "-Wextra", "-shared", "-fPIC", f"-I{directory}"]
        subprocess.run([CC, *options, "-o", directory / library, source], check=True)


def library_environment(directory: Path, boards: Path) -> dict[str, str]:
    """Environment variables of a process that loads the libraries in `directory`, with the boards
    of the file `boards`."""
    left_out = ("ROCM_HOME", simulator.VARIABLE, *VISIBLE_VARIABLES)
    # The dynamic linker reads the variable once, when a process starts.
    library_path = f"{directory}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    return {
        **{k: v for k, v in os.environ.items() if k not in left_out},
        "LD_LIBRARY_PATH": library_path,
        # amdsmi looks here too, and in /opt/rocm by default.
        "ROCM_PATH": str(directory),
        "WATTMARK_SOURCES": str(SOURCES / "meters"),
        "PYTHONPATH": f"{TESTS}:{TESTS.parent}",
        FILE_VARIABLE: str(boards),
    }


def _load_amdsmi_wrapper() -> ModuleType:
    """The module with amdsmi's structures, loaded without the library that it asks for."""
    (package,) = importlib.util.find_spec("amdsmi").submodule_search_locations
    spec = importlib.util.spec_from_file_location("wrapper", Path(package) / "amdsmi_wrapper.py")
    wrapper = importlib.util.module_from_spec(spec)
    with mock.patch.object(ctypes, "CDLL"):
        spec.loader.exec_module(wrapper)
    return wrapper


def _write_stubs(wrapper: ModuleType) -> str:
    """C functions for the symbols that amdsmi loads on import and amd_smi.c lacks."""
    symbols = set(
        re.findall(r"_libraries\['libamd_smi.so'\]\.(\w+)", Path(wrapper.__file__).read_text())
    )
    written = set(re.findall(r"^int (amdsmi_\w+)\(", AMD_SMI_SOURCE.read_text(), re.MULTILINE))
    stubs = [f"int {name}(void) {{ return NOT_SUPPORTED; }}" for name in sorted(symbols - written)]
    return "\n".join((*stubs, ""))


def run_code(libraries: Path, boards: Path, code: str) -> str:
    """Run Python code in a process that loads the libraries. Returns its standard output."""
    command = [sys.executable, "-c", code]
    environment = library_environment(libraries, boards)
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
