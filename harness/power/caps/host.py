"""The host of a run that sets power limits: how its journal names the host, and whether journal and
watchdog outlive a container."""

import os
from pathlib import Path

BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")
_HOST_PID_NAMESPACE = "pid:[4026531836]"
"""The first PID namespace of every Linux kernel (PROC_PID_INIT_INO in linux/proc_ns.h)."""
_CONTAINER_FILE_SYSTEMS = ("overlay", "tmpfs", "ramfs")
"""File systems that are lost when a container ends."""


def read_boot_id() -> str | None:
    """The id of this boot of the host, which containers share, or None if it is not known."""
    try:
        return BOOT_ID_FILE.read_text().strip()
    except OSError:
        return None


def explain_container(directory: Path) -> str | None:
    """Why limits must not be set with a journal in `directory`: a container ends with this process,
    and both watchdog and journal end with the container. None if they do not."""
    if not _dies_with_namespace() or _is_on_host(directory):
        return None
    return (
        "this process is PID 1 of a container or a child of it, so the watchdog ends with this "
        f"process, and the journal directory {directory} is inside the container, so the limits "
        "would not be restored; mount a directory of the host there "
        "(docs/caps.md, Containers)"
    )


def _dies_with_namespace() -> bool:
    """Whether all processes of this PID namespace end with this process, because it is PID 1, or
    because it is the program that PID 1 (such as `docker run --init` or a shell) waits for."""
    if os.getpid() != 1 and os.getppid() != 1:
        return False
    # PID 1 of the host adopts daemons. They end without it.
    return str(Path("/proc/self/ns/pid").readlink()) != _HOST_PID_NAMESPACE


def _is_on_host(directory: Path) -> bool:
    """Whether `directory` is on a mount that the container got from its host."""
    mount_point, file_system = Path("/"), ""
    # Fields of proc(5), /proc/PID/mountinfo. A later mount hides an earlier one at the same place.
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        place = Path(before.split()[4].replace(r"\040", " "))
        if directory.is_relative_to(place) and place.is_relative_to(mount_point):
            mount_point, file_system = place, after.split()[0]
    return mount_point != Path("/") and file_system not in _CONTAINER_FILE_SYSTEMS
