"""How many CPU cores this process may use."""

import os


def count_cores() -> int:
    """The number of cores that this process may use. A batch system may grant fewer than the
    machine has."""
    # macOS does not have it.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
