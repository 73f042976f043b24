"""NVIDIA's meter for a run whose work is on the CPU, because the tests have no GPU."""

from harness.power.sources.nvidia import NvidiaSource


class NvidiaOnCpu(NvidiaSource):
    torch_device = "cpu"
