"""Nodes whose prolog and epilog are those of scripts/, with NVIDIA's boards of the C library."""

import shlex
import sys
from pathlib import Path

from support.bindings.boards import FILE_VARIABLE, Boards, map_boards
from support.bindings.build import library_environment
from support.harness.cap_site import Site
from support.slurm.cluster import NODES, Slurm

from harness.power.source import STATE_VARIABLE

NVIDIA_SMI = Path(__file__).with_name("nvidia_smi.py")


class CapNode:
    """A node with two boards and the scripts of a site."""

    def __init__(self, slurm: Slurm, name: str, root: Path, libraries: Path) -> None:
        root.mkdir()
        self.name, self.site = name, Site(root)
        # In the directory that a run of the test meter registers its boards in.
        boards_file = root / "nvml-boards"
        self.boards: Boards = map_boards(boards_file)
        environment = library_environment(libraries, boards_file)
        library_path = environment["LD_LIBRARY_PATH"]
        exported = {
            FILE_VARIABLE: str(boards_file),
            STATE_VARIABLE: str(root),
            "LD_LIBRARY_PATH": library_path,
            "WATTMARK_SOURCES": environment["WATTMARK_SOURCES"],
        }
        self.site.program(
            "nvidia-smi",
            "#!/bin/sh\n"
            f"export {FILE_VARIABLE}={boards_file} LD_LIBRARY_PATH={library_path}\n"
            f'exec {shlex.quote(sys.executable)} {NVIDIA_SMI} "$@"\n',
        )
        for kind in ("prolog", "epilog"):
            slurm.install(name, kind, f"#!/bin/sh\nexec {self.site.bin}/slurm-{kind}.sh\n")
        # The real one, below /usr/bin, answers the prolog.
        (self.site.bin / "scontrol").unlink()
        lines = (f"echo export {key}={value}" for key, value in exported.items())
        slurm.install(name, "task-prolog", "\n".join(("#!/bin/sh", *lines)) + "\n")

    @property
    def limits_mw(self) -> list[int]:
        """The limits of the boards."""
        return [board.requested_mw for board in self.boards.board[:2]]

    @property
    def locks_mhz(self) -> list[int]:
        """The locked SM clocks of the boards, 0 without a lock."""
        return [board.locked_mhz for board in self.boards.board[:2]]

    @property
    def leftovers(self) -> list[str]:
        """What an epilog removes: the stamp, the journal and the registrations of boards."""
        links = (path for path in self.site.registered_boards.glob("*") if path.is_symlink())
        files = (path for path in (self.site.stamp, self.site.journal) if path.exists())
        return [path.name for path in (*files, *links)]


def make_nodes(slurm: Slurm, root: Path, libraries: Path) -> dict[str, CapNode]:
    """Install the scripts on all nodes, with new boards below `root`."""
    return {name: CapNode(slurm, name, root / name, libraries) for name in NODES}


def remove_scripts(slurm: Slurm) -> None:
    """Remove the scripts from all nodes."""
    for node in NODES:
        for kind in ("prolog", "epilog", "task-prolog"):
            (slurm.root / node / kind).unlink()
