"""The fakes of NVML and AMD SMI, on which other tests run, have the functions, constants and keys
of the real bindings."""

import inspect
import json
import re
from pathlib import Path

import pynvml
import pytest
from support.bindings.boards import map_boards
from support.bindings.build import needs_cc, run_code
from support.bindings.fixtures import libraries as libraries
from support.fakes import fake_amdsmi, fake_nvml
from support.fakes.fake_amdsmi import make_gpu_a

from harness.power.sources import amd

READ_AMD_SMI = """
import json
import amdsmi
amdsmi.amdsmi_init()
board = amdsmi.amdsmi_get_processor_handles()[0]
arguments = {"amdsmi_get_gpu_memory_total": [amdsmi.AmdSmiMemoryType.VRAM]}
values = {name: getattr(amdsmi, name)(board, *arguments.get(name, [])) for name in functions}
levels = {level.name: level.value for level in amdsmi.AmdSmiDevPerfLevel}
print(json.dumps({"values": values, "levels": levels}, default=str))
"""
pytestmark = [needs_cc, pytest.mark.xdist_group("bindings")]


def list_functions_of_amd_source() -> list[str]:
    """The functions that read a board in the power source of AMD."""
    functions = re.findall(r"smi\.(amdsmi_get_\w+)", inspect.getsource(amd))
    return sorted(set(functions) - {"amdsmi_get_processor_handles"})


def test_the_fake_of_nvml_has_constants_of_the_binding():
    constants = [name for name in vars(fake_nvml) if name.startswith("NVML_")]
    assert len(constants) > 10
    for name in constants:
        assert getattr(fake_nvml, name) == getattr(pynvml, name), name


def test_the_fake_of_nvml_has_functions_of_the_binding():
    functions = re.findall(r"\bnvml(?:Device|System)[A-Z]\w+", inspect.getsource(fake_nvml))
    assert len(functions) > 20
    assert [name for name in functions if not callable(getattr(pynvml, name, None))] == []


def test_the_fake_of_amd_smi_has_keys_and_types_of_the_binding(libraries: Path):
    functions = list_functions_of_amd_source()
    assert len(functions) > 10
    map_boards(libraries / "boards")
    code = f"functions = {functions}\n{READ_AMD_SMI}"
    real = json.loads(run_code(libraries, libraries / "boards", code))
    gpu = make_gpu_a()
    for function in functions:
        real_value, value = real["values"][function], gpu.answer(function)
        assert isinstance(value, type(real_value)), function
        if isinstance(value, dict):
            assert value.keys() <= real_value.keys(), function
            for key, field in value.items():
                # The text N/A stands for a missing number, on either side.
                texts = (field, real_value[key])
                assert "N/A" in texts or isinstance(field, type(real_value[key])), (function, key)
    fake_levels = {level.name: level.value for level in fake_amdsmi.PerfLevel}
    assert fake_levels.items() <= real["levels"].items()
