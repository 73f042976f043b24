"""A node with GPUs whose limits `wattmark-cap` and Slurm's prolog and epilog set, with stand-ins
for nvidia-smi, scontrol and sysfs.

The scripts take no path from their caller, so a test runs copies in which the paths are those of
the test.
"""

import subprocess
from pathlib import Path

SCRIPTS = Path(__file__).parents[3] / "scripts"
NAMES = ("wattmark-cap", "slurm-prolog.sh", "slurm-epilog.sh")
NVIDIA_SMI = """#!/bin/sh
boards=$(dirname "$0")/../boards
case "$*" in
-L) ls "$boards" ;;
*power.min_limit*)
    cd "$boards" && for gpu in *; do
        echo "$gpu, 200.00, 700.00, 700.00, $(cat ../persistence)"
    done ;;
"-i "*" -pl "*)
    echo "$*" >>"$boards/../calls"
    [ "$2" != "$(cat "$boards/../broken")" ] || { echo "no permission"; exit 4; }
    echo "$4.00" >"$boards/$2" ;;
"-i "*" -rgc")
    [ "$2" != "$(cat "$boards/../broken")" ] || { echo "no permission"; exit 4; }
    echo "$2" >>"$boards/../unlocked" ;;
"-i "*power.limit*) cat "$boards/$2" ;;
*) echo "not understood: $*" >&2; exit 9 ;;
esac
"""
SCONTROL = """#!/bin/sh
echo "JobId=$3 JobName=sweep
   UserId=a(1) GroupId=a(1) MCS_label=N/A
   WorkDir=/home/a
   Comment=project x, wattmark-cap=350
   StdErr=/home/a/slurm-$3.out"
"""


class Site:
    """A node with four NVIDIA GPUs at 700 W, and the scripts as a site installs them."""

    def __init__(self, root: Path) -> None:
        self.root, self.bin = root, root / "bin"
        self.boards = root / "boards"
        self.stamp, self.journal = root / "stamp", root / "caps.json"
        self.registered_boards = root / "registered-boards"
        for directory in (self.bin, self.boards, root / "sys"):
            directory.mkdir()
        (root / "persistence").write_text("Enabled")
        (root / "broken").write_text("none")
        (root / "calls").write_text("")
        for gpu in range(4):
            (self.boards / str(gpu)).write_text("700.00\n")
        self.program("nvidia-smi", NVIDIA_SMI)
        self.program("scontrol", SCONTROL)
        self.program("logger", f'#!/bin/sh\necho "$*" >>{root}/log\n')
        for name in NAMES:
            self.install(name)

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def install(self, name: str, **settings: str) -> None:
        environment = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "WATTMARK_CAP": f"{self.bin}/wattmark-cap",
            "STAMP": str(self.stamp),
            "JOURNAL": str(self.journal),
            "BOARDS": str(self.registered_boards),
            "SYSFS": f"{self.root}/sys",
            **settings,
        }
        lines = (SCRIPTS / name).read_text().splitlines()
        lines = [
            f"{key}={environment[key]}" if (key := line.partition("=")[0]) in environment else line
            for line in lines
        ]
        self.program(name, "\n".join(lines) + "\n")

    def run(
        self, name: str, *arguments: str, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.bin / name, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @property
    def limits(self) -> list[str]:
        return [(self.boards / str(gpu)).read_text().strip() for gpu in range(4)]

    @property
    def unlocked(self) -> list[str]:
        """The boards whose SM clocks were unlocked, as nvidia-smi was given their names."""
        file = self.root / "unlocked"
        return file.read_text().split() if file.exists() else []

    @property
    def log(self) -> str:
        return (self.root / "log").read_text() if (self.root / "log").exists() else ""
