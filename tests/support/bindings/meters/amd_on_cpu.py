"""AMD's meter for a run whose work is on the CPU, because the tests have no GPU."""

from harness.power.sources.amd import AmdSource


class AmdOnCpu(AmdSource):
    torch_device = "cpu"
