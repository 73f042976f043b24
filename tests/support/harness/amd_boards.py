"""Fixtures with AMD boards on the fake of AMD SMI. A test module imports all three."""

from pathlib import Path

import pytest
from support.fakes.fake_amdsmi import FakeAmdSmi, FakeGpu, make_gpu_a, make_gpu_b, write_kfd_nodes

from harness.power.sources import amd
from harness.power.sources.amd import AmdSource


@pytest.fixture(autouse=True)
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's topology of the two boards."""
    nodes = write_kfd_nodes(tmp_path / "nodes", make_gpu_a(), make_gpu_b())
    monkeypatch.setattr(amd, "KFD_NODES", nodes)


@pytest.fixture
def gpu() -> FakeGpu:
    """An MI300X under load."""
    return make_gpu_a()


@pytest.fixture
def meter(gpu: FakeGpu) -> AmdSource:
    """The power source of `gpu`, the only board of its node."""
    return AmdSource(FakeAmdSmi(gpu), {})
