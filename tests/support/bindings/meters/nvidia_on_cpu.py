"""NVIDIA's meter for a run whose work is on the CPU, because the tests have no GPU."""

import os
from pathlib import Path

from support.bindings.boards import FILE_VARIABLE

from harness.power.caps import host
from harness.power.sources.nvidia import NvidiaSource

# The tests may run in a container, which then stands in for the host.
host.HOST_PID_NAMESPACE = str(Path("/proc/self/ns/pid").readlink())


class NvidiaOnCpu(NvidiaSource):
    torch_device = "cpu"

    @classmethod
    def board_directory(cls) -> Path:
        """Where runs register their boards: beside the file of the boards, which are the test's."""
        return Path(os.environ[FILE_VARIABLE]).parent / "registered-boards"
