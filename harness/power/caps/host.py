"""The host of a run that sets power limits: how its journal names the host, whether journal and
watchdog outlive a container, and whether other containers see the boards of the run."""

import os
from dataclasses import dataclass
from pathlib import Path

BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")
HOST_PID_NAMESPACE = "pid:[4026531836]"
"""The first PID namespace of every Linux kernel (PROC_PID_INIT_INO in linux/proc_ns.h)."""
HOST_ROOT = Path("/proc/1/root")
"""The file system of the host, as its PID 1 sees it."""
MOUNTS_FILE = Path("/proc/self/mountinfo")
_CONTAINER_FILE_SYSTEMS = ("overlay", "tmpfs", "ramfs")
"""File systems that are lost when a container ends."""


def read_boot_id() -> str | None:
    """The id of this boot of the host, which containers share, or None if it is not known."""
    try:
        return BOOT_ID_FILE.read_text().strip()
    except OSError:
        return None


def explain_container(directory: Path, board_directory: Path | None) -> str | None:
    """Why limits must not be set with a journal in `directory` and boards registered in
    `board_directory`: a container ends with this process, and both watchdog and journal end with
    it, or no process outside of the container sees which boards are registered. None if nothing is
    known to prevent it."""
    if _dies_with_namespace() and not _is_on_host(directory):
        return (
            "this process is PID 1 of a container or a child of it, so the watchdog ends with this "
            f"process, and the journal directory {directory} is inside the container, so the "
            "limits would not be restored; mount a directory of the host there "
            "(docs/caps.md, Containers)"
        )
    if board_directory is not None and not _is_shared_with_host(board_directory):
        return (
            f"{board_directory} is not that of the host, so runs on the host and in other "
            "containers do not see which boards this run changes; mount the directory of the host "
            "there (docs/caps.md, Containers)"
        )
    return None


def _dies_with_namespace() -> bool:
    """Whether all processes of this PID namespace end with this process, because it is PID 1, or
    because it is the program that PID 1 (such as `docker run --init` or a shell) waits for."""
    if os.getpid() != 1 and os.getppid() != 1:
        return False
    # PID 1 of the host adopts daemons. They end without it.
    return _read_pid_namespace() != HOST_PID_NAMESPACE


def _read_pid_namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


@dataclass(frozen=True)
class Mount:
    """A mount of this mount namespace."""

    root: Path
    """The directory of the file system that is mounted: `/`, or another one in a bind mount."""
    point: Path
    file_system: str


def find_mount(directory: Path) -> Mount:
    """Return the mount on which `directory` is."""
    mount = Mount(Path("/"), Path("/"), "")
    # Fields of proc(5), /proc/PID/mountinfo. A later mount hides an earlier one at the same place.
    for line in MOUNTS_FILE.read_text().splitlines():
        before, _, after = line.partition(" - ")
        root, point = (Path(text.replace(r"\040", " ")) for text in before.split()[3:5])
        if directory.is_relative_to(point) and point.is_relative_to(mount.point):
            mount = Mount(root, point, after.split()[0])
    return mount


def is_of_container(directory: Path) -> bool:
    """Whether this is a container and `directory` is lost with it."""
    return _read_pid_namespace() != HOST_PID_NAMESPACE and not _is_on_host(directory)


def is_private(directory: Path) -> bool:
    """Whether `directory` is not that of the host, although processes are: such as /tmp on a mount
    that Slurm (job_container/tmpfs) or systemd (PrivateTmp) makes for one job or service."""
    return _read_pid_namespace() == HOST_PID_NAMESPACE and not _is_shared_with_host(directory)


def _is_on_host(directory: Path) -> bool:
    """Whether `directory` is on a mount that the container got from its host."""
    mount = find_mount(directory)
    return mount.point != Path("/") and mount.file_system not in _CONTAINER_FILE_SYSTEMS


def _is_shared_with_host(directory: Path) -> bool:
    """Whether `directory` is that of the host, or would be if it does not exist yet."""
    if _read_pid_namespace() != HOST_PID_NAMESPACE:
        # PID 1 is one of the container. A bind mount is all that shows a directory of the host.
        mount = find_mount(directory)
        return mount.point != Path("/") and mount.root != Path("/")
    try:
        existing = next(path for path in (directory, *directory.parents) if path.exists())
        return Path(f"{HOST_ROOT}{existing}").samefile(existing)
    except PermissionError:
        # Users that set no limits may not look there.
        return True
    except OSError:
        return False
