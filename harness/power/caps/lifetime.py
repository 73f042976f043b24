"""How long a state directory lasts: a journal must outlive the job, the login and the container of
its run, and no cleaner of temporary files may remove it meanwhile."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.errors import MeterError
from harness.power.caps.host import find_mount, is_of_container, is_private
from harness.power.caps.journal import state_directory
from harness.power.source import STATE_DIRECTORY, STATE_VARIABLE
from harness.power.sources import source_class

_IN_MEMORY = ("tmpfs", "ramfs")
_OF_THE_BOOT = (Path("/"), Path("/run"))
"""Where a file system in memory lasts until the next boot, which resets all limits too: the root of
a node without disk, and the directory of the registered boards."""
_TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
"""Directories of files that no program may rely on (Filesystem Hierarchy Standard 3.0, 3.18 and
5.15), and that of shared memory."""
_TEMPORARY_NAME = re.compile(r"(TMP|TEMP|TMPDIR|TEMPDIR|JOBDIR|RUNTIME_DIR|_CONDOR_SCRATCH_DIR)$")
"""Variables that name a temporary directory: TMPDIR, SLURM_TMPDIR, JOB_TMPDIR, PBS_JOBDIR,
XDG_RUNTIME_DIR, which the last logout removes, and others."""
_JOB_NAME = re.compile(r"JOB_?ID$")
"""Variables that hold the id of this job, such as SLURM_JOB_ID, PBS_JOBID and LSB_JOBID."""
CLEANER_DIRECTORIES = tuple(
    Path(directory) / "tmpfiles.d" for directory in ("/etc", "/run", "/usr/local/lib", "/usr/lib")
)
"""Of systemd-tmpfiles(8). A file hides those of the same name in later directories."""


def warn_of_state_directory(meter: str) -> str | None:
    """A warning if the journal of limits that `meter` sets may be lost while they are set, with the
    remedy; None if nothing is known against its directory, or if the boards are simulated."""
    try:
        directory = None if source_class(meter).simulated else state_directory(meter)
    except MeterError:  # which the run reports when it needs the directory
        return None
    reason = directory and explain_loss(directory, os.environ)
    if not reason:
        return None
    return (
        f"{directory}: the state directory {reason}, so the journal of limits may be lost; "
        f"name one on a disk of this node with {STATE_VARIABLE} (default: {STATE_DIRECTORY}), in a "
        "container one of the host; see docs/caps.md, The journal"
    )


def explain_loss(directory: Path, environment: Mapping[str, str]) -> str | None:
    """What may remove the files in a state directory, as the end of a sentence; None if nothing is
    known."""
    return next(_find_reasons(directory, environment), None)


def _find_reasons(directory: Path, environment: Mapping[str, str]) -> Iterator[str]:
    if is_of_container(directory):
        yield "is inside the container and ends with it"
    elif is_private(directory):
        yield "is on a mount that only this job or service sees, and ends with it"
    for name, value in sorted(environment.items()):
        if _TEMPORARY_NAME.search(name) and value.strip("/") and _is_below(directory, value):
            yield f"is below {name}, a temporary directory of this job or login"
        number = re.match(r"\d+", value) if _JOB_NAME.search(name) else None
        if number and number[0] in re.split(r"\W|_", str(directory)):
            yield f"has the id of this job in its name ({name})"
    for temporary in _TEMPORARY:
        if directory.is_relative_to(temporary):
            yield f"is below {temporary}, which cleaners of temporary files empty"
    mount = find_mount(directory)
    if mount.file_system in _IN_MEMORY and mount.point not in _OF_THE_BOOT:
        yield f"is in memory ({mount.file_system} on {mount.point})"
    for path, age, file in _read_cleaners():
        if any(place.match(path) for place in (directory, *directory.parents)):
            yield f"is below {path}, from which {file} removes files after {age}"


def _is_below(directory: Path, value: str) -> bool:
    # Not Path.resolve, which raises an error for links that lead to themselves.
    return directory.is_relative_to(os.path.realpath(value))


def _read_cleaners() -> Iterator[tuple[str, str, Path]]:
    """The paths from which systemd-tmpfiles removes files of some age, that age, and the file that
    says so (tmpfiles.d(5))."""
    files: dict[str, Path] = {}
    for directory in CLEANER_DIRECTORIES:
        for file in sorted(directory.glob("*.conf")):
            files.setdefault(file.name, file)
    for file in files.values():
        try:
            lines = file.read_text(errors="replace").splitlines()
        except OSError:
            continue
        for fields in map(str.split, lines):
            # Type, path, mode, user, group, age.
            if len(fields) > 5 and fields[0][0] in "dDevqQ" and fields[5] not in ("-", "0"):
                yield fields[1], fields[5], file
