"""Starts Debian's slurmctld, slurmd and munged for the nodes n1 and n2, both on this machine.

Everything of the cluster is below one directory: configuration, keys, sockets, spools, logs. Each
node has two GPUs for Slurm, which are null devices, and simulated H200s for wattmark.
"""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from support.harness.cap_node import has_ended
from support.kills import wait_for
from support.meters.ports import find_free_port
from support.slurm.accounting import start_accounting

from harness.simulation import server as simulator

NODES = ("n1", "n2")
GPUS = 2
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "unshare")
START_TIMEOUT_S = 30.0
JOB_TIMEOUT_S = 240.0
KILL_WAIT_S = 30
"""Between SIGTERM and SIGKILL to the processes of a job: Slurm's default."""
REVOKED_S = 2
"""After this time a new credential is younger than the one that the requeue has revoked."""
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
CONFIGURATION = """\
ClusterName=wattmark
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
StateSaveLocation={root}/state
SlurmctldPidFile={root}/slurmctld.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdSpoolDir={root}/spool-%n
SlurmdPidFile={root}/%n.pid
SlurmdLogFile={root}/%n.log
# This tracker needs no control groups, and finds processes that have started a session.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
ReturnToService=2
JobRequeue=1
# Jobs start when they are submitted, and not up to 3 s later.
SchedulerParameters=batch_sched_delay=0
KillWait={kill_wait_s}
Prolog={root}/prolog
Epilog={root}/epilog
TaskProlog={root}/task-prolog
PrologFlags=Alloc
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=60 State=UP
"""
NODE = (
    "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=1000 "
    f"Gres=gpu:{GPUS} State=UNKNOWN\n"
)
SITE_SCRIPT = """\
#!/bin/sh
# Slurm has one {name} for all nodes. Run that of this node, if a test has installed one.
[ ! -x {root}/$SLURMD_NODENAME/{name} ] || exec {root}/$SLURMD_NODENAME/{name}
"""
COUNTERS = """\
AcctGatherEnergyType=acct_gather_energy/pm_counters
AcctGatherNodeFreq=1
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1,energy=1
"""
"""Slurm reads the counters of the nodes of a Cray, which are files below /sys/cray."""
MOUNTS = """\
#!/bin/sh
# Runs a program that has names for the nodes, and counters if {root} has them. Where mounting is
# not allowed, it has neither.
mount --bind {root}/hosts /etc/hosts
if [ -d {root}/cray ]; then
    mount --rbind /sys {root}/sys && mount -t tmpfs none /sys
    for folder in {root}/sys/*; do
        mkdir "/sys/${{folder##*/}}" && mount --rbind "$folder" "/sys/${{folder##*/}}"
    done
    mkdir /sys/cray && mount --bind {root}/cray /sys/cray
fi
exec "$@"
"""
TASK_PROLOG = f"""\
#!/bin/sh
echo "export {simulator.VARIABLE}={{root}}/$SLURMD_NODENAME/socket"
[ ! -x {{root}}/$SLURMD_NODENAME/task-prolog ] || {{root}}/$SLURMD_NODENAME/task-prolog
"""


@dataclass(frozen=True)
class Slurm:
    """A running cluster."""

    root: Path
    environment: dict[str, str]
    """For the commands of Slurm, which hand it to the jobs."""

    def run(
        self, *command: object, cwd: Path | None = None, timeout_s: float = JOB_TIMEOUT_S
    ) -> str:
        """Run a command of Slurm and return its standard output."""
        result = subprocess.run(
            [str(word) for word in command],
            env=self.environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
        return result.stdout

    def submit(self, script: Path, *options: object, **environment: str) -> str:
        """Submit a batch script, whose output goes to files beside it. Returns the id of the
        job."""
        output = f"--output={script.parent}/%x-%a-%j.out"
        command = ["sbatch", "--parsable", "--open-mode=append", output, *map(str, options), script]
        return subprocess.run(
            command,
            env={**self.environment, **environment},
            cwd=script.parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    def read_job(self, job: str) -> dict[str, str]:
        """The fields of `scontrol show job` of a job, or of a task of an array such as `3_1`."""
        words = self.run("scontrol", "show", "job", "-o", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def wait_for_state(self, job: str, *states: str) -> dict[str, str]:
        """Wait until a job has one of the states, by default one in which it has ended."""
        expected = states or ENDED
        deadline = time.monotonic() + JOB_TIMEOUT_S
        while (fields := self.read_job(job))["JobState"] not in expected:
            assert time.monotonic() < deadline, f"job {job} is {fields['JobState']}"
            time.sleep(0.1)
        return fields

    def requeue(self, job: str, *changes: str) -> None:
        """Requeue a job with these changes, and let it start at once. Slurm would let it wait for
        two minutes."""
        self.run("scontrol", "requeue", job)
        self.wait_for_state(job, "PENDING")
        # slurmd refuses a job whose new credential is not younger than the end of the old one.
        time.sleep(REVOKED_S)
        self.run("scontrol", "update", f"JobId={job}", "StartTime=now", *changes)
        self.wait_for_state(job, "RUNNING", *ENDED)

    def read_caps_mw(self, node: str) -> set[int]:
        """The caps in force of the simulated boards of a node."""
        client = simulator.Client(str(self.root / node / "socket"))
        try:
            boards = client.ask("devices")["devices"]
            return {client.ask("readback", uuid=b["uuid"])["enforced_mw"] for b in boards}
        finally:
            client.close()

    def set_counters(self, energy_j: int, power_w: int) -> None:
        """Set the counters of energy and power of both nodes, as a Cray prints them."""
        time_us = time.time_ns() // 1000
        for name, text in (("energy", f"{energy_j} J"), ("power", f"{power_w} W")):
            draft = self.root / "cray" / f"{name}.writing"
            draft.write_text(f"{text} {time_us} us\n")
            # A rename is atomic: slurmd would count down if it read an empty file.
            draft.rename(self.root / "cray" / "pm_counters" / name)

    def install(self, node: str, name: str, text: str) -> None:
        """Install a prolog, an epilog or a task prolog on a node."""
        path = self.root / node / name
        path.write_text(text)
        path.chmod(0o755)


def explain_missing(programs: Sequence[str] = PROGRAMS) -> str | None:
    """Why this machine cannot start the cluster or other programs, None if it can."""
    if os.geteuid() != 0:
        return "slurmctld and slurmd need root here"
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (.ci/run has the names of the packages)"
    return None


@contextmanager
def start_cluster(
    root: Path, has_counters: bool = False, has_accounting: bool = False
) -> Iterator[Slurm]:
    """Yield a cluster below `root`, whose path must be short, because Slurm and the simulators make
    sockets there. Ends all of its processes with the block. `has_counters`: its nodes have counters
    of energy, which `Slurm.set_counters` sets. `has_accounting`: sacct knows its jobs."""
    _write_files(root, has_counters)
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))},
        "SLURM_CONF": str(root / "slurm.conf"),
        # The jobs find the bench-submit of this environment, and the implementations of the tests.
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    environment.pop(simulator.VARIABLE, None)
    simulators = [simulator.start("h200", str(root / node / "socket")) for node in NODES]
    slurm = Slurm(root, environment)
    try:
        _start_munge(root)
        with start_accounting(root, environment) if has_accounting else nullcontext():
            _start_daemons(root, environment)
            wait_for(lambda: _list_states(slurm) == {"idle"}, START_TIMEOUT_S)
            yield slurm
    finally:
        _end_jobs(slurm)
        _end_daemons(root)
        for process in simulators:
            process.terminate()
            process.wait(START_TIMEOUT_S)


def _write_files(root: Path, has_counters: bool) -> None:
    host = socket.gethostname().partition(".")[0]
    for folder in ("state", "munge", *NODES):
        (root / folder).mkdir()
    # Files in place of devices are refused, and another number of the null device is not.
    for number in range(GPUS):
        os.mknod(root / f"gpu{number}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    (root / "gres.conf").write_text(f"Name=gpu File={root}/gpu[0-{GPUS - 1}]\n")
    (root / "hosts").write_text(f"{Path('/etc/hosts').read_text()}\n127.0.0.1 {' '.join(NODES)}\n")
    configuration = CONFIGURATION.format(
        host=host,
        port=find_free_port(),
        root=root,
        kill_wait_s=KILL_WAIT_S,
    )
    nodes = (NODE.format(node=node, host=host, port=find_free_port()) for node in NODES)
    accounting = COUNTERS if has_counters else ""
    (root / "slurm.conf").write_text("".join((configuration, accounting, *nodes)))
    if has_counters:
        (root / "sys").mkdir()
        (root / "cray" / "pm_counters").mkdir(parents=True)
    (root / "mounts").write_text(MOUNTS.format(root=root))
    for name in ("prolog", "epilog"):
        (root / name).write_text(SITE_SCRIPT.format(name=name, root=root))
    (root / "task-prolog").write_text(TASK_PROLOG.format(root=root))
    for name in ("prolog", "epilog", "task-prolog", "mounts"):
        (root / name).chmod(0o755)


def _start_daemons(root: Path, environment: dict[str, str]) -> None:
    """Start slurmctld, and slurmd for each node."""
    configuration = root / "slurm.conf"
    mounts = ["unshare", "--mount", root / "mounts"]
    for command in (
        ["slurmctld", "-f", configuration],
        *([*mounts, "slurmd", "-N", node, "-f", configuration] for node in NODES),
    ):
        subprocess.run(command, env=environment, check=True, timeout=START_TIMEOUT_S)


def _start_munge(root: Path) -> None:
    """Start munged with a key and a socket of this cluster, so that it disturbs no other."""
    folder = root / "munge"
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o600)
    options = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log"}
    command = ["munged", *(f"--{option}={folder / name}" for option, name in options.items())]
    # munged refuses directories that others could write to, such as /tmp, unless it is forced.
    subprocess.run(
        [*command, f"--seed-file={folder}/seed", "--force"],
        capture_output=True,
        check=True,
        timeout=START_TIMEOUT_S,
    )


def _list_states(slurm: Slurm) -> set[str]:
    return set(slurm.run("sinfo", "--noheader", "--Node", "--format=%t").split())


def _end_jobs(slurm: Slurm) -> None:
    """End the jobs, so that slurmd leaves no step behind."""
    with suppress(AssertionError, subprocess.SubprocessError):
        slurm.run("scancel", "--user=root", timeout_s=START_TIMEOUT_S)
        wait_for(lambda: not slurm.run("squeue", "--noheader"), START_TIMEOUT_S, step_s=0.2)


def _end_daemons(root: Path) -> None:
    pids = []
    for name in (*(f"{node}.pid" for node in NODES), "slurmctld.pid", "munge/pid"):
        # A daemon that did not start has no file.
        with suppress(OSError, ValueError):
            pids.append(int((root / name).read_text()))
            os.kill(pids[-1], signal.SIGTERM)
    wait_for(lambda: all(has_ended(pid) for pid in pids), START_TIMEOUT_S)
